import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { HOUR_MS, MINUTE_MS } from '../../../src/vocabulary/clock.ts'
import type { DateRange, TimeSpan } from '../../../src/vocabulary/date-range.ts'
import type { FoundRequests } from '../../api/answers.ts'
import { asMember, asOperator, hrefOf, type Input } from '../../api/calls.ts'
import { currentMs } from '../../api/clock.ts'
import { pollDelayMs } from '../../api/live.ts'
import { useAccountCaller } from '../../shell/account-screen.tsx'
import { useSpanOf } from '../../shell/use-span.ts'
import { type ActivityRange, type ActivitySearch, LAST_HOURS, rangeOf } from './search.ts'

const ROWS = 50

interface Failing {
  readonly errors: number
  readonly sinceMs: number
}

// The number of polls of an address that failed in a row. A success resets it.
const failing = new Map<string, Failing>()

/** Whether the list is live: it polls, tries again after a failure, or has stopped trying for now. */
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

/** The account whose requests are read, and the kind of reader. Operators also get costs, margin and upstream. */
export type RequestSource =
  | { readonly as: 'member'; readonly accountId: string }
  /** Null: the requests of all accounts. */
  | { readonly as: 'operator'; readonly accountId: string | null }

/** The account in the address, or the one that is picked among all accounts. */
export function useRequestSource(): RequestSource {
  const as = useAccountCaller()
  const { account } = useParams({ strict: false })
  const search: Pick<ActivitySearch, 'account'> = useSearch({ strict: false })
  if (as === 'operator') return { as, accountId: account ?? search.account ?? null }
  return { as, accountId: account ?? '' }
}

/** Whether this is Activity of all accounts, even if one of them is picked. */
export function useIsAllAccounts(): boolean {
  return useParams({ strict: false }).account === undefined
}

type RequestQuery = Omit<Input<'listOperatorRequests', 'operator'>, 'account'>

function listRequests(
  source: RequestSource,
  query: RequestQuery,
  signal: AbortSignal,
): Promise<FoundRequests> {
  return source.as === 'operator'
    ? asOperator('listOperatorRequests', { ...query, account: source.accountId }, signal)
    : asMember('listRequests', { ...query, account_id: source.accountId }, signal)
}

