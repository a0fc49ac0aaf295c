import type { DatabaseSync, StatementSync } from 'node:sqlite'
import {
  ACCOUNT_COLUMNS,
  API_KEY_COLUMNS,
  ENTRY_COLUMNS,
  REDEEMED_COLUMNS,
  REQUEST_FIXED_COLUMNS,
  REQUEST_MOVING_COLUMNS,
} from './column-values.ts'

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
    redeemCode: connection.prepare(update('credit_codes', REDEEMED_COLUMNS)),
  }
}

function update(table: string, columns: readonly string[]): string {
  return `update ${table} set ${columns.map((name) => `${name} = ?`).join(', ')} where id = ?`
}

function insert(table: string, columns: readonly string[]): string {
  const places = columns.map(() => '?').join(', ')
  return `insert into ${table} (${columns.join(', ')}) values (${places})`
}
