import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** When an account was suspended, and the reason that its members see. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('accounts').addColumn('disabled_at_ms', 'bigint').execute()
  await db.schema.alterTable('accounts').addColumn('disabled_note', 'text').execute()
}
