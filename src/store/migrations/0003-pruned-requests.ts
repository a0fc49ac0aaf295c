import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** What the requests that were pruned from Activity came to, so that the books stay checkable. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('pruned_requests')
    .addColumn('api_key_id', 'text', (column) =>
      column.primaryKey().notNull().references('api_keys.id'),
    )
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('requests', 'bigint', (column) => column.notNull())
    .addColumn('backed_charge_micros', 'bigint', (column) => column.notNull())
    .addColumn('free_charge_micros', 'bigint', (column) => column.notNull())
    .addColumn('written_off_micros', 'bigint', (column) => column.notNull())
    .addColumn('latest_settled_at_ms', 'bigint', (column) => column.notNull())
    .execute()
}
