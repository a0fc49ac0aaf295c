import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** What a shop that sells access notes on its accounts and keys. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('accounts').addColumn('external_id', 'text').execute()
  await db.schema.alterTable('accounts').addColumn('metadata_json', 'text').execute()
  await db.schema.alterTable('api_keys').addColumn('metadata_json', 'text').execute()
  await db.schema
    .createIndex('accounts_external_id')
    .on('accounts')
    .column('external_id')
    .unique()
    .execute()
}
