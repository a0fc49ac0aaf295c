import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** Finds the entries that statements list one by one: all but the charges of requests. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createIndex('entries_other')
    .on('entries')
    .columns(['account_id', 'created_at_ms'])
    .where(sql<boolean>`kind <> 'charge' and kind <> 'write_off'`)
    .execute()
}
