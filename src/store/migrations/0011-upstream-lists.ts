import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** A list of models for each upstream. Until now there was one, of the upstream that requests name too. */
export async function up(db: Kysely<Tables>): Promise<void> {
  const { schema } = db
  await sql`create table catalog_kept as select id, item_json from catalog_models`.execute(db)
  await sql`create table catalog_state_kept as select source, refreshed_at_ms from catalog_state`.execute(
    db,
  )
  await schema.dropTable('catalog_models').execute()
  await schema.dropTable('catalog_state').execute()
  await schema
    .createTable('catalog_models')
    .addColumn('upstream', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('item_json', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('catalog_models_pkey', ['upstream', 'id'])
    .execute()
  await schema
    .createTable('catalog_state')
    .addColumn('upstream', 'text', (column) => column.primaryKey().notNull())
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('place', 'bigint', (column) => column.notNull())
    .addColumn('refreshed_at_ms', 'bigint', (column) => column.notNull())
    .execute()
  await sql`insert into catalog_models (upstream, id, item_json)
    select 'openrouter', id, item_json from catalog_kept`.execute(db)
  await sql`insert into catalog_state (upstream, source, place, refreshed_at_ms)
    select 'openrouter', source, 0, refreshed_at_ms from catalog_state_kept`.execute(db)
  await schema.dropTable('catalog_kept').execute()
  await schema.dropTable('catalog_state_kept').execute()
}
