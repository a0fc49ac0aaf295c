import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** Since when an account is suspended, and what its members are shown of the reason. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('accounts').addColumn('disabled_at_ms', 'bigint').execute()
  await db.schema.alterTable('accounts').addColumn('disabled_note', 'text').execute()
}
