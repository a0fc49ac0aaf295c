import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** The text that a key had before its last rotation, which works until a moment. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('api_keys').addColumn('previous_key_hash', 'text').execute()
  await db.schema.alterTable('api_keys').addColumn('previous_expires_at_ms', 'bigint').execute()
  await db.schema
    .createIndex('api_keys_previous_hash')
    .on('api_keys')
    .column('previous_key_hash')
    .unique()
    .where('previous_key_hash', 'is not', null)
    .execute()
}
