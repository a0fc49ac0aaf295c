import { MEMBERS, OPERATOR_ACTIONS } from '../../store/people-tables.ts'
import { PURCHASES } from '../../store/sale-tables.ts'
import {
  ACCOUNTS,
  API_KEYS,
  CREDIT_CODES,
  ENTRIES,
  REQUESTS,
  type TABLES,
} from '../../store/schema.ts'
import { RAISE_CALLERS_VERSION } from '../../store/settings.ts'
import { periodCountText } from './period-count.ts'

/** A statement that a connection plans once and runs by its name. */
export interface PlannedStatement {
  readonly name: string
  readonly text: string
}

// The account and the key of a request never change, so they are known before anything is locked. Every
// change to an account's rows happens under the lock on its row: requests and entries, which are
// read after it, need none of their own. In the order of ids, so that two batches never wait for each
// other; not FOR UPDATE, so that rows which refer to an account can be inserted meanwhile.

/** $1: ids of accounts. Locks and reads them. */
export const LOCK_ACCOUNTS: PlannedStatement = {
  name: 'lock_accounts',
  text: `select ${namesOf(ACCOUNTS)} from accounts where id = any($1::text[])
    order by id for no key update`,
}

/** $1: ids of accounts; $2: ids of requests. Locks the accounts of both, and reads them. */
export const LOCK_ACCOUNTS_OF: PlannedStatement = {
  name: 'lock_accounts_of',
  text: `select ${namesOf(ACCOUNTS)} from accounts
    where id = any(array(
      select unnest($1::text[]) union select account_id from requests where id = any($2::text[])))
    order by id for no key update`,
}

/** $1: external ids. Locks nothing: the index decides between two that give one away at a time. */
export const READ_EXTERNAL_ACCOUNTS: PlannedStatement = {
  name: 'read_external_accounts',
  text: `select ${namesOf(ACCOUNTS)} from accounts where external_id = any($1::text[])`,
}

/** $1: ids of keys. Locks and reads them. */
export const LOCK_API_KEYS: PlannedStatement = {
  name: 'lock_api_keys',
  text: `select ${namesOf(API_KEYS)} from api_keys where id = any($1::text[])
    order by id for no key update`,
}

/** $1: ids of keys; $2: ids of requests. Locks the keys of both, and reads them. */
export const LOCK_API_KEYS_OF: PlannedStatement = {
  name: 'lock_api_keys_of',
  text: `select ${namesOf(API_KEYS)} from api_keys
    where id = any(array(
      select unnest($1::text[]) union select api_key_id from requests where id = any($2::text[])))
    order by id for no key update`,
}

/** $1: ids of requests. */
export const READ_REQUESTS: PlannedStatement = {
  name: 'read_requests',
  text: `select ${namesOf(REQUESTS)} from requests where id = any($1::text[])`,
}

/** $1: ids of accounts; $2: a reference for each. */
export const READ_CREDITS: PlannedStatement = {
  name: 'read_credits',
  text: `select ${namesOf(ENTRIES)} from unnest($1::text[], $2::text[]) as place (account_id, reference)
    join entries on entries.account_id = place.account_id and entries.reference = place.reference`,
}

/** $1: hashes of codes; $2: ids of codes. Locks the codes themselves, which have no account before they are redeemed. */
export const LOCK_CREDIT_CODES: PlannedStatement = {
  name: 'lock_credit_codes',
  text: `select ${namesOf(CREDIT_CODES)} from credit_codes where code_hash = any($1::text[]) or id = any($2::text[])
    order by id for no key update`,
}

/** $1: ids of accounts; $2: the hash of a code for each. */
export const READ_CODE_CREDITS: PlannedStatement = {
  name: 'read_code_credits',
  text: `select ${namesOf(ENTRIES)} from unnest($1::text[], $2::text[]) as place (account_id, code_hash)
    join credit_codes on credit_codes.code_hash = place.code_hash
    join entries on entries.account_id = place.account_id and entries.reference = credit_codes.id`,
}

/** $1: sources of purchases; $2: ids of purchases. Behind the locks on accounts, by which purchases are made. */
export const LOCK_PURCHASES: PlannedStatement = {
  name: 'lock_purchases',
  text: `select ${namesOf(PURCHASES)} from purchases where source = any($1::text[]) or id = any($2::text[])
    order by id for no key update`,
}

/** The database's time, to be asked once the rows are locked: never earlier than what is in them. */
export const READ_TIME: PlannedStatement = {
  name: 'read_time',
  text: 'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms',
}

/** Adds up the requests of an account whose holds opened in a period. */
export const READ_ACCOUNT_PERIOD: PlannedStatement = {
  name: 'read_account_period',
  text: periodCountText('account_id'),
}

/** The same of a key. */
export const READ_API_KEY_PERIOD: PlannedStatement = {
  name: 'read_api_key_period',
  text: periodCountText('api_key_id'),
}

/** $1: an instance; $2: how many. Requests of it that were open a moment ago. */
export const READ_OPEN_REQUEST_IDS: PlannedStatement = {
  name: 'read_open_request_ids',
  text: `select id, account_id, api_key_id from requests
    where cost_stands = 0 and state = 'open' and instance_id = $1
    order by id limit $2`,
}

