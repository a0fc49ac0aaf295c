import type { DatabaseSync, StatementSync } from 'node:sqlite'
import {
  ACCOUNTS,
  API_KEYS,
  CREDIT_CODES,
  ENTRIES,
  REQUESTS,
  type TABLES,
} from '../../store/schema.ts'
import type { NamedColumn } from '../../store/table.ts'

/** The statements that a batch of commands is made of; parameters are in the order of the schema. */
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
  readonly creditCodeOfId: StatementSync
  readonly writeAccount: StatementSync
  readonly writeApiKey: StatementSync
  readonly writeCreditCode: StatementSync
  readonly updateAccount: StatementSync
  readonly updateApiKey: StatementSync
  readonly insertRequest: StatementSync
  readonly updateRequest: StatementSync
  readonly insertEntry: StatementSync
  readonly redeemCode: StatementSync
}

/** Prepares the statements on the writer's connection. */
export function prepareLedgerStatements(connection: DatabaseSync): LedgerStatements {
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
    creditCodeOfId: connection.prepare('select * from credit_codes where id = ?'),
    writeAccount: connection.prepare(write(ACCOUNTS)),
    writeApiKey: connection.prepare(write(API_KEYS)),
    writeCreditCode: connection.prepare(write(CREDIT_CODES)),
    updateAccount: connection.prepare(update(ACCOUNTS)),
    updateApiKey: connection.prepare(update(API_KEYS)),
    insertRequest: connection.prepare(insert(REQUESTS)),
    updateRequest: connection.prepare(update(REQUESTS)),
    insertEntry: connection.prepare(insert(ENTRIES)),
    redeemCode: connection.prepare(update(CREDIT_CODES)),
  }
}

type Statable = Pick<(typeof TABLES)[number], 'name' | 'columns' | 'key' | 'moving'>

/** Takes a row's `changedValues`. */
function update({ name, key, moving }: Statable): string {
  const is = (column: NamedColumn): string => `${column.name} = ?`
  return `update ${name} set ${moving.map(is).join(', ')} where ${key.map(is).join(' and ')}`
}

/** Takes a row's `values`. */
function insert({ name, columns }: Statable): string {
  const places = columns.map(() => '?').join(', ')
  return `insert into ${name} (${columns.map((column) => column.name).join(', ')}) values (${places})`
}

/** Inserts a row, or updates all of it. Takes the row's `values`. */
function write(table: Statable): string {
  const others = table.columns.filter((column) => !table.key.includes(column))
  const sets = others.map(({ name }) => `${name} = excluded.${name}`)
  return `${insert(table)} on conflict (id) do update set ${sets.join(', ')}`
}
