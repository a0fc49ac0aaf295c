import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { Comparison, TimeSpan } from '../../src/vocabulary/date-range.ts'
import { REVERSALS } from '../../src/vocabulary/purchase.ts'
import { type Answer, asOperator, type Input, type NameFor, type Row } from './calls.ts'
import { momentsOf, pagesQuery } from './queries.ts'

/** The reads of operators, below `/app/api/operator`. */

/** An account in the operator's list. */
export type ListedAccount = Row<'listAccounts', 'operator'>

/** Something that an operator changed. */
export type OperatorAction = Row<'listOperatorActions', 'operator'>

/** The models at every upstream, and those that are not offered. */
export type OfferedModels = Answer<'listOfferedModels', 'operator'>

/** A model at one of its upstreams, with the provider's prices. */
export type OfferedModel = Row<'listOfferedModels', 'operator'>

/** The usage of all accounts over time. */
export type OperatorUsage = Answer<'getOperatorUsage', 'operator'>

/** The sums of the requests of all accounts. */
export type OperatorReport = Answer<'getAllUsage', 'operator'>

const ROWS = 50
const FOUND_MAX = 6
const LIVE_MS = 15_000

/** A read of operators, which is named by the call and its input, and read again after each of their changes. */
function read<Name extends NameFor<'operator'>>(name: Name, input: Input<Name, 'operator'>) {
  return queryOptions({
    queryKey: ['operator', name, input],
    queryFn: ({ signal }) => asOperator(name, input, signal),
  })
}

/** A list in pages, likewise. By position: its name, and the call for a page. */
const pages: typeof pagesQuery = (name, ask) => pagesQuery(['operator', ...name], ask)

/** By which accounts are listed. */
export type AccountState = NonNullable<Input<'listAccounts', 'operator'>['state']>

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

/** The query of the list of accounts; `search` is a part of a name, an email address or an ID. */
export function accountsInput(search: string, { state, sort, span }: AccountsInput = {}) {
  const moments = span === undefined ? {} : momentsOf(span)
  return { search: search === '' ? null : search, state, sort, ...moments }
}

/** Accounts in pages. */
export function accountsQuery(search: string, input: AccountsInput = {}) {
  const asked = accountsInput(search, input)
  return {
    ...pages(['accounts', asked], (page, signal) =>
      asOperator('listAccounts', { ...asked, ...page }, signal),
    ),
    placeholderData: keepPreviousData,
  }
}

/** The newest keys of all accounts that have a text in their name, prefix or ID. */
export function foundKeysQuery(search: string) {
  return read('findKeys', { search, limit: FOUND_MAX })
}

/** One account. */
export function oneAccountQuery(accountId: string) {
  return { ...read('getAccount', { account_id: accountId }), refetchInterval: LIVE_MS }
}

/** Which changes of the audit log are asked for; what is left out filters nothing. */
export interface ActionFilter {
  readonly account?: string | undefined
  /** Ids of users and admin tokens. */
  readonly by?: readonly string[] | undefined
  /** Names of operations. */
  readonly kind?: readonly string[] | undefined
  /** Names of fields that were set or removed. */
  readonly field?: readonly string[] | undefined
  /** When they were recorded. */
  readonly span?: TimeSpan | undefined
}

/** The filter as the query of `listOperatorActions`. */
export function actionFields({
  account,
  by,
  kind,
  field,
  span,
}: ActionFilter): Omit<Input<'listOperatorActions', 'operator'>, 'limit' | 'cursor' | 'format'> {
  const { from: since, to: until } = span === undefined ? {} : momentsOf(span)
  return {
    account,
    by: by?.join(','),
    action: kind?.join(','),
    field: field?.join(','),
    since,
    until,
  }
}

/** Changes by operators and admin tokens, newest first. */
export function actionsQuery(filter: ActionFilter, limit = ROWS) {
  return {
    ...pages(['actions', filter, limit], (page, signal) =>
      asOperator('listOperatorActions', { ...actionFields(filter), ...page, limit }, signal),
    ),
    placeholderData: keepPreviousData,
  }
}

/** The users of the page, oldest first. */
export const usersQuery = read('listUsers', {})

/** The invitations of operators that are open, newest first. */
export const operatorInvitationsQuery = read('listOpenInvitations', { operator: 'true' })

/** A request that waits for its cost. */
export type UnsettledRequest = Row<'listUnsettledRequests', 'operator'>

/** The requests of all accounts that wait for their cost, the oldest first. */
export const unsettledQuery = {
  ...pages(['unsettled'], (page, signal) => asOperator('listUnsettledRequests', page, signal)),
  refetchInterval: 10_000,
}

