import {
  infiniteQueryOptions,
  keepPreviousData,
  type QueryKey,
  queryOptions,
} from '@tanstack/react-query'
import { MINUTE_MS } from '../../src/vocabulary/clock.ts'
import type { Comparison, TimeSpan } from '../../src/vocabulary/date-range.ts'
import type {
  ActivityRequest,
  OperatorRequestPrices,
  Overview,
  RequestPrices,
  Usage,
} from './answers.ts'
import { asBrowser, asMember, asOperator, callAs } from './calls.ts'

/** The state of the page before a sign-in. */
export const startQuery = queryOptions({
  queryKey: ['start'],
  queryFn: ({ signal }) => asBrowser('getStart', {}, signal),
})

/** The signed-in user. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => asBrowser('getMe', {}, signal),
  staleTime: 5 * MINUTE_MS,
})

/** One account, for operators that open one which is not theirs. */
export function accountQuery(accountId: string) {
  return queryOptions({
    queryKey: ['account', accountId],
    queryFn: ({ signal }) => asMember('getAccount', { account_id: accountId }, signal),
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
  /** Null: no comparison; the period before the range is then a single figure. */
  readonly compare: Comparison | null
}

/** Credit, figures and spend. */
export function overviewQuery(accountId: string, { moments, by, compare }: ChartInput) {
  return queryOptions({
    queryKey: ['overview', accountId, moments, by, compare],
    queryFn: ({ signal }) =>
      asMember('getOverview', { account_id: accountId, ...moments, by, compare }, signal),
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
    queryFn: ({ signal }) =>
      asMember('getUsage', { account_id: accountId, ...moments, by, step, compare }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: MINUTE_MS / 2,
  })
}

/** Every group of a range. Not read again and again: tags are read from requests one by one. */
export function reportQuery(accountId: string, moments: Moments, by: 'tag' | 'model' | 'key') {
  return queryOptions({
    queryKey: ['usage', accountId, 'report', by, moments],
    queryFn: ({ signal }) =>
      asMember('getUsageReport', { account_id: accountId, ...moments, by }, signal),
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
      asMember('listKeys', { account_id: accountId, limit: KEYS_MAX }, signal),
    staleTime: MINUTE_MS / 4,
  })
}

const ROWS = 50

interface AskedPage {
  readonly limit: number
  readonly cursor: string | null
}

/** A list in pages. By position: its key, and the call for a page. */
export function pagesQuery<Page extends { readonly next_cursor: string | null }>(
  queryKey: QueryKey,
  ask: (page: AskedPage, signal: AbortSignal) => Promise<Page>,
) {
  return infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam: cursor, signal }) => ask({ limit: ROWS, cursor }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  })
}

const ACTIONS_A_PAGE = 20

/** The keys of an account that have a text in their name or prefix, newest first, page by page. */
export function keyPagesQuery(accountId: string, search: string) {
  const asked = { account_id: accountId, search: search === '' ? null : search }
  return pagesQuery(['keys', accountId, 'pages', search], (page, signal) =>
    asMember('listKeys', { ...asked, ...page }, signal),
  )
}

/** As what an account is read: as its members, or by operators. */
type AccountCaller = 'member' | 'operator'

/** The purses of an account. */
export function balanceQuery(accountId: string, as: AccountCaller) {
  return queryOptions({
    queryKey: ['balance', accountId, as],
    queryFn: ({ signal }) => callAs(as)('getBalance', { account_id: accountId }, signal),
    refetchInterval: MINUTE_MS / 4,
  })
}

/** The changes of credit in a range. */
export function statementQuery(accountId: string, as: AccountCaller, moments: Moments) {
  return queryOptions({
    queryKey: ['entries', accountId, 'statement', as, moments],
    queryFn: ({ signal }) =>
      callAs(as)('getStatement', { account_id: accountId, ...moments }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: MINUTE_MS / 2,
  })
}

/** One request: for members of their account. */
export function requestQuery(
  requestId: string,
  source:
    | { readonly as: 'member'; readonly accountId: string }
    | { readonly as: 'operator'; readonly accountId: string | null },
) {
  return queryOptions({
    queryKey: ['request', source, requestId],
    queryFn: ({ signal }): Promise<ActivityRequest> =>
      source.as === 'operator'
        ? asOperator('getOperatorRequest', { request_id: requestId }, signal)
        : asMember('getRequest', { account_id: source.accountId, request_id: requestId }, signal),
  })
}

/** The newest request of an account. */
export function newestRequestQuery(accountId: string) {
  return queryOptions({
    queryKey: ['requests', accountId, 'newest'],
    queryFn: ({ signal }) => asMember('listRequests', { account_id: accountId, limit: 1 }, signal),
    staleTime: MINUTE_MS / 4,
  })
}

/** Why a request cost what it cost. It is read again when the charge has changed. */
export function requestPricesQuery(
  { id, account_id, charge }: ActivityRequest,
  { as }: { readonly as: AccountCaller },
) {
  return queryOptions({
    queryKey: ['request', as, id, 'prices', charge],
    queryFn: ({ signal }): Promise<RequestPrices | OperatorRequestPrices> =>
      as === 'operator'
        ? asOperator('getRequestPrices', { request_id: id }, signal)
        : asMember('getRequestPrices', { account_id, request_id: id }, signal),
    enabled: charge !== 0,
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** The members of an account, for its owners. */
export function membersQuery(accountId: string) {
  return queryOptions({
    queryKey: ['members', accountId],
    queryFn: ({ signal }) => asMember('listMembers', { account_id: accountId }, signal),
  })
}

/** The invitations to an account that are open, for its owners. */
export function invitationsQuery(accountId: string) {
  return queryOptions({
    queryKey: ['invitations', accountId],
    queryFn: ({ signal }) => asMember('listInvitations', { account_id: accountId }, signal),
  })
}

/** The changes by operators in an account, for its owners: newest first, page by page. */
export function accountActionsQuery(accountId: string) {
  return pagesQuery(['account-actions', accountId], (page, signal) =>
    asMember(
      'listAccountActions',
      { account_id: accountId, ...page, limit: ACTIONS_A_PAGE },
      signal,
    ),
  )
}

/** The models that an account may use, at the prices that it is charged. */
export function modelsQuery(accountId: string) {
  return queryOptions({
    queryKey: ['models', accountId],
    queryFn: ({ signal }) => asMember('listAccountModels', { account_id: accountId }, signal),
    staleTime: 10 * MINUTE_MS,
  })
}

/** The second factors of the user. */
export const factorsQuery = queryOptions({
  queryKey: ['factors'],
  queryFn: ({ signal }) => asBrowser('listFactors', {}, signal),
})

/** The browsers that the user is signed in with. */
export const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: ({ signal }) => asBrowser('listSessions', {}, signal),
})
