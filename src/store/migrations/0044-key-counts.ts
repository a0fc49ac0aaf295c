import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** Indexes by which the keys of an account are counted: those that are not deleted, and those of the last day. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await sql`create index api_keys_present on api_keys (account_id) where deleted_at_ms is null`.execute(
    db,
  )
  await sql`create index api_keys_created on api_keys (account_id, created_at_ms)`.execute(db)
}
