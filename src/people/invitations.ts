import type { Kysely, Transaction } from 'kysely'
import { isPostgres } from '../store/is-postgres.ts'
import { LINKS, type LinkRow } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import { hasRow } from '../store/store.ts'
import { isOpen, openInvitations } from './links.ts'
import { endSentInvitations } from './removal.ts'
import { joinAccount, updateUser } from './users.ts'

/** Gives a user the rights of an invitation that was taken. No setup link works from then on. */
export async function grant(
  trx: Transaction<Tables>,
  {
    userId,
    link,
    nowMs,
  }: { readonly userId: string; readonly link: LinkRow; readonly nowMs: number },
): Promise<void> {
  const { isOperator, accountId, role, vouched } = link
  // Nor does one that is being taken at this moment.
  await claimFirstUser(trx, userId)
  if (vouched) await updateUser(trx, userId, { vouched: 1 })
  // Invitations that a former owner or operator sent meanwhile do not work again.
  await endSentInvitations(trx, { userId, nowMs })
  await endGiven(trx, { link, nowMs })
  if (isOperator) await updateUser(trx, userId, { is_operator: 1 })
  if (accountId !== null && role !== null) {
    await joinAccount(trx, { userId, accountId, role, nowMs })
  }
}

/** Ends the other open invitations of a person that give nothing more than the one that was taken. */
async function endGiven(
  trx: Transaction<Tables>,
  {
    link: { email, isOperator, accountId, role, vouched },
    nowMs,
  }: { readonly link: LinkRow; readonly nowMs: number },
): Promise<void> {
  const given = trx
    .selectFrom('links')
    .select('id')
    .where('kind', '=', 'invitation')
    .where('email', '=', email)
    .where('used_at_ms', 'is', null)
    .where(({ or, eb }) => or([eb('account_id', 'is', null), eb('account_id', '=', accountId)]))
    .$if(role === 'member', (query) =>
      query.where(({ or, eb }) => or([eb('role', 'is', null), eb('role', '=', 'member')])),
    )
    .$if(!isOperator, (query) => query.where('is_operator', '=', 0))
    .$if(!vouched, (query) => query.where('vouched', '=', 0))
    // Two that are taken at the same time do not wait for each other.
    .$if(isPostgres(trx), (query) => query.forUpdate().skipLocked())
  await trx.updateTable('links').set({ used_at_ms: nowMs }).where('id', 'in', given).execute()
}

/** Whether an address has an open invitation. */
export function hasOpenInvitation(
  db: Kysely<Tables>,
  { email, nowMs }: { readonly email: string; readonly nowMs: number },
): Promise<boolean> {
  const open = openInvitations(db, { nowMs }).select('id')
  return hasRow(open.where('email', '=', email.toLowerCase()))
}

/** Takes all open invitations of an address that was proved; null: of none. */
export async function takeOpenInvitations(
  trx: Transaction<Tables>,
  { email, nowMs }: { readonly email: string | null; readonly nowMs: number },
): Promise<readonly LinkRow[]> {
  if (email === null) return []
  return LINKS.readAll(
    trx
      .updateTable('links')
      .set({ used_at_ms: nowMs })
      .where('kind', '=', 'invitation')
      .where('email', '=', email)
      .where(isOpen(nowMs))
      .returningAll(),
  )
}

/**
 * Links that make the first user can be taken at the same time, through two processes. The second insert waits for
 * the first transaction and then inserts nothing: false.
 */
export function claimFirstUser(trx: Transaction<Tables>, userId: string): Promise<boolean> {
  const claimed = trx
    .insertInto('settings')
    .values({ name: 'first_user', value: userId })
    .onConflict((conflict) => conflict.column('name').doNothing())
  return hasRow(claimed.returning('name'))
}