/** The requests that match, newest first. The first page is live; older pages are read on request. */
export function useActivity(source: RequestSource, search: ActivitySearch, isLive: boolean) {
  const filters = filtersOf(search)
  const spanOf = useSpanOf()
  const range = rangeOf(search)
  const name = JSON.stringify([source, range, filters])
  const queries = useQueryClient()
  const newestKey = ['requests', name]
  const newest = useQuery({
    queryKey: newestKey,
    queryFn: async ({ signal }) => {
      try {
        const query = { limit: ROWS, ...listBounds(range, spanOf), ...filters }
        const page = await listRequests(source, query, signal)
        failing.delete(name)
        return page
      } catch (error) {
        if (signal.aborted) throw error
        const { errors, sinceMs } = failing.get(name) ?? { errors: 0, sinceMs: currentMs() }
        failing.set(name, { errors: errors + 1, sinceMs })
        throw error
      }
    },
    // While paused, nothing reads it again, such as a new sign-in: another cursor would take the older pages away.
    enabled: ({ state }) => isLive || state.data === undefined,
    refetchInterval: isLive ? () => pollDelayMs(failing.get(name)?.errors ?? 0) : false,
    refetchOnWindowFocus: isLive,
    refetchOnReconnect: isLive,
    // Another try would come between two polls.
    retry: false,
    structuralSharing: false,
  })
  const cursor = newest.data?.next_cursor ?? null
  const older = useInfiniteQuery({
    queryKey: ['requests', name, 'older', cursor],
    queryFn: ({ pageParam, signal }) => {
      const query = { limit: ROWS, ...listBounds(range, spanOf), ...filters, cursor: pageParam }
      return listRequests(source, query, signal)
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
    async fetchOlder() {
      // A poll under way would move the cursor, from which the older pages continue.
      await queries.cancelQueries({ queryKey: newestKey, exact: true })
      await older.fetchNextPage()
    },
    // Each failed poll draws the list again.
    following: followingOf((newest.errorUpdateCount > 0 && failing.get(name)) || NO_FAILURE),
    hasOlder,
    rows: [...(newest.data?.data ?? []), ...olderRows],
    /** The time that the search has reached, if it stopped before it had found a full page. */
    searchedBackTo: last?.searched_back_to ?? null,
  }
}

/** The longest range that is counted from the requests themselves. Roll-ups have no states and no tags. */
function requestsSpanMsMax({ accountId }: RequestSource): number {
  return accountId === null ? HOUR_MS : 24 * HOUR_MS
}

/**
 * Counts and columns over what matches; null: of more than a day, of all accounts more than an hour, requests of a state
 * or a tag are not counted. Read again when the list has changed; of all accounts, each minute.
 */
export function useSummary(
  source: RequestSource,
  search: ActivitySearch,
  changedWith: FoundRequests | undefined,
) {
  const spanOf = useSpanOf()
  const range = rangeOf(search)
  const { fromMs, toMs } = activitySpan(range, spanOf)
  const isLong = toMs - fromMs > requestsSpanMsMax(source)
  const isShown = !isLong || (search.state === undefined && search.tag === undefined)
  const filters = filtersOf(search)
  const query = useQuery({
    queryKey: ['summary', source, range, filters],
    queryFn: ({ signal }) => {
      const query = { ...bounds(activitySpan(range, spanOf)), ...filters }
      return source.as === 'operator'
        ? asOperator('summarizeRequests', { ...query, account: source.accountId }, signal)
        : asMember('summarizeRequests', { ...query, account_id: source.accountId }, signal)
    },
    enabled: isShown && changedWith !== undefined,
    staleTime: MINUTE_MS,
    refetchInterval: MINUTE_MS,
  })
  const { refetch } = query
  const follows = isShown && !isLong && source.accountId !== null
  useEffect(() => {
    if (follows && changedWith !== undefined) void refetch()
  }, [follows, changedWith, refetch])
  return isShown ? query : null
}

/** The address of the requests that match as CSV. */
export function csvHref(source: RequestSource, search: ActivitySearch, spanOf: SpanOf): string {
  const range = rangeOf(search)
  const isAll = range.kind === 'moving' && range.range === 'all'
  const query = {
    ...(isAll ? {} : bounds(activitySpan(range, spanOf))),
    ...filtersOf(search),
  }
  return source.as === 'operator'
    ? hrefOf('operator', 'downloadRequests', { ...query, account: source.accountId })
    : hrefOf('member', 'downloadRequests', { ...query, account_id: source.accountId })
}

function filtersOf({ model, key, upstream, state, endpoint, tag, failed }: ActivitySearch) {
  return { model, key, upstream, state, endpoint, tag, failed }
}

type SpanOf = (range: DateRange) => TimeSpan

/** The start and end of a range; a range that includes now ends now. */
export function activitySpan(range: ActivityRange, spanOf: SpanOf): TimeSpan {
  // Whole minutes, so that an address stays the same, and its answer's tag with it, for a while.
  const minuteMs = Math.ceil(currentMs() / MINUTE_MS) * MINUTE_MS
  if (range.kind === 'hours') {
    return { fromMs: minuteMs - LAST_HOURS[range.range].spanMs, toMs: minuteMs }
  }
  const { fromMs, toMs } = spanOf(range)
  return { fromMs, toMs: Math.max(fromMs + MINUTE_MS, Math.min(toMs, minuteMs)) }
}

function bounds({ fromMs, toMs }: TimeSpan): { readonly since: string; readonly until: string } {
  return { since: new Date(fromMs).toISOString(), until: new Date(toMs).toISOString() }
}

/** The bounds for the list: a range that includes now has no end, and all time has no start. */
function listBounds(
  range: ActivityRange,
  spanOf: SpanOf,
): { readonly since?: string; readonly until?: string } {
  const { since, until } = bounds(activitySpan(range, spanOf))
  if (range.kind === 'dates') return { since, until }
  return range.range === 'all' ? {} : { since }
}

const NONE: ReadonlySet<string> = new Set()

/** The ids that are new since the last poll; none for the first answer. */
export function useFreshIds(page: FoundRequests | undefined): ReadonlySet<string> {
  const seen = useRef<ReadonlySet<string> | null>(null)
  const before = seen.current
  useEffect(() => {
    if (page !== undefined) seen.current = new Set(page.data.map(({ id }) => id))
  }, [page])
  if (page === undefined || before === null) return NONE
  const ids = page.data.map(({ id }) => id)
  // A changed filter gives another list, in which nothing is new yet.
  return ids.some((id) => before.has(id)) ? new Set(ids.filter((id) => !before.has(id))) : NONE
}
