import type { Transaction } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { hasRow } from '../store/store.ts'
import { dropFactors } from './factors/own-factors.ts'
import { endOwnLinks } from './links.ts'
import { endOtherSessions } from './sessions.ts'
import { PASSWORD_PROVIDER, type StoredPassword, setPasswordHash } from './users.ts'

/**
 * Notes that an email address was proved to be the user's, whose password is locked. The first proof puts `passwordHash` in
 * place of the password, and ends the sessions, open links and outside identities that were there: another person may have
 * made them. Second factors stay where the operator vouched for the user, because who has the mailbox may not have the phone;
 * those of a user whose address was only claimed end too. Returns whether it is the first proof.
 */
export async function proveAddress(
  trx: Transaction<Tables>,
  { userId, passwordHash, nowMs }: StoredPassword & { readonly nowMs: number },
): Promise<boolean> {
  const first = await trx
    .updateTable('users')
    .set({ email_verified: 1 })
    .where('id', '=', userId)
    .where('email_verified', '=', 0)
    .returning('vouched')
    .executeTakeFirst()
  if (first === undefined) return false
  await setPasswordHash(trx, { userId, passwordHash })
  await endOwnLinks(trx, { userId, nowMs })
  await endOtherSessions(trx, { userId, keptSessionId: null })
  await endIdentities(trx, userId)
  if (first.vouched === 0) await dropFactors(trx, userId)
  return true
}

/**
 * Notes that the operator vouches for a user, whose password is locked and was just set by a link of the operator.
 * Outside identities end that joined a user whose address was only claimed.
 */
export async function vouchAgain(trx: Transaction<Tables>, userId: string): Promise<void> {
  const claimed = trx
    .updateTable('users')
    .set({ vouched: 1 })
    .where('id', '=', userId)
    .where('vouched', '=', 0)
    .where('email_verified', '=', 0)
  if (await hasRow(claimed.returning('id'))) await endIdentities(trx, userId)
}

async function endIdentities(trx: Transaction<Tables>, userId: string): Promise<void> {
  await trx
    .deleteFrom('sign_ins')
    .where('user_id', '=', userId)
    .where('provider', '!=', PASSWORD_PROVIDER)
    .execute()
}
