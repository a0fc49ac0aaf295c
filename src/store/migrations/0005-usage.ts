import {
  type ColumnDataType,
  type CreateTableBuilder,
  type Kysely,
  PostgresAdapter,
  sql,
} from 'kysely'
import type { Tables } from '../schema.ts'

// How many columns count first-byte times.
const WAITS = 24

// On a day on which nothing can have been: what was pruned before there were roll-ups.
const BEFORE_DAY = -1

/** What the requests of each hour and day came to, and which hours and days are whole. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await createUsage(db, 'usage_hours', ['hour', 'account_id', 'model_id', 'endpoint'])
  await createUsage(db, 'usage_days', ['day', 'account_id', 'api_key_id', 'model_id', 'endpoint'])
  await db.schema
    .createTable('usage_rolled')
    .addColumn('step', 'text', (column) => column.notNull())
    .addColumn('number', 'bigint', (column) => column.notNull())
    .addColumn('requests', 'bigint', (column) => column.notNull())
    .addColumn('rolled_at_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('usage_rolled_pkey', ['step', 'number'])
    .execute()
  await keepPruned(db)
}

/** By position: the name of the table, then its key, which begins with a number. */
async function createUsage(
  db: Kysely<Tables>,
  table: string,
  keyColumns: readonly string[],
): Promise<void> {
  let built: CreateTableBuilder<string, string> = db.schema.createTable(table)
  for (const [place, name] of keyColumns.entries()) {
    built = built.addColumn(name, place === 0 ? 'bigint' : 'text', (column) => column.notNull())
  }
  built = built.addColumn('requests', 'bigint', (column) => column.notNull())
  const waits = Array.from(
    { length: WAITS },
    (_, place) => `wait_${String(place).padStart(2, '0')}`,
  )
  const sums: readonly (readonly [string, ColumnDataType])[] = [
    ['failed', 'bigint'],
    ['backed_charge_micros', 'bigint'],
    ['free_charge_micros', 'bigint'],
    ['written_off_micros', 'bigint'],
    ['input_tokens', 'bigint'],
    ['cache_read_tokens', 'bigint'],
    ['cache_write_tokens', 'bigint'],
    ['cache_write_long_tokens', 'bigint'],
    ['output_tokens', 'bigint'],
    ['reasoning_tokens', 'bigint'],
    ['image_output_tokens', 'bigint'],
    ['searches', 'bigint'],
    ...waits.map((name) => [name, 'integer'] as const),
  ]
  for (const [name, type] of sums) {
    built = built.addColumn(name, type, (column) => column.notNull().defaultTo(0))
  }
  // Rows are read by their key alone, and the key is most of a row: SQLite keeps it once.
  if (!isPostgres(db)) built = built.modifyEnd(sql`without rowid`)
  await built.addPrimaryKeyConstraint(`${table}_pkey`, [...keyColumns]).execute()
}

/** Their charges are in entries, so that the sums of roll-ups and of entries stay equal. */
async function keepPruned(db: Kysely<Tables>): Promise<void> {
  const charges = sql.raw('requests, backed_charge_micros, free_charge_micros, written_off_micros')
  await sql`
    insert into usage_days (day, account_id, api_key_id, model_id, endpoint, ${charges})
    select ${sql.lit(BEFORE_DAY)}, account_id, api_key_id, '', '', ${charges}
    from pruned_requests`.execute(db)
  await sql`
    insert into usage_rolled (step, number, requests, rolled_at_ms)
    select 'day', ${sql.lit(BEFORE_DAY)}, sum(requests), 0
    from pruned_requests having sum(requests) > 0`.execute(db)
}

function isPostgres(db: Kysely<Tables>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter
}
