import type {
  FactorNeededAnswer,
  FactorsAnswer,
  LinkLookAnswer,
  MeAnswer,
  SessionAnswer,
  StartAnswer,
} from '../../src/http/page/session-answers.ts'
import type { Answer, Row } from './calls.ts'

/** The answers of the API, as the server's own shapes have them: only types. */

/** The state of the page before a sign-in. */
export type Start = StartAnswer

/** The purpose of a link, before it is used. */
export type LinkLook = LinkLookAnswer

/** The signed-in user and the accounts that the user may open. */
export type Me = MeAnswer

/** The answer of a sign-in: who is signed in, or that the second factor is needed. */
export type Entered = MeAnswer | FactorNeededAnswer

/** The user's second factors. */
export type Factors = FactorsAnswer

/** An account with its credit. */
export type Account = Answer<'getAccount', 'operator'>

/** An account as its members read it. */
export type OwnAccount = Answer<'getAccount', 'member'>

/** Credit, figures and spend of a range. */
export type Overview = Answer<'getOverview', 'member'>

/** Usage over time. */
export type Usage = Answer<'getUsage', 'member'>

/** The sums of requests. */
export type UsageFigures = Usage['figures']

/** The sums of requests over a range, without steps. */
export type UsageReport = Answer<'getUsageReport', 'member'>

/** The items that need attention. */
export type Attention = Overview['attention'][number]

/** An API key without its text. */
export type ApiKey = Row<'listKeys', 'member'>

/** An API key that was just made, with its text. */
export type CreatedApiKey = Answer<'createKey', 'member'>

/** A request in Activity. */
export type ActivityRequest = Answer<'getRequest', 'member'>

/** A request in Activity as operators read it: with costs, fee, margin and upstream. */
export type OperatorRequest = Answer<'getOperatorRequest', 'operator'>

/** The parts of the charge of a request. */
export type RequestPrices = Answer<'getRequestPrices', 'member'>

/** The parts of the charge of a request, with the provider's prices and the fee. */
export type OperatorRequestPrices = Answer<'getRequestPrices', 'operator'>

/** A request in the operator's Activity, with the names of its account and key. */
export type NamedRequest = Row<'listOperatorRequests', 'operator'>

/** A page of requests that were searched for; those of operators are {@link NamedRequest}s. */
export type FoundRequests = Answer<'listRequests', 'member'>

/** Counts and columns over Activity. */
export type RequestSummary = Answer<'summarizeRequests', 'member'>

/** Counts of requests that were refused before they were forwarded. */
export type Refusals = Answer<'getRefusals', 'member'>

/** A page of a list. */
export interface Page<T> {
  readonly data: readonly T[]
  readonly has_more: boolean
}

/** The purses of an account and its unresolved requests. */
export type Balance = Answer<'getBalance', 'member'>

/** A line of the ledger. */
export type Entry = Answer<'redeemCode', 'member'>

/** A line of the ledger, and what both purses have after it. */
export type StatementLine = Row<'listEntries', 'member'>

/** The changes of credit in a range, day by day. */
export type Statement = Answer<'getStatement', 'member'>

/** A purchase of credit. */
export type Purchase = Answer<'getReceipt', 'member'>['purchase']

/** A purchase that may still become credit. */
export type PendingPurchase = NonNullable<Answer<'listPurchases', 'member'>['pending']>[number]

/** A browser that a user is signed in with. */
export type Session = SessionAnswer

/** Something that an operator changed in an account, as its owners read it. */
export type AccountAction = Row<'listAccountActions', 'member'>

/** A user in an account. */
export type Member = Row<'listMembers', 'member'>

/** An invitation to an account, without its link. */
export type Invitation = Row<'listInvitations', 'member'>

/** An invitation that was just made, with its link where it was not mailed. */
export type NewInvitation = Answer<'inviteMember', 'member'>

/** A model at the prices that the account is charged. */
export type Model = Row<'listAccountModels', 'member'>
