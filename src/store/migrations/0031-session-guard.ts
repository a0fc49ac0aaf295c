import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** When a session last made a change that needs a recent password. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('sessions').addColumn('guarded_at_ms', 'bigint').execute()
}
