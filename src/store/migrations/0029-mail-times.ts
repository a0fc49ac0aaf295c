import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** When the last email went to an address. Counts of an earlier version begin again. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('mail_rates').addColumn('last_at_ms', 'bigint').execute()
  await db.deleteFrom('mail_rates').execute()
}
