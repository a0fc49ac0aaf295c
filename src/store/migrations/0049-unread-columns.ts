import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** Drops columns of earlier sign-ins that nothing reads. */
export async function up(db: Kysely<Tables>): Promise<void> {
  for (const table of ['users', 'sign_ins', 'sessions', 'verifications']) {
    await db.schema.alterTable(table).dropColumn('updated_at_ms').execute()
  }
  await db.schema.alterTable('verifications').dropColumn('value').execute()
}
