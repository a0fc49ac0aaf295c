import type { Page } from '../api/answers.ts'

/** How many rows the first page of a list has; nothing until it is read. */
export function Count({ page }: { readonly page: Page<unknown> | undefined }) {
  if (page === undefined) return null
  const { data, has_more: hasMore } = page
  return (
    <>
      {' '}
      <span className="count">{hasMore ? `${data.length}+` : data.length}</span>
    </>
  )
}
