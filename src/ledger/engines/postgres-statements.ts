import {
  ACCOUNT_COLUMNS,
  API_KEY_COLUMNS,
  ENTRY_COLUMNS,
  REDEEMED_COLUMNS,
  REQUEST_FIXED_COLUMNS,
  REQUEST_MOVING_COLUMNS,
} from './column-values.ts'

/** A statement that a connection plans once and runs by its name. */
export interface PlannedStatement {
  readonly name: string
  readonly text: string
}

// The account and the key of a request never change, so they are known before anything is locked. Every
// change to the books of an account happens under the lock on its row: requests and entries, which are
// read after it, need none of their own. In the order of ids, so that two batches never wait for each
// other; not FOR UPDATE, so that rows which refer to an account can be inserted meanwhile.

/** $1: ids of accounts; $2: ids of requests. Locks the accounts of both, and reads them. */
export const LOCK_ACCOUNTS: PlannedStatement = {
  name: 'lock_accounts',
  text: `select * from accounts
    where id = any(array(
      select unnest($1::text[]) union select account_id from requests where id = any($2::text[])))
    order by id for no key update`,
}

/** $1: ids of keys; $2: ids of requests. Locks the keys of both, and reads them. */
export const LOCK_API_KEYS: PlannedStatement = {
  name: 'lock_api_keys',
  text: `select * from api_keys
    where id = any(array(
      select unnest($1::text[]) union select api_key_id from requests where id = any($2::text[])))
    order by id for no key update`,
}

/** $1: ids of requests. */
export const READ_REQUESTS: PlannedStatement = {
  name: 'read_requests',
  text: 'select * from requests where id = any($1::text[])',
}

/** $1: ids of accounts; $2: a reference for each. */
export const READ_CREDITS: PlannedStatement = {
  name: 'read_credits',
  text: `select entries.* from unnest($1::text[], $2::text[]) as place (account_id, reference)
    join entries on entries.account_id = place.account_id and entries.reference = place.reference`,
}

/** $1: hashes of codes. Locks the codes, which belong to no account until one has them, and reads them. */
export const LOCK_CREDIT_CODES: PlannedStatement = {
  name: 'lock_credit_codes',
  text: `select * from credit_codes where code_hash = any($1::text[])
    order by id for no key update`,
}

/** $1: ids of accounts; $2: the hash of a code for each. */
export const READ_CODE_CREDITS: PlannedStatement = {
  name: 'read_code_credits',
  text: `select entries.* from unnest($1::text[], $2::text[]) as place (account_id, code_hash)
    join credit_codes on credit_codes.code_hash = place.code_hash
    join entries on entries.account_id = place.account_id and entries.reference = credit_codes.id`,
}

/** The database's time, to be asked once the rows are locked: never earlier than what is in them. */
export const READ_TIME: PlannedStatement = {
  name: 'read_time',
  text: 'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms',
}

/** $1: an instance; $2: how many. Requests of it that were open a moment ago. */
export const READ_OPEN_REQUEST_IDS: PlannedStatement = {
  name: 'read_open_request_ids',
  text: "select id from requests where state = 'open' and instance_id = $1 order by id limit $2",
}

/**
 * Saves what a batch has changed, each table's rows as a JSON array of objects. $1: accounts, $2: keys,
 * $3: requests to insert, $4: requests to update, $5: entries.
 */
export const SAVE: PlannedStatement = {
  name: 'save',
  text: `with
    saved_accounts as (${update('accounts', { columns: ACCOUNT_COLUMNS, parameter: '$1' })}),
    saved_api_keys as (${update('api_keys', { columns: API_KEY_COLUMNS, parameter: '$2' })}),
    opened_requests as (${insert('requests', {
      columns: [...REQUEST_FIXED_COLUMNS, ...REQUEST_MOVING_COLUMNS],
      parameter: '$3',
    })}),
    saved_requests as (${update('requests', { columns: REQUEST_MOVING_COLUMNS, parameter: '$4' })})
    ${insert('entries', { columns: ENTRY_COLUMNS, parameter: '$5' })}`,
}

/** $1: the codes that a batch has given to accounts, as a JSON array of objects. */
export const SAVE_CREDIT_CODES: PlannedStatement = {
  name: 'save_credit_codes',
  text: update('credit_codes', { columns: REDEEMED_COLUMNS, parameter: '$1' }),
}

interface Rows {
  readonly columns: readonly string[]
  readonly parameter: string
}

function update(table: string, { columns, parameter }: Rows): string {
  return `update ${table} set ${columns.map((name) => `${name} = changed.${name}`).join(', ')}
    from json_populate_recordset(null::${table}, ${parameter}::text::json) as changed
    where ${table}.id = changed.id`
}

function insert(table: string, { columns, parameter }: Rows): string {
  return `insert into ${table} (${columns.join(', ')}) select ${columns.join(', ')}
    from json_populate_recordset(null::${table}, ${parameter}::text::json)`
}