/** $1: ids of requests. Which are there, and whether their attempts have ended. */
export const READ_WITNESSES: PlannedStatement = {
  name: 'read_witnesses',
  text: `select id, case when state <> 'open' and swept = 0 then 1 else 0 end as has_ended
    from requests where id = any($1::text[])`,
}

/** $1: an instance. How many of its commits have a mark. */
export const READ_COMMIT_MARK: PlannedStatement = {
  name: 'read_commit_mark',
  text: 'select commits from commit_marks where instance_id = $1',
}

/** $1: an instance; $2: the number of its commit. For a batch that no request shows. */
export const MARK_COMMIT: PlannedStatement = {
  name: 'mark_commit',
  text: `insert into commit_marks (instance_id, commits) values ($1, $2)
    on conflict (instance_id) do update set commits = excluded.commits`,
}

/**
 * Saves what a batch has changed, each table's rows as a JSON array of objects. $1: accounts, $2: keys,
 * $3: requests to insert, $4: requests to update, $5: entries.
 */
export const SAVE: PlannedStatement = {
  name: 'save',
  text: `with
    saved_accounts as (${update(ACCOUNTS, '$1')}),
    saved_api_keys as (${update(API_KEYS, '$2')}),
    opened_requests as (${insert(REQUESTS, '$3')}),
    saved_requests as (${update(REQUESTS, '$4')})
    ${insert(ENTRIES, '$5')}`,
}

/** $1: requests of which no more than the state moves, each as {@link standingRecord} has it, as a JSON array. */
export const SAVE_STANDING: PlannedStatement = {
  name: 'save_standing',
  text: `update requests set state = changed.state, cost_stands = changed.cost_stands,
      settled_at_ms = changed.settled_at_ms
    from json_populate_recordset(null::requests, $1::text::json) as changed
    where requests.id = changed.id`,
}

/** $1: the codes that a batch has given to accounts, as a JSON array of objects. */
export const SAVE_CREDIT_CODES: PlannedStatement = {
  name: 'save_credit_codes',
  text: update(CREDIT_CODES, '$1'),
}

/** $1: members of new accounts, as a JSON array of objects. */
export const INSERT_MEMBERS: PlannedStatement = {
  name: 'insert_members',
  text: insert(MEMBERS, '$1'),
}

/** $1: the records of what operators did, as a JSON array of objects. */
export const INSERT_OPERATOR_ACTIONS: PlannedStatement = {
  name: 'insert_operator_actions',
  text: insert(OPERATOR_ACTIONS, '$1'),
}

/** $1: accounts that were made or changed whole, as a JSON array of objects. */
export const WRITE_ACCOUNTS: PlannedStatement = {
  name: 'write_accounts',
  text: write(ACCOUNTS),
}

/** $1: the same of keys. */
export const WRITE_API_KEYS: PlannedStatement = { name: 'write_api_keys', text: write(API_KEYS) }

/** $1: the same of codes. */
export const WRITE_CREDIT_CODES: PlannedStatement = {
  name: 'write_credit_codes',
  text: write(CREDIT_CODES),
}

/** Saves what a batch has changed of purchases. $1: those to insert, $2: those to update. */
export const SAVE_PURCHASES: PlannedStatement = {
  name: 'save_purchases',
  text: `with opened_purchases as (${insert(PURCHASES, '$1')}) ${update(PURCHASES, '$2')}`,
}

/** Runs last: a batch that has this lock waits for nothing but its commit, and settles do not need it. */
export const RAISE_VERSION: PlannedStatement = {
  name: 'raise_callers_version',
  text: RAISE_CALLERS_VERSION,
}

type Statable = Pick<(typeof TABLES)[number], 'name' | 'columns' | 'key' | 'moving'>

/** Each by its name: what is planned as `*` fails once a newer gateway has added a column. */
function namesOf({ name, columns }: Statable): string {
  return columns.map((column) => `${name}.${column.name}`).join(', ')
}

/** `parameter` is a JSON array of rows, each a `changedRecord`. */
function update({ name, key, moving }: Statable, parameter: string): string {
  const changes = moving.map((column) => `${column.name} = changed.${column.name}`)
  const isRow = key.map((column) => `${name}.${column.name} = changed.${column.name}`)
  return `update ${name} set ${changes.join(', ')}
    from json_populate_recordset(null::${name}, ${parameter}::text::json) as changed
    where ${isRow.join(' and ')}`
}

/** `parameter` is a JSON array of rows, each a `record`. */
function insert({ name, columns }: Statable, parameter: string): string {
  const names = columns.map((column) => column.name).join(', ')
  return `insert into ${name} (${names}) select ${names}
    from json_populate_recordset(null::${name}, ${parameter}::text::json)`
}

/** Inserts rows, or updates all of them. */
function write(table: Statable): string {
  const others = table.columns.filter((column) => !table.key.includes(column))
  const sets = others.map(({ name }) => `${name} = excluded.${name}`)
  return `${insert(table, '$1')} on conflict (id) do update set ${sets.join(', ')}`
}
