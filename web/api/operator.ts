import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { z } from 'zod'
import type { listedAccountShape } from '../../src/operations/account-list.ts'
import type { adminTokenShape } from '../../src/operations/admin-tokens.ts'
import type { createdCreditCodeShape, creditCodeShape } from '../../src/operations/credit-codes.ts'
import type { offeredModelShape } from '../../src/operations/models.ts'
import type {
  healthShape,
  operatorActionShape,
  unsettledRequestShape,
} from '../../src/operations/operator-desk.ts'
import type { listedPurchaseShape } from '../../src/operations/purchases.ts'
import type { topUpsShape } from '../../src/operations/top-ups.ts'
import type { auditShape } from '../../src/operations/upkeep.ts'
import type { upstreamShape } from '../../src/operations/upstreams.ts'
import type { operatorUsageShape } from '../../src/operations/usage.ts'
import type { usageReportShape } from '../../src/operations/usage-report.ts'
import type {
  createdWebhookShape,
  deliveryShape,
  webhookShape,
} from '../../src/operations/webhooks.ts'
import type { Comparison, TimeSpan } from '../../src/vocabulary/date-range.ts'
import { REVERSALS } from '../../src/vocabulary/purchase.ts'
import { asOperator, type Input } from './calls.ts'
import { BY_CURSOR, momentsOf } from './queries.ts'

/** The reads of operators, below `/app/api/operator`. */

/** An account in the operator's list. */
export type ListedAccount = z.infer<typeof listedAccountShape>

/** Something that an operator changed. */
export type OperatorAction = z.infer<typeof operatorActionShape>

/** A model at one of its upstreams, with the provider's prices. */
export type OfferedModel = z.infer<typeof offeredModelShape>

/** The usage of all accounts over time. */
export type OperatorUsage = z.infer<typeof operatorUsageShape>

/** The sums of the requests of all accounts. */
export type OperatorReport = z.infer<typeof usageReportShape>

const ROWS = 50
const FOUND_MAX = 6
const LIVE_MS = 15_000

/** By which accounts are listed. */
export type AccountState = 'active' | 'suspended' | 'in_debt'

/** Values by which accounts are listed; behind a `-`, the greatest first. */
export type AccountsOrder = NonNullable<Input<'listAccounts', 'operator'>['sort']>

interface AccountsInput {
  /** Default: all. */
  readonly state?: AccountState | undefined
  /** Default: newest first. */
  readonly sort?: AccountsOrder | undefined
  /** The time whose charges and margin are read. Default: the last 30 days. */
  readonly span?: TimeSpan | undefined
}

/** What the list of accounts is asked for; `search` is a part of a name, an email address or an id. */
export function accountsInput(search: string, { state, sort, span }: AccountsInput = {}) {
  const moments = span === undefined ? {} : momentsOf(span)
  return { search: search === '' ? null : search, state, sort, ...moments }
}

/** Accounts in pages. */
export function accountsQuery(search: string, input: AccountsInput = {}) {
  const asked = accountsInput(search, input)
  return infiniteQueryOptions({
    queryKey: ['operator', 'accounts', asked],
    queryFn: ({ pageParam, signal }) =>
      asOperator('listAccounts', { ...asked, limit: ROWS, cursor: pageParam }, signal),
    ...BY_CURSOR,
    placeholderData: keepPreviousData,
  })
}

/** The newest keys of all accounts that have a text in their name, prefix or ID. */
export function foundKeysQuery(search: string) {
  return queryOptions({
    queryKey: ['operator', 'keys', search],
    queryFn: ({ signal }) => asOperator('findKeys', { search, limit: FOUND_MAX }, signal),
  })
}

/** One account. */
export function oneAccountQuery(accountId: string) {
  return queryOptions({
    queryKey: ['operator', 'account', accountId],
    queryFn: ({ signal }) => asOperator('getAccount', { account_id: accountId }, signal),
    refetchInterval: LIVE_MS,
  })
}

/** Which changes of the audit log are asked for; what is left out filters nothing. */
export interface ActionFilter {
  readonly account?: string | undefined
  /** Ids of users and admin tokens. */
  readonly by?: readonly string[] | undefined
  /** Names of operations. */
  readonly kind?: readonly string[] | undefined
}