/** A configured upstream. */
export type ListedUpstream = Row<'listUpstreams', 'operator'>

/** The configured upstreams; none where the built-in simulator answers. */
export const upstreamsQuery = { ...read('listUpstreams', {}), refetchInterval: LIVE_MS }

/** The state of the process and its store. */
export type Health = Answer<'getHealth', 'operator'>

/** Checks, catalog and holds. */
export const healthQuery = { ...read('getHealth', {}), refetchInterval: 5_000 }

/** The result of an audit. */
export type Audit = Answer<'audit', 'operator'>

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
export const maintenanceQuery = { ...read('getMaintenance', {}), refetchInterval: 5_000 }

/** A purchase in the operator's list. */
export type ListedPurchase = Row<'listAllPurchases', 'operator'>

/** Which purchases are listed: those that wait for a decision, those that were refunded or disputed, or all. */
export type PurchaseList = keyof typeof LISTED_PURCHASES

const LISTED_PURCHASES = {
  held: { state: 'held,below_minimum', reversal: null },
  reversed: { state: null, reversal: REVERSALS.join() },
  all: { state: null, reversal: null },
} as const

/** Purchases of all accounts, newest first. */
export function purchasesQuery(which: PurchaseList) {
  return {
    ...pages(['purchases', which], (page, signal) =>
      asOperator('listAllPurchases', { ...LISTED_PURCHASES[which], ...page }, signal),
    ),
    refetchInterval: LIVE_MS,
  }
}

/** One purchase of any account; what does not exist is asked for once. */
export function purchaseQuery(id: string) {
  return { ...read('getPurchase', { purchase_id: id }), retry: false }
}

/** A credit code, without its text. */
export type CreditCode = Row<'listCodes', 'operator'>

/** A credit code that was just made, with its text. */
export type CreatedCode = Answer<'createCode', 'operator'>

/** Credit codes, newest first. */
export const codesQuery = pages(['codes'], (page, signal) => asOperator('listCodes', page, signal))

/** An admin token, without its text. */
export type AdminToken = Row<'listAdminTokens', 'operator'>

/** Admin tokens, newest first, expired and revoked ones too. */
export const tokensQuery = pages(['tokens'], (page, signal) =>
  asOperator('listAdminTokens', page, signal),
)

/** A webhook, without its secret. */
export type Webhook = Row<'listWebhooks', 'operator'>

/** A webhook that was just made, with the secret that its messages are signed with. */
export type CreatedWebhook = Answer<'createWebhook', 'operator'>

/** Every webhook, the oldest first. */
export const webhooksQuery = { ...read('listWebhooks', {}), refetchInterval: LIVE_MS }

/** A message to a webhook. */
export type Delivery = Row<'listDeliveries', 'operator'>

/** The messages to a webhook, newest first. */
export function deliveriesQuery(webhookId: string) {
  return {
    ...pages(['deliveries', webhookId], (page, signal) =>
      asOperator('listDeliveries', { webhook_id: webhookId, ...page }, signal),
    ),
    refetchInterval: 5_000,
  }
}

/** The usage of all accounts over time, with cost and margin. `compare`: null: no comparison. */
export function operatorUsageQuery(
  span: TimeSpan,
  input: {
    readonly by: OperatorUsage['by']
    readonly compare: Comparison | null
    /** Default: all accounts. */
    readonly account?: string | undefined
  },
) {
  return {
    ...read('getOperatorUsage', { ...momentsOf(span), ...input }),
    placeholderData: keepPreviousData,
    refetchInterval: 2 * LIVE_MS,
  }
}

/** The input of an operators' report. */
export interface ReportInput {
  readonly by: OperatorReport['by']
  /** Null: all accounts. */
  readonly account: string | null
}

/** Paid credit that was added. */
export type TopUps = Answer<'getTopUps', 'operator'>

/** The paid credit that was added in a range; `account`: null: of all accounts. */
export function topUpsQuery(span: TimeSpan, account: string | null) {
  return {
    ...read('getTopUps', { ...momentsOf(span), account }),
    placeholderData: keepPreviousData,
    refetchInterval: 4 * LIVE_MS,
  }
}

/** Every group of a range, with cost and margin. */
export function operatorReportQuery(span: TimeSpan, input: ReportInput) {
  return {
    ...read('getAllUsage', { ...momentsOf(span), ...input }),
    placeholderData: keepPreviousData,
    refetchInterval: 2 * LIVE_MS,
  }
}

/** The models at every upstream. */
export const offeredModelsQuery = { ...read('listOfferedModels', {}), staleTime: LIVE_MS }
