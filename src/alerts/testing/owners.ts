import type { Kysely } from 'kysely'
import { MEMBERS, USERS } from '../../store/people-tables.ts'
import type { Tables } from '../../store/schema.ts'

/** Adds an owner of `acct_1` who has proved the address `<id>@example.org`. */
export async function addOwner(
  db: Kysely<Tables>,
  id: string,
  settings: Partial<(typeof USERS)['start']> = {},
): Promise<void> {
  const user = { ...USERS.start, id, name: id, email: `${id}@example.org`, emailVerified: true }
  await db
    .insertInto('users')
    .values(USERS.record({ ...user, createdAtMs: 0, ...settings }))
    .execute()
  const member = { accountId: 'acct_1', userId: id, role: 'owner', createdAtMs: 0 } as const
  await db.insertInto('members').values(MEMBERS.record(member)).execute()
}

/** The alerts that wait to be emailed, in the order in which they were noted. */
export async function waitingLetters(db: Kysely<Tables>): Promise<readonly object[]> {
  const rows = await db
    .selectFrom('alert_letters')
    .select(['user_id', 'about_json'])
    .orderBy('id')
    .execute()
  return rows.map((row) => ({ userId: row.user_id, ...JSON.parse(row.about_json) }))
}
