import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** Finds refunds and disputes without a search of all entries and purchases: the newest of all accounts, and by purchase. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await sql`create index entries_reversals on entries (created_at_ms) where kind = 'reversal'`.execute(
    db,
  )
  await sql`
    create index purchases_reversed on purchases (account_id, id)
      where reversed_micros > 0 or disputed = 1`.execute(db)
}
