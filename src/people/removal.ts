import type { Transaction } from 'kysely'
import { type OperatorAction, recordAction } from '../ledger/operator-actions.ts'
import type { Tables } from '../store/schema.ts'
import type { DbWithClock } from '../store/store.ts'
import { Problem } from '../vocabulary/problem.ts'
import { dropFactors } from './factors/own-factors.ts'
import { endOwnLinks, isOperators, isOwners } from './links.ts'
import { endOtherSessions } from './sessions.ts'
import { findUser, lockPassword, updateUser } from './users.ts'

/** The rights to take from the person with an email address. */
export interface Removal {
  readonly email: string
  /** The account that the person is removed from; null: none. */
  readonly accountId: string | null
  /** Whether the person stops being an operator. With neither, the person can no longer sign in. */
  readonly asOperator: boolean
}

/**
 * Takes rights from a user, and ends the open invitations to them. Returns what was taken: whether the user can no
 * longer sign in, whether the user is no longer an operator, memberships by their accounts, and how many
 * invitations. Throws Problem `last_operator` rather than leave a store without operators, and changes nothing
 * then. `by`: who is recorded as having taken something; null: it is not recorded.
 */
export function remove(
  { db, clock }: DbWithClock,
  removal: Removal,
  by: OperatorAction | null = null,
) {
  const { email, accountId, asOperator } = removal
  const isAll = accountId === null && !asOperator
  return db.transaction().execute(async (trx) => {
    const nowMs = clock.nowMs()
    const known = await findUser(trx, email)
    // Rows are locked in the order in which accepting an invitation locks them, so that the two never deadlock.
    if (known !== null) {
      await lockPassword(trx, known.id)
      const sent = { userId: known.id, accountId, asOperator, isAll, nowMs }
      await endSentInvitations(trx, sent)
    }
    const invitations = await endInvitations(trx, { ...removal, isAll, nowMs })
    // An invitation that was being accepted has made its user by now.
    const user = known ?? (await findUser(trx, email))
    const record = (targetId: string | null, named = {}): Promise<void> =>
      recordAction(trx, {
        by,
        accountId,
        targetId,
        detail: { ...named, email, operator: asOperator, everything: isAll },
        nowMs,
      })
    let accountIds: readonly string[] = []
    if (user === null) {
      if (invitations > 0) await record(null)
      return { isUser: false, wasOperator: false, accountIds, invitations }
    }
    const wasOperator = (asOperator || isAll) && (await endOperator(trx, user.id))
    accountIds = await endMemberships(trx, { userId: user.id, accountId, isAll })
    if (isAll) {
      await endOwnLinks(trx, { userId: user.id, nowMs })
      await endOtherSessions(trx, { userId: user.id, keptSessionId: null })
      await dropFactors(trx, user.id)
      await trx.deleteFrom('sign_ins').where('user_id', '=', user.id).execute()
    }
    // The owners of the account read the name: only of a person who was among its members.
    const isNamed = accountId === null || accountIds.length > 0
    await record(user.id, isNamed ? { name: user.name } : {})
    return { isUser: isAll, wasOperator, accountIds, invitations }
  })
}

/** Ends that a user is an operator, and returns whether it was one. Throws Problem `last_operator`. */
export async function endOperator(trx: Transaction<Tables>, userId: string): Promise<boolean> {
  // Locks all of them: two that are removed at the same time do not take each other for the one who stays.
  const operators = await trx
    .updateTable('users')
    .set(({ ref }) => ({ created_at_ms: ref('created_at_ms') }))
    .where('is_operator', '=', 1)
    .returning('id')
    .execute()
  if (operators.every(({ id }) => id !== userId)) return false
  if (operators.length === 1) throw new Problem('last_operator')
  await updateUser(trx, userId, { is_operator: 0 })
  return true
}

/** Returns the accounts that the user was a member of. */
async function endMemberships(
  trx: Transaction<Tables>,
  {
    userId,
    accountId,
    isAll,
  }: Pick<Removal, 'accountId'> & { readonly userId: string; readonly isAll: boolean },
): Promise<readonly string[]> {
  const rows = await trx
    .deleteFrom('members')
    .where('user_id', '=', userId)
    .$if(!isAll, (query) => query.where('account_id', '=', accountId ?? ''))
    .returning('account_id')
    .execute()
  return rows.map((row) => row.account_id)
}

/** Ends the open invitations of a person to the removed rights. Returns their number. */
export async function endInvitations(
  trx: Transaction<Tables>,
  {
    email,
    accountId,
    asOperator,
    isAll,
    nowMs,
  }: Removal & { readonly isAll: boolean; readonly nowMs: number },
): Promise<number> {
  const ended = await trx
    .updateTable('links')
    .set({ used_at_ms: nowMs })
    .where('kind', '=', 'invitation')
    .where('email', '=', email.toLowerCase())
    .where('used_at_ms', 'is', null)
    .where('expires_at_ms', '>', nowMs)
    .$if(!isAll, (query) =>
      query.where(({ eb, or }) =>
        or([
          ...(accountId === null ? [] : [eb('account_id', '=', accountId)]),
          ...(asOperator ? [eb('is_operator', '=', 1)] : []),
        ]),
      ),
    )
    .returning('id')
    .execute()
  return ended.length
}

/**
 * Ends for good the open invitations that a user sent and may no longer send: of an account that the user does not own
 * or, by `accountId`, will not own. An operator's stay, unless `asOperator` is about to end. `isAll`: all of them end.
 */
export async function endSentInvitations(
  trx: Transaction<Tables>,
  {
    userId,
    accountId = null,
    asOperator = false,
    isAll = false,
    nowMs,
  }: Partial<Omit<Removal, 'email'>> & {
    readonly userId: string
    readonly isAll?: boolean
    readonly nowMs: number
  },
): Promise<void> {
  await trx
    .updateTable('links')
    .set({ used_at_ms: nowMs })
    .where('kind', '=', 'invitation')
    .where('inviter_id', '=', userId)
    .where('used_at_ms', 'is', null)
    .$if(!isAll, (query) =>
      query.where((of) => of.or([of('account_id', '=', accountId), of.not(isOwners(of))])),
    )
    .$if(!isAll && !asOperator, (query) => query.where((of) => of.not(isOperators(of))))
    .execute()
}
