import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** When a session last did what asks for the password of its user again. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('sessions').addColumn('guarded_at_ms', 'bigint').execute()
}