/** The filter as the query of `listOperatorActions`. */
export function actionFields({
  account,
  by,
  kind,
}: ActionFilter): Pick<Input<'listOperatorActions', 'operator'>, 'account' | 'by' | 'action'> {
  return { account, by: by?.join(','), action: kind?.join(',') }
}

/** Changes by operators and admin tokens, newest first. */
export function actionsQuery(filter: ActionFilter, limit = ROWS) {
  return infiniteQueryOptions({
    queryKey: ['operator', 'actions', filter, limit],
    queryFn: ({ pageParam, signal }) =>
      asOperator(
        'listOperatorActions',
        { ...actionFields(filter), limit, cursor: pageParam },
        signal,
      ),
    ...BY_CURSOR,
    placeholderData: keepPreviousData,
  })
}

/** The users of the page, oldest first. */
export const usersQuery = queryOptions({
  queryKey: ['operator', 'users'],
  queryFn: ({ signal }) => asOperator('listUsers', {}, signal),
})

/** A request that waits for its cost. */
export type UnsettledRequest = z.infer<typeof unsettledRequestShape>

/** The requests of all accounts that wait for their cost, the oldest first. */
export const unsettledQuery = infiniteQueryOptions({
  queryKey: ['operator', 'unsettled'],
  queryFn: ({ pageParam, signal }) =>
    asOperator('listUnsettledRequests', { limit: ROWS, cursor: pageParam }, signal),
  ...BY_CURSOR,
  refetchInterval: 10_000,
})

/** A configured upstream. */
export type ListedUpstream = z.infer<typeof upstreamShape>

/** The configured upstreams; none where the built-in simulator answers. */
export const upstreamsQuery = queryOptions({
  queryKey: ['operator', 'upstreams'],
  queryFn: ({ signal }) => asOperator('listUpstreams', {}, signal),
  refetchInterval: LIVE_MS,
})

/** The state of the process and its store. */
export type Health = z.infer<typeof healthShape>

/** Checks, catalog and holds. */
export const healthQuery = queryOptions({
  queryKey: ['operator', 'health'],
  queryFn: ({ signal }) => asOperator('getHealth', {}, signal),
  refetchInterval: 5_000,
})

/** The result of an audit. */
export type Audit = z.infer<typeof auditShape>

/** An audit of the whole store, which runs when it is asked for and continues when the page is left. */
export const auditQuery = queryOptions({
  queryKey: ['audit'],
  queryFn: () => asOperator('audit', {}),
  enabled: false,
  retry: false,
  staleTime: Number.POSITIVE_INFINITY,
  gcTime: Number.POSITIVE_INFINITY,
})

/** How far the audit is. */
export const auditProgressQuery = queryOptions({
  queryKey: ['audit', 'progress'],
  queryFn: ({ signal }) => asOperator('getAuditProgress', {}, signal),
  refetchInterval: 1_000,
})

/** Whether inference is refused. */
export const maintenanceQuery = queryOptions({
  queryKey: ['operator', 'maintenance'],
  queryFn: ({ signal }) => asOperator('getMaintenance', {}, signal),
  refetchInterval: 5_000,
})

/** A purchase in the operator's list. */
export type ListedPurchase = z.infer<typeof listedPurchaseShape>

/** Which purchases are listed: those that wait for a decision, those that were refunded or disputed, or all. */
export type PurchaseList = keyof typeof LISTED_PURCHASES

const LISTED_PURCHASES = {
  held: { state: 'held,below_minimum', reversal: null },
  reversed: { state: null, reversal: REVERSALS.join() },
  all: { state: null, reversal: null },
} as const

/** Purchases of all accounts, newest first. */
export function purchasesQuery(which: PurchaseList) {
  return infiniteQueryOptions({
    queryKey: ['operator', 'purchases', which],
    queryFn: ({ pageParam, signal }) =>
      asOperator(
        'listAllPurchases',
        {
          limit: ROWS,
          ...LISTED_PURCHASES[which],
          cursor: pageParam,
        },
        signal,
      ),
    ...BY_CURSOR,
    refetchInterval: LIVE_MS,
  })
}

/** One purchase of any account; what does not exist is asked for once. */
export function purchaseQuery(id: string) {
  return queryOptions({
    queryKey: ['operator', 'purchase', id],
    queryFn: ({ signal }) => asOperator('getPurchase', { purchase_id: id }, signal),
    retry: false,
  })
}

