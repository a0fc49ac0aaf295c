import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
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
  Usage,
  UsageReport,
} from './answers.ts'
import { read, withQuery } from './client.ts'

const MINUTE_MS = 60_000

/** What the page is before a sign-in. */
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

/** How far back charts look. */
export const CHART_DAYS = { '24h': 1, '7d': 7, '30d': 30, '90d': 90 } as const
/** A range of charts. */
export type ChartRange = keyof typeof CHART_DAYS
/** What charts are split by. */
export type ChartSplit = Overview['by']

const DAY_MS = 86_400_000

/** The moments of a range: up to the next minute, so that it is asked for again and again alike. */
function momentsOf(range: ChartRange): { readonly from: string; readonly to: string } {
  const toMs = Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS
  const fromMs = toMs - CHART_DAYS[range] * DAY_MS
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
}

interface ChartInput {
  readonly range: ChartRange
  readonly by: ChartSplit
}

/** Credit, figures and spend. */
export function overviewQuery(accountId: string, { range, by }: ChartInput) {
  return queryOptions({
    queryKey: ['overview', accountId, range, by],
    queryFn: ({ signal }) => {
      const path = withQuery(`accounts/${accountId}/overview`, { ...momentsOf(range), by })
      return read<Overview>(path, signal)
    },
    placeholderData: keepPreviousData,
    refetchInterval: MINUTE_MS / 2,
  })
}

/** What was used over time. */
export function usageQuery(
  accountId: string,
  { range, by, step }: ChartInput & Pick<Usage, 'step'>,
) {
  return queryOptions({
    queryKey: ['usage', accountId, range, by, step],
    queryFn: ({ signal }) => {
      const path = withQuery(`accounts/${accountId}/usage`, { ...momentsOf(range), by, step })
      return read<Usage>(path, signal)
    },
    placeholderData: keepPreviousData,
    refetchInterval: MINUTE_MS / 2,
  })
}

/** Every group of a range. Not read again and again: tags are read from requests one by one. */
export function reportQuery(accountId: string, range: ChartRange, by: 'tag' | 'model' | 'key') {
  return queryOptions({
    queryKey: ['usage', accountId, 'report', by, range],
    queryFn: ({ signal }) => {
      const query = { ...momentsOf(range), by }
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

/** All keys of an account, newest first, page by page. */
export function keyPagesQuery(accountId: string) {
  return infiniteQueryOptions({
    queryKey: ['keys', accountId, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      read<Page<ApiKey>>(
        withQuery(`accounts/${accountId}/keys`, { limit: KEYS_A_PAGE, cursor: pageParam }),
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  })
}

/** The purses of an account. */
export function balanceQuery(accountId: string) {
  return queryOptions({
    queryKey: ['balance', accountId],
    queryFn: ({ signal }) => read<Balance>(`accounts/${accountId}/balance`, signal),
  })
}

/** One request. */
export function requestQuery(accountId: string, requestId: string) {
  return queryOptions({
    queryKey: ['request', accountId, requestId],
    queryFn: ({ signal }) =>
      read<ActivityRequest>(
        `accounts/${accountId}/requests/${encodeURIComponent(requestId)}`,
        signal,
      ),
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

/** The models of the catalog. */
export const modelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: ({ signal }) => read<Pick<Page<Model>, 'data'>>('/v1/models', signal),
  staleTime: 10 * MINUTE_MS,
})
