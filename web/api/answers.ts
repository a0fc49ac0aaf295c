import type { z } from 'zod'
import type {
  FactorNeededAnswer,
  FactorsAnswer,
  LinkLookAnswer,
  MeAnswer,
  SessionAnswer,
  StartAnswer,
} from '../../src/http/page/session-answers.ts'
import type { accountShape } from '../../src/operations/accounts.ts'
import type { apiKeyShape, createdApiKeyShape } from '../../src/operations/api-key-answer.ts'
import type { entryShape, statementLineShape } from '../../src/operations/credit.ts'
import type { ForCustomers } from '../../src/operations/customer-fields.ts'
import type { listShape } from '../../src/operations/fields.ts'
import type {
  invitationShape,
  memberInvitationShape,
  memberShape,
} from '../../src/operations/members.ts'
import type { modelShape } from '../../src/operations/models.ts'
import type { namedRequestShape } from '../../src/operations/operator-activity.ts'
import type { overviewShape } from '../../src/operations/overview.ts'
import type { balanceShape } from '../../src/operations/own-account.ts'
import type { confirmingShape, purchaseShape } from '../../src/operations/purchases.ts'
import type { requestSummaryShape } from '../../src/operations/request-summary.ts'
import type { foundShape, requestShape } from '../../src/operations/requests.ts'
import type { statementShape } from '../../src/operations/statement.ts'
import type { usageShape } from '../../src/operations/usage.ts'
import type { usageReportShape } from '../../src/operations/usage-report.ts'

/** The answers of the API, as the server's own shapes have them: types alone. */

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
export type Account = z.infer<typeof accountShape>

/** The same as its members read it. */
export type OwnAccount = ForCustomers<Account>

/** Credit, figures and spend of a range. */
export type Overview = ForCustomers<z.infer<typeof overviewShape>>

/** Usage over time. */
export type Usage = ForCustomers<z.infer<typeof usageShape>>

/** The sums of requests. */
export type UsageFigures = Usage['figures']

/** The sums of requests over a range, without steps. */
export type UsageReport = ForCustomers<z.infer<typeof usageReportShape>>

/** The items that need attention. */
export type Attention = Overview['attention'][number]

/** An API key without its text. */
export type ApiKey = z.infer<typeof apiKeyShape>

/** An API key that was just made, with its text. */
export type CreatedApiKey = z.infer<typeof createdApiKeyShape>

/** A request in Activity. */
export type ActivityRequest = ForCustomers<z.infer<typeof requestShape>>

/** A request in Activity as operators read it: with costs, fee, margin and upstream. */
export type OperatorRequest = z.infer<typeof requestShape>

/** A request in the operator's Activity, with the names of its account and key. */
export type NamedRequest = z.infer<typeof namedRequestShape>

/** A page of requests that were searched for; those of operators are {@link NamedRequest}s. */
export type FoundRequests = ForCustomers<z.infer<typeof foundShape>>

/** Counts and columns over Activity. */
export type RequestSummary = z.infer<typeof requestSummaryShape>

/** A page of a list. */
export type Page<T> = Omit<z.infer<ReturnType<typeof listShape>>, 'data'> & {
  readonly data: readonly T[]
}

/** The purses of an account and its unresolved requests. */
export type Balance = z.infer<typeof balanceShape>

/** A line of the ledger. */
export type Entry = z.infer<typeof entryShape>

/** A line of the ledger, and what both purses have after it. */
export type StatementLine = z.infer<typeof statementLineShape>

/** The changes of credit in a range, day by day. */
export type Statement = z.infer<typeof statementShape>

/** A purchase of credit. */
export type Purchase = z.infer<typeof purchaseShape>
export type PendingPurchase = Purchase | z.infer<typeof confirmingShape>

/** A browser that a user is signed in with. */
export type Session = SessionAnswer

/** A user in an account. */
export type Member = z.infer<typeof memberShape>

/** An invitation to an account, without its link. */
export type Invitation = z.infer<typeof invitationShape>

/** An invitation that was just made, with its link where it was not mailed. */
export type NewInvitation = z.infer<typeof memberInvitationShape>

/** A model at the prices that the account is charged. */
export type Model = z.infer<typeof modelShape>
