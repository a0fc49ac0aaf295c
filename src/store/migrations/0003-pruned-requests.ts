import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** The sums of the requests that were pruned from Activity, so that the audit can still check them. */
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
