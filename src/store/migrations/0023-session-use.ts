import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** When each session was last used, which its user sees. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('sessions').addColumn('last_used_at_ms', 'bigint').execute()
}
