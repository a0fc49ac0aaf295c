import type { Kysely } from 'kysely'
import { ENTRIES, type Entry, type Tables } from '../../store/schema.ts'

/** All entries of an account, oldest first. */
export async function entriesOf(db: Kysely<Tables>, accountId: string): Promise<readonly Entry[]> {
  const query = db.selectFrom('entries').selectAll().where('account_id', '=', accountId)
  return (await query.orderBy('number').execute()).map((row) => ENTRIES.read(row))
}
