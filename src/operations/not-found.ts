import type { Kysely } from 'kysely'
import { getAccount } from '../ledger/accounts.ts'
import { prunedUntilMsOf } from '../ledger/activity/prune-requests.ts'
import type { AccountRow, Tables } from '../store/schema.ts'
import { timeOfId } from '../vocabulary/ids.ts'
import { echoed, Problem } from '../vocabulary/problem.ts'
import { timeAnswer } from './fields.ts'
import type { OperationParts } from './operation-parts.ts'

const NOT_STORED =
  'A request that was refused before it was forwarded is not stored: its answer says why, and the log of the gateway has its error code.'

/** The 404 of a request: a refused one has no record, and a settled one may have been pruned. */
export async function noRequest(
  { db }: OperationParts['store'],
  requestId: string,
): Promise<Problem> {
  const problem = notFound('request', requestId)
  // Text that is no ID was mistyped.
  if (timeOfId(requestId) === null) return problem
  const untilMs = await prunedUntilMsOf(db, requestId)
  const why =
    untilMs === null
      ? NOT_STORED
      : `Requests that were settled up to ${timeAnswer(untilMs)} have been pruned.`
  return new Problem('not_found', { message: `${problem.message} ${why}` })
}

/** The account with this ID. Throws Problem `not_found`. */
export async function foundAccount(reads: Kysely<Tables>, accountId: string): Promise<AccountRow> {
  const account = await getAccount(reads, accountId)
  if (account === null) throw notFound('account', accountId)
  return account
}

/** The 404 of an unknown id. */
export function notFound(
  kind:
    | 'account'
    | 'admin token'
    | 'API key'
    | 'credit code'
    | 'member'
    | 'open invitation'
    | 'purchase'
    | 'request'
    | 'webhook',
  namedId: string,
): Problem {
  const shown = echoed(namedId)
  const named = shown === null ? 'this ID' : `the ID "${shown}"`
  return new Problem('not_found', { message: `No ${kind} has ${named}.` })
}
