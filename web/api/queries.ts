import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { Comparison, TimeSpan } from '../../src/vocabulary/date-range.ts'
import type {
  Account,
  ActivityRequest,
  ApiKey,
  Balance,
  Invitation,
  Me,
  Member,
  Model,
  Overview,
  Page,
  Start,
  Statement,
  Usage,
  UsageReport,
} from './answers.ts'
import { read, withQuery } from './client.ts'

const MINUTE_MS = 60_000

/** The state of the page before a sign-in. */
export const startQuery = queryOptions({
  queryKey: ['start'],
  queryFn: ({ signal }) => read<Start>('start', signal),
})

/** The signed-in user. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => read<Me>('me', signal),
  staleTime: 5 * MINUTE_MS,
})

/** One account, for operators that open one which is not theirs. */
export function accountQuery(accountId: string) {
  return queryOptions({
    queryKey: ['account', accountId],
    queryFn: ({ signal }) => read<Account>(`accounts/${accountId}`, signal),
  })
}

/** The splits of charts. */
export type ChartSplit = Overview['by']

/** The first moment of a range, and the one at which it has ended. */
export interface Moments {
  readonly from: string
  readonly to: string
}

/** A span as calls have it. */
export function momentsOf({ fromMs, toMs }: TimeSpan): Moments {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
}

interface ChartInput {
  readonly moments: Moments
  readonly by: ChartSplit
  /** Null: with nothing; what is charted before the range is said in one figure then. */
  readonly compare: Comparison | null
}

/** Credit, figures and spend. */
export function overviewQuery(accountId: string, { moments, by, compare }: ChartInput) {
  return queryOptions({
    queryKey: ['overview', accountId, moments, by, compare],
    queryFn: ({ signal }) => {
      const query = { ...moments, by, compare: compare ?? undefined }
      const path = withQuery(`accounts/${accountId}/overview`, query)
      return read<Overview>(path, signal)
    },
    placeholderData: keepPreviousData,
    refetchInterval: MINUTE_MS / 2,
  })
}

/** Usage over time. */
export function usageQuery(
  accountId: string,
  { moments, by, step, compare }: ChartInput & Pick<Usage, 'step'>,
) {
  return queryOptions({
    queryKey: ['usage', accountId, moments, by, step, compare],
    queryFn: ({ signal }) => {
      const query = { ...moments, by, step, compare: compare ?? undefined }
      const path = withQuery(`accounts/${accountId}/usage`, query)
      return read<Usage>(path, signal)
    },
    placeholderData: keepPreviousData,
    refetchInterval: MINUTE_MS / 2,
  })
}

/** Every group of a range. Not read again and again: tags are read from requests one by one. */
export function reportQuery(accountId: string, moments: Moments, by: 'tag' | 'model' | 'key') {
  return queryOptions({
    queryKey: ['usage', accountId, 'report', by, moments],
    queryFn: ({ signal }) => {
      const query = { ...moments, by }
      return read<UsageReport>(withQuery(`accounts/${accountId}/usage/report`, query), signal)
    },
    placeholderData: keepPreviousData,
    staleTime: MINUTE_MS,
  })
}

const KEYS_MAX = 100

/** The newest keys of an account. */
export function keysQuery(accountId: string) {
  return queryOptions({
    queryKey: ['keys', accountId],
    queryFn: ({ signal }) =>
      read<Page<ApiKey>>(withQuery(`accounts/${accountId}/keys`, { limit: KEYS_MAX }), signal),
    staleTime: MINUTE_MS / 4,
  })
}

const KEYS_A_PAGE = 50

/** The keys of an account that have a text in their name or prefix, newest first, page by page. */
export function keyPagesQuery(accountId: string, search: string) {
  return infiniteQueryOptions({
    queryKey: ['keys', accountId, 'pages', search],
    queryFn: ({ pageParam, signal }) =>
      read<Page<ApiKey>>(
        withQuery(`accounts/${accountId}/keys`, {
          limit: KEYS_A_PAGE,
          cursor: pageParam,
          search: search === '' ? undefined : search,
        }),
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  })
}

/** The purses of an account; `path`: where the account is read. */
export function balanceQuery(accountId: string, path: string) {
  return queryOptions({
    queryKey: ['balance', accountId, path],
    queryFn: ({ signal }) => read<Balance>(`${path}/balance`, signal),
    refetchInterval: MINUTE_MS / 4,
  })
}

/** What changed the credit of a range; `path`: where the account is read. */
export function statementQuery(accountId: string, path: string, moments: Moments) {
  return queryOptions({
    queryKey: ['entries', accountId, 'statement', path, moments],
    queryFn: ({ signal }) =>
      read<Statement>(withQuery(`${path}/statement`, { ...moments }), signal),
    placeholderData: keepPreviousData,
    refetchInterval: MINUTE_MS / 2,
  })
}

/** One request of an account. Default of `path`: as the account's members read it. */
export function requestQuery(
  accountId: string,
  requestId: string,
  path = `accounts/${accountId}/requests`,
) {
  return queryOptions({
    queryKey: ['request', path, requestId],
    queryFn: ({ signal }) =>
      read<ActivityRequest>(`${path}/${encodeURIComponent(requestId)}`, signal),
  })
}

/** The members of an account, for its owners. */
export function membersQuery(accountId: string) {
  return queryOptions({
    queryKey: ['members', accountId],
    queryFn: ({ signal }) => read<Page<Member>>(`accounts/${accountId}/members`, signal),
  })
}

/** The invitations to an account that are open, for its owners. */
export function invitationsQuery(accountId: string) {
  return queryOptions({
    queryKey: ['invitations', accountId],
    queryFn: ({ signal }) => read<Page<Invitation>>(`accounts/${accountId}/invitations`, signal),
  })
}

/** The models that an account may use, at the prices that it is charged. */
export function modelsQuery(accountId: string) {
  return queryOptions({
    queryKey: ['models', accountId],
    queryFn: ({ signal }) => read<Page<Model>>(`accounts/${accountId}/models`, signal),
    staleTime: 10 * MINUTE_MS,
  })
}
