import { useEffect, useRef } from 'react'
import type { FoundRequests } from '../../api/answers.ts'

const NONE: ReadonlySet<string> = new Set()

/** The ids that came with the last poll; none of the first answer. */
export function useFreshIds(page: FoundRequests | undefined): ReadonlySet<string> {
  const seen = useRef<ReadonlySet<string> | null>(null)
  const before = seen.current
  useEffect(() => {
    if (page !== undefined) seen.current = new Set(page.data.map(({ id }) => id))
  }, [page])
  if (page === undefined || before === null) return NONE
  const ids = page.data.map(({ id }) => id)
  // Another filter is another list, in which nothing has just happened.
  return ids.some((id) => before.has(id)) ? new Set(ids.filter((id) => !before.has(id))) : NONE
}
