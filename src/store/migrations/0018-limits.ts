import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** Limits of accounts and keys of their own, and allowances that reset. */
export async function up(db: Kysely<Tables>): Promise<void> {
  for (const table of ['accounts', 'api_keys'] as const) {
    for (const [column, type] of COLUMNS) {
      await db.schema.alterTable(table).addColumn(column, type).execute()
    }
    await db.schema
      .alterTable(table)
      .addColumn('token_window', 'text', (column) => column.notNull().defaultTo(''))
      .execute()
  }
  await db.schema
    .alterTable('accounts')
    .addColumn('open_holds', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  await sql`update accounts set open_holds =
    (select coalesce(sum(open_holds), 0) from api_keys where api_keys.account_id = accounts.id)`.execute(
    db,
  )
  for (const column of ['counted_tokens', 'counted_in_second']) {
    await db.schema.alterTable('requests').addColumn(column, 'bigint').execute()
  }
}

const COLUMNS = [
  ['allowance_micros', 'bigint'],
  ['allowance_period', 'text'],
  ['allowance_time_zone', 'text'],
  ['requests_per_minute_max', 'bigint'],
  ['in_flight_max', 'bigint'],
  ['tokens_per_minute_max', 'bigint'],
  ['period_starts_at_ms', 'bigint'],
  ['period_ends_at_ms', 'bigint'],
  ['period_unused_from_ms', 'bigint'],
  ['period_spend_micros', 'bigint'],
  ['period_held_micros', 'bigint'],
] as const
