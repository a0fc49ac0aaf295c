import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** Which commits of an instance the store has, and times at which some were lost. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('commit_marks')
    .addColumn('instance_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('commits', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('store_gaps')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('instance_id', 'text', (column) => column.notNull())
    .addColumn('found_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('from_ms', 'bigint', (column) => column.notNull())
    .addColumn('until_ms', 'bigint', (column) => column.notNull())
    .addColumn('commits', 'bigint', (column) => column.notNull())
    .addColumn('requests', 'bigint', (column) => column.notNull())
    .addColumn('charge_micros', 'bigint', (column) => column.notNull())
    .addColumn('commands', 'bigint', (column) => column.notNull())
    .addColumn('lost', 'bigint', (column) => column.notNull())
    .execute()
}
