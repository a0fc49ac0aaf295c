import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** Reported costs that stand without a look-up, and where they are in doubt. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .alterTable('requests')
    .addColumn('cost_stands', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  // Those that stand wait for minutes, in numbers: searches for what waits for its cost leave them out.
  await db.schema.dropIndex('requests_unsettled').execute()
  await db.schema
    .createIndex('requests_unsettled')
    .on('requests')
    .columns(['state', 'instance_id', 'id'])
    .where(
      sql<boolean>`cost_stands = 0 and (state = 'open' or state = 'provisional' or state = 'unresolved')`,
    )
    .execute()
  await db.schema
    .createIndex('requests_standing')
    .on('requests')
    .column('id')
    .where(sql<boolean>`cost_stands = 1 and state = 'provisional'`)
    .execute()
  await db.schema
    .createTable('lookup_doubts')
    .addColumn('upstream', 'text', (column) => column.notNull())
    .addColumn('model_id', 'text', (column) => column.notNull())
    .addColumn('endpoint', 'text', (column) => column.notNull())
    .addColumn('stream', 'integer', (column) => column.notNull())
    .addColumn('differences', 'bigint', (column) => column.notNull())
    .addColumn('opened_at_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('lookup_doubts_pkey', ['upstream', 'model_id', 'endpoint', 'stream'])
    .execute()
}
