import type { Kysely } from 'kysely'
import type { Tables } from '../store/schema.ts'

/** The owners of an account who want emails of alerts, without those whose address is only claimed: another person may own it. */
export function mailedOwners(db: Kysely<Tables>, accountId: string) {
  return db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .where('members.account_id', '=', accountId)
    .where('members.role', '=', 'owner')
    .where('users.alert_mails', '=', 1)
    .where(({ or, eb }) => or([eb('users.email_verified', '=', 1), eb('users.vouched', '=', 1)]))
}
