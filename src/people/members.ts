import type { Transaction } from 'kysely'
import { type OperatorAction, recordAction } from '../ledger/operator-actions.ts'
import { LINKS, type LinkRow } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import { type DbWithClock, hasRow } from '../store/store.ts'
import { Problem } from '../vocabulary/problem.ts'
import type { Role } from '../vocabulary/role.ts'
import { type InvitationFilter, openInvitations } from './links.ts'
import { endInvitations, endSentInvitations } from './removal.ts'

/** The new role of a member of an account. */
interface MemberChange {
  readonly accountId: string
  readonly userId: string
  /** Null: the membership ends. Open invitations of the person to the account end then too, as do those that an owner sent. */
  readonly role: Role | null
  /** The owner who changes it; null: an operator or an admin does, or a member leaves. */
  readonly ownerId: string | null
}

/**
 * Gives a member of an account another role, or ends the membership. False: there is no such member. Throws Problem
 * `last_owner` rather than take the last owner from an account, and `owner_required` if `ownerId` is no longer an
 * owner; nothing changes then. `by`: who is recorded as having changed it; null: it is not recorded.
 */
export function changeMember(
  { db, clock }: DbWithClock,
  { accountId, userId, role, ownerId }: MemberChange,
  by: OperatorAction | null,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const nowMs = clock.nowMs()
    const user = await trx
      .selectFrom('members')
      .innerJoin('users', 'users.id', 'members.user_id')
      .select(['users.name', 'users.email', 'members.role'])
      .where('members.account_id', '=', accountId)
      .where('members.user_id', '=', userId)
      .executeTakeFirst()
    if (user === undefined) return false
    // Invitations before the members, as where one is accepted, so that the two never wait for each other.
    if (role !== user.role) await endSentInvitations(trx, { userId, accountId, nowMs })
    if (role === null) {
      const { email } = user
      await endInvitations(trx, { email, accountId, asOperator: false, isAll: false, nowMs })
    }
    const owners = await lockOwners(trx, accountId)
    const isOwner = (id: string) => owners.some((owner) => owner.id === id)
    if (ownerId !== null && !isOwner(ownerId)) throw new Problem('owner_required')
    if (isOwner(userId) && role !== 'owner' && owners.length === 1) throw new Problem('last_owner')
    if (!(await setRole(trx, { accountId, userId, role }))) return false
    if (role === user.role) return true
    const detail = { name: user.name, role }
    const before = { role: user.role }
    await recordAction(trx, { by, accountId, targetId: userId, detail, before, nowMs })
    return true
  })
}

/**
 * Locks all owners of an account: two that leave at the same time do not take each other for the one who stays. Returns
 * the IDs of the users, and when each became a member.
 */
export function lockOwners(trx: Transaction<Tables>, accountId: string) {
  return trx
    .updateTable('members')
    .set({ role: 'owner' })
    .where('account_id', '=', accountId)
    .where('role', '=', 'owner')
    .returning(['user_id as id', 'created_at_ms'])
    .execute()
}

/** False: there is no such member. */
function setRole(
  trx: Transaction<Tables>,
  { accountId, userId, role }: Pick<MemberChange, 'accountId' | 'userId' | 'role'>,
): Promise<boolean> {
  const member = { account_id: accountId, user_id: userId }
  if (role === null) {
    const ended = trx.deleteFrom('members').where(({ and }) => and(member))
    return hasRow(ended.returning('user_id'))
  }
  const changed = trx.updateTable('members').set({ role })
  return hasRow(changed.where(({ and }) => and(member)).returning('user_id'))
}

/** The invitations that can still be accepted, newest first. */
export async function listInvitations(
  { db, clock }: DbWithClock,
  filter: InvitationFilter,
): Promise<readonly LinkRow[]> {
  const open = openInvitations(db, { ...filter, nowMs: clock.nowMs() })
  return LINKS.readAll(open.selectAll().orderBy('id', 'desc'))
}

/**
 * Ends an invitation; `accountId`: only one to this account, null: any. False: there is none, or it was accepted or has
 * expired.
 */
export function withdrawInvitation(
  { db, clock }: DbWithClock,
  { accountId, invitationId }: { readonly accountId: string | null; readonly invitationId: string },
  by: OperatorAction | null,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const nowMs = clock.nowMs()
    const ended = await trx
      .updateTable('links')
      .set({ used_at_ms: nowMs })
      .where('id', '=', invitationId)
      .where('kind', '=', 'invitation')
      .$if(accountId !== null, (query) => query.where('account_id', '=', accountId))
      .where('used_at_ms', 'is', null)
      .where('expires_at_ms', '>', nowMs)
      .returning(['email', 'account_id'])
      .executeTakeFirst()
    if (ended === undefined) return false
    const detail = { email: ended.email }
    const of = { accountId: ended.account_id, targetId: invitationId }
    await recordAction(trx, { by, ...of, detail, nowMs })
    return true
  })
}
