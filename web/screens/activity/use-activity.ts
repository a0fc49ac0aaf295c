import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import type { FoundRequests, RequestSummary } from '../../api/answers.ts'
import { read, withQuery } from '../../api/client.ts'
import { pollDelayMs } from '../../api/live.ts'
import { ACTIVITY_RANGES, type ActivitySearch, DEFAULT_RANGE } from './search.ts'

const ROWS = 50
const MINUTE_MS = 60_000
const SUMMARY_SPAN_MS_MAX = 24 * 60 * MINUTE_MS

interface Failing {
  readonly errors: number
  readonly sinceMs: number
}

// The polls of an address that failed in a row: a success forgets them.
const failing = new Map<string, Failing>()

/** Whether the list follows what happens: it polls, it tries again, or it has given up hope for now. */
export type Following =
  | { readonly kind: 'live' }
  | { readonly kind: 'reconnecting' }
  | { readonly kind: 'offline'; readonly since: Date }

const OFFLINE_FROM_ERRORS = 3

function followingOf({ errors, sinceMs }: Failing): Following {
  if (errors === 0) return { kind: 'live' }
  if (errors < OFFLINE_FROM_ERRORS) return { kind: 'reconnecting' }
  return { kind: 'offline', since: new Date(sinceMs) }
}

const NO_FAILURE: Failing = { errors: 0, sinceMs: 0 }

/** The requests that match, newest first: the first page live, older ones once they are asked for. */
export function useActivity(accountId: string, search: ActivitySearch, isLive: boolean) {
  const filters = filtersOf(search)
  const name = JSON.stringify([accountId, search.range ?? DEFAULT_RANGE, filters])
  const path = `accounts/${accountId}/requests`
  const newest = useQuery({
    queryKey: ['requests', name],
    queryFn: async ({ signal }) => {
      try {
        const query = { limit: ROWS, since: spanOf(search).since, ...filters }
        const page = await read<FoundRequests>(withQuery(path, query), signal)
        failing.delete(name)
        return page
      } catch (error) {
        const { errors, sinceMs } = failing.get(name) ?? { errors: 0, sinceMs: Date.now() }
        failing.set(name, { errors: errors + 1, sinceMs })
        throw error
      }
    },
    refetchInterval: isLive ? () => pollDelayMs(failing.get(name)?.errors ?? 0) : false,
    // Another try would come between two polls.
    retry: false,
    structuralSharing: false,
  })
  const cursor = newest.data?.next_cursor ?? null
  const older = useInfiniteQuery({
    queryKey: ['requests', name, 'older', cursor],
    queryFn: ({ pageParam, signal }) => {
      const query = { limit: ROWS, since: spanOf(search).since, ...filters, cursor: pageParam }
      return read<FoundRequests>(withQuery(path, query), signal)
    },
    initialPageParam: cursor,
    getNextPageParam: (page) => page.next_cursor,
    enabled: false,
  })
  const olderRows = isLive ? [] : (older.data?.pages.flatMap(({ data }) => data) ?? [])
  const hasOlder = isLive || older.data === undefined ? cursor !== null : older.hasNextPage
  const last = (isLive ? undefined : older.data?.pages.at(-1)) ?? newest.data
  return {
    newest,
    older,
    // Each failed poll draws the list again.
    following: followingOf((newest.errorUpdateCount > 0 && failing.get(name)) || NO_FAILURE),
    hasOlder,
    rows: [...(newest.data?.data ?? []), ...olderRows],
    /** Where the search has got to, if it stopped before it had found a page full. */
    searchedBackTo: last?.searched_back_to ?? null,
  }
}

/** Counts and columns over what matches; for a day at most. Read again when the list has changed. */
export function useSummary(
  accountId: string,
  search: ActivitySearch,
  changedWith: FoundRequests | undefined,
) {
  const { spanMs } = ACTIVITY_RANGES[search.range ?? DEFAULT_RANGE]
  const isShown = spanMs !== null && spanMs <= SUMMARY_SPAN_MS_MAX
  const filters = filtersOf(search)
  const query = useQuery({
    queryKey: ['summary', accountId, search.range ?? DEFAULT_RANGE, filters],
    queryFn: ({ signal }) =>
      read<RequestSummary>(
        withQuery(`accounts/${accountId}/requests/summary`, { ...spanOf(search), ...filters }),
        signal,
      ),
    enabled: isShown && changedWith !== undefined,
    staleTime: MINUTE_MS,
    refetchInterval: MINUTE_MS,
  })
  const { refetch } = query
  useEffect(() => {
    if (isShown && changedWith !== undefined) void refetch()
  }, [isShown, changedWith, refetch])
  return isShown ? query : null
}

/** Where the requests that match are read as CSV. */
export function csvPath(accountId: string, search: ActivitySearch): string {
  const { since, until } = spanOf(search)
  const query = { since, until, ...filtersOf(search) }
  return `/app/api/${withQuery(`accounts/${accountId}/requests.csv`, query)}`
}

function filtersOf({ model, key, state, endpoint, failed }: ActivitySearch) {
  return { model, key, state, endpoint, failed }
}

/** Whole minutes, so that an address stays the same, and its answer's tag with it, for a while. */
function spanOf({ range = DEFAULT_RANGE }: ActivitySearch): { since?: string; until?: string } {
  const { spanMs } = ACTIVITY_RANGES[range]
  if (spanMs === null) return {}
  const untilMs = Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS
  return {
    since: new Date(untilMs - spanMs).toISOString(),
    until: new Date(untilMs).toISOString(),
  }
}

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
