import type { DatabaseSync, StatementSync } from 'node:sqlite'

const ACCOUNT_COLUMNS = [
  'backed_balance_micros',
  'backed_held_micros',
  'free_balance_micros',
  'free_held_micros',
  'free_expires_at_ms',
  'has_backed_credit',
  'request_window',
  'entry_count',
]

const API_KEY_COLUMNS = ['spend_micros', 'held_micros', 'open_holds', 'request_window']

// Set when the hold opens, and never after.
const REQUEST_FIXED_COLUMNS = [
  'id',
  'account_id',
  'api_key_id',
  'instance_id',
  'endpoint',
  'model_id',
  'stream',
  'backed_granted_micros',
  'free_granted_micros',
  'price_snapshot_id',
  'opened_at_ms',
]

const REQUEST_MOVING_COLUMNS = [
  'state',
  'swept',
  'backed_held_micros',
  'free_held_micros',
  'backed_charge_micros',
  'free_charge_micros',
  'written_off_micros',
  'cost_usd',
  'late_cost_usd',
  'late_reports',
  'http_status',
  'error_code',
  'generation_id',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'cache_write_long_tokens',
  'output_tokens',
  'reasoning_tokens',
  'image_output_tokens',
  'searches',
  'first_byte_at_ms',
  'ended_at_ms',
  'settled_at_ms',
]

const ENTRY_COLUMNS = [
  'account_id',
  'number',
  'kind',
  'purse',
  'amount_micros',
  'reference',
  'request_id',
  'api_key_id',
  'expires_at_ms',
  'created_at_ms',
]

/** The statements that a batch of commands is made of; parameters are in the order of the columns. */
export interface LedgerStatements {
  readonly begin: StatementSync
  readonly commit: StatementSync
  readonly othersVersion: StatementSync
  readonly account: StatementSync
  readonly apiKey: StatementSync
  readonly request: StatementSync
  readonly openRequestIds: StatementSync
  readonly credit: StatementSync
  readonly creditCode: StatementSync
  readonly updateAccount: StatementSync
  readonly updateApiKey: StatementSync
  readonly insertRequest: StatementSync
  readonly updateRequest: StatementSync
  readonly insertEntry: StatementSync
  readonly redeemCode: StatementSync
}

/** Prepares the statements on the writer's connection. */
export function prepareLedgerStatements(connection: DatabaseSync): LedgerStatements {
  const requestColumns = [...REQUEST_FIXED_COLUMNS, ...REQUEST_MOVING_COLUMNS]
  return {
    begin: connection.prepare('begin immediate'),
    commit: connection.prepare('commit'),
    othersVersion: connection.prepare('pragma data_version'),
    account: connection.prepare('select * from accounts where id = ?'),
    apiKey: connection.prepare('select * from api_keys where id = ?'),
    request: connection.prepare('select * from requests where id = ?'),
    openRequestIds: connection.prepare(
      "select id from requests where state = 'open' and instance_id = ?",
    ),
    credit: connection.prepare('select * from entries where account_id = ? and reference = ?'),
    creditCode: connection.prepare('select * from credit_codes where code_hash = ?'),
    updateAccount: connection.prepare(update('accounts', ACCOUNT_COLUMNS)),
    updateApiKey: connection.prepare(update('api_keys', API_KEY_COLUMNS)),
    insertRequest: connection.prepare(insert('requests', requestColumns)),
    updateRequest: connection.prepare(update('requests', REQUEST_MOVING_COLUMNS)),
    insertEntry: connection.prepare(insert('entries', ENTRY_COLUMNS)),
    redeemCode: connection.prepare(update('credit_codes', ['redeemed_at_ms', 'redeemed_by'])),
  }
}

function update(table: string, columns: readonly string[]): string {
  return `update ${table} set ${columns.map((name) => `${name} = ?`).join(', ')} where id = ?`
}

function insert(table: string, columns: readonly string[]): string {
  const places = columns.map(() => '?').join(', ')
  return `insert into ${table} (${columns.join(', ')}) values (${places})`
}