/** A credit code, without its text. */
export type CreditCode = z.infer<typeof creditCodeShape>

/** A credit code that was just made, with its text. */
export type CreatedCode = z.infer<typeof createdCreditCodeShape>

/** Credit codes, newest first. */
export const codesQuery = infiniteQueryOptions({
  queryKey: ['operator', 'codes'],
  queryFn: ({ pageParam, signal }) =>
    asOperator('listCodes', { limit: ROWS, cursor: pageParam }, signal),
  ...BY_CURSOR,
})

/** An admin token, without its text. */
export type AdminToken = z.infer<typeof adminTokenShape>

/** Admin tokens, newest first, expired and revoked ones too. */
export const tokensQuery = infiniteQueryOptions({
  queryKey: ['operator', 'tokens'],
  queryFn: ({ pageParam, signal }) =>
    asOperator('listAdminTokens', { limit: ROWS, cursor: pageParam }, signal),
  ...BY_CURSOR,
})

/** A webhook, without its secret. */
export type Webhook = z.infer<typeof webhookShape>

/** A webhook that was just made, with the secret that its messages are signed with. */
export type CreatedWebhook = z.infer<typeof createdWebhookShape>

/** Every webhook, the oldest first. */
export const webhooksQuery = queryOptions({
  queryKey: ['operator', 'webhooks'],
  queryFn: ({ signal }) => asOperator('listWebhooks', {}, signal),
  refetchInterval: LIVE_MS,
})

/** A message to a webhook. */
export type Delivery = z.infer<typeof deliveryShape>

/** The messages to a webhook, newest first. */
export function deliveriesQuery(webhookId: string) {
  return infiniteQueryOptions({
    queryKey: ['operator', 'deliveries', webhookId],
    queryFn: ({ pageParam, signal }) =>
      asOperator(
        'listDeliveries',
        { webhook_id: webhookId, limit: ROWS, cursor: pageParam },
        signal,
      ),
    ...BY_CURSOR,
    refetchInterval: 5_000,
  })
}

/** The newest message to a webhook. */
export function newestDeliveryQuery(webhookId: string) {
  return queryOptions({
    queryKey: ['operator', 'deliveries', webhookId, 'newest'],
    queryFn: ({ signal }) =>
      asOperator('listDeliveries', { webhook_id: webhookId, limit: 1 }, signal),
    refetchInterval: 4 * LIVE_MS,
  })
}

/** The usage of all accounts over time, with cost and margin. `compare`: null: no comparison. */
export function operatorUsageQuery(
  span: TimeSpan,
  { by, compare }: { readonly by: OperatorUsage['by']; readonly compare: Comparison | null },
) {
  const moments = momentsOf(span)
  return queryOptions({
    queryKey: ['operator', 'usage', moments, by, compare],
    queryFn: ({ signal }) => asOperator('getOperatorUsage', { ...moments, by, compare }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: 2 * LIVE_MS,
  })
}

/** The input of an operators' report. */
export interface ReportInput {
  readonly by: OperatorReport['by']
  /** Null: all accounts. */
  readonly account: string | null
}

/** Paid credit that was added. */
export type TopUps = z.infer<typeof topUpsShape>

/** The paid credit that was added in a range; `account`: null: of all accounts. */
export function topUpsQuery(span: TimeSpan, account: string | null) {
  const asked = { ...momentsOf(span), account }
  return queryOptions({
    queryKey: ['operator', 'top-ups', asked],
    queryFn: ({ signal }) => asOperator('getTopUps', asked, signal),
    placeholderData: keepPreviousData,
    refetchInterval: 4 * LIVE_MS,
  })
}

/** Every group of a range, with cost and margin. */
export function operatorReportQuery(span: TimeSpan, input: ReportInput) {
  return queryOptions({
    queryKey: ['operator', 'usage', 'report', span.fromMs, span.toMs, input],
    queryFn: ({ signal }) => asOperator('getAllUsage', { ...momentsOf(span), ...input }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: 2 * LIVE_MS,
  })
}

/** The models at every upstream. */
export const offeredModelsQuery = queryOptions({
  queryKey: ['operator', 'models'],
  queryFn: ({ signal }) => asOperator('listOfferedModels', {}, signal),
  staleTime: LIVE_MS,
})
