import type { Page } from '../api/answers.ts'

interface CountProps {
  readonly page: Page<unknown> | undefined
  readonly isError: boolean
}

/** How many rows the first page of a list has; nothing until it is read, and "?" where it could not be. */
export function Count({ page, isError }: CountProps) {
  if (page === undefined && !isError) return null
  return (
    <>
      {' '}
      {page === undefined ? (
        <span className="count" title="The number could not be loaded.">
          <span aria-hidden="true">?</span>
          <span className="vh">number not loaded</span>
        </span>
      ) : (
        <span className="count">{countOf(page)}</span>
      )}
    </>
  )
}

/** The number of rows of a list, or that there are more than its first page has: `100+`. */
export function countOf({ data, has_more: hasMore }: Page<unknown>): string {
  return hasMore ? `${data.length}+` : String(data.length)
}
