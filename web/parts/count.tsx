import type { Page } from '../api/answers.ts'

/** How many rows the first page of a list has; nothing until it is read. */
export function Count({ page }: { readonly page: Page<unknown> | undefined }) {
  if (page === undefined) return null
  return (
    <>
      {' '}
      <span className="count">{countOf(page)}</span>
    </>
  )
}

/** The number of rows of a list, or that there are more than its first page has: `100+`. */
export function countOf({ data, has_more: hasMore }: Page<unknown>): string {
  return hasMore ? `${data.length}+` : String(data.length)
}
