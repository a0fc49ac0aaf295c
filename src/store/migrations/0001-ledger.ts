import { type CreateTableBuilder, type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** Accounts, API keys, requests and entries, and what the gateway keeps beside them. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await createAccounts(db)
  await createRequests(db)
  await createEntries(db)
  await createCatalog(db)
  await db.schema
    .createTable('instances')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('started_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('heartbeat_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('stopped_at_ms', 'bigint')
    .execute()
  await db.schema
    .createTable('settings')
    .addColumn('name', 'text', (column) => column.primaryKey().notNull())
    .addColumn('value', 'text', (column) => column.notNull())
    .execute()
}

async function createAccounts(db: Kysely<Tables>): Promise<void> {
  const accounts = db.schema
    .createTable('accounts')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('email', 'text')
    .addColumn('disabled', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('free_expires_at_ms', 'bigint')
    .addColumn('has_backed_credit', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('request_window', 'text', (column) => column.notNull().defaultTo(''))
    .addColumn('entry_count', 'bigint', (column) => column.notNull().defaultTo(0))
  await withAmounts(accounts, [
    'backed_balance_micros',
    'backed_held_micros',
    'free_balance_micros',
    'free_held_micros',
  ])
    // The last guard of the promise: no rule, whatever its bug, spends free credit that is not there.
    .addCheckConstraint(
      'accounts_held',
      sql`backed_held_micros >= 0 and free_held_micros >= 0 and free_balance_micros >= free_held_micros`,
    )
    .execute()

  const apiKeys = db.schema
    .createTable('api_keys')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('key_hash', 'text', (column) => column.notNull().unique())
    .addColumn('display_prefix', 'text', (column) => column.notNull())
    .addColumn('disabled', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('deleted_at_ms', 'bigint')
    .addColumn('expires_at_ms', 'bigint')
    .addColumn('credit_limit_micros', 'bigint')
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('open_holds', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('request_window', 'text', (column) => column.notNull().defaultTo(''))
  await withAmounts(apiKeys, ['spend_micros', 'held_micros'])
    .addCheckConstraint('api_keys_held', sql`held_micros >= 0 and open_holds >= 0`)
    .execute()
  await createIndex(db, 'api_keys', ['account_id', 'id'])
}

async function createRequests(db: Kysely<Tables>): Promise<void> {
  const requests = db.schema
    .createTable('requests')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('api_key_id', 'text', (column) => column.notNull().references('api_keys.id'))
    .addColumn('instance_id', 'text', (column) => column.notNull())
    .addColumn('endpoint', 'text', (column) => column.notNull())
    .addColumn('model_id', 'text', (column) => column.notNull())
    .addColumn('stream', 'integer', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('swept', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('cost_usd', 'text')
    .addColumn('late_cost_usd', 'text')
    .addColumn('late_reports', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('price_snapshot_id', 'text', (column) => column.notNull())
    .addColumn('http_status', 'integer')
    .addColumn('error_code', 'text')
    .addColumn('generation_id', 'text')
    .addColumn('input_tokens', 'bigint')
    .addColumn('cache_read_tokens', 'bigint')
    .addColumn('cache_write_tokens', 'bigint')
    .addColumn('cache_write_long_tokens', 'bigint')
    .addColumn('output_tokens', 'bigint')
    .addColumn('reasoning_tokens', 'bigint')
    .addColumn('image_output_tokens', 'bigint')
    .addColumn('searches', 'bigint')
    .addColumn('opened_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('first_byte_at_ms', 'bigint')
    .addColumn('ended_at_ms', 'bigint')
    .addColumn('settled_at_ms', 'bigint')
  await withAmounts(requests, [
    'backed_granted_micros',
    'free_granted_micros',
    'backed_held_micros',
    'free_held_micros',
    'backed_charge_micros',
    'free_charge_micros',
    'written_off_micros',
  ]).execute()
  await createIndex(db, 'requests', ['account_id', 'id'])
  await createIndex(db, 'requests', ['api_key_id', 'id'])
  // Few requests are unsettled at a time: the index stays small however long Activity grows.
  await db.schema
    .createIndex('requests_unsettled')
    .on('requests')
    .columns(['state', 'instance_id', 'id'])
    // SQLite sees that `state = 'open'` is within an OR of states, but not that it is within an IN.
    .where(({ eb, or }) =>
      or([
        eb('state', '=', 'open'),
        eb('state', '=', 'provisional'),
        eb('state', '=', 'unresolved'),
      ]),
    )
    .execute()
}

async function createEntries(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('entries')
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('number', 'bigint', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('purse', 'text', (column) => column.notNull())
    .addColumn('amount_micros', 'bigint', (column) => column.notNull())
    .addColumn('reference', 'text')
    .addColumn('request_id', 'text')
    .addColumn('api_key_id', 'text')
    .addColumn('expires_at_ms', 'bigint')
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('entries_pkey', ['account_id', 'number'])
    .execute()
  await db.schema
    .createIndex('entries_reference')
    .unique()
    .on('entries')
    .columns(['account_id', 'reference'])
    .where('reference', 'is not', null)
    .execute()
  await db.schema
    .createIndex('entries_request')
    .on('entries')
    .column('request_id')
    .where('request_id', 'is not', null)
    .execute()
}

async function createCatalog(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('price_snapshots')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('model_id', 'text', (column) => column.notNull())
    .addColumn('prices_json', 'text', (column) => column.notNull())
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('catalog_models')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('item_json', 'text', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('catalog_state')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('refreshed_at_ms', 'bigint', (column) => column.notNull())
    .execute()
}

/** Adds columns of micro-dollars that start at zero. */
function withAmounts<T extends CreateTableBuilder<string, string>>(
  table: T,
  columns: readonly string[],
): CreateTableBuilder<string, string> {
  let built: CreateTableBuilder<string, string> = table
  for (const name of columns) {
    built = built.addColumn(name, 'bigint', (column) => column.notNull().defaultTo(0))
  }
  return built
}

async function createIndex(
  db: Kysely<Tables>,
  table: string,
  columns: readonly string[],
): Promise<void> {
  await db.schema
    .createIndex(`${table}_${columns.join('_')}`)
    .on(table)
    .columns([...columns])
    .execute()
}
