import { DATABASE_MS_TEXT } from '../../store/is-postgres.ts'
import { ACCOUNTS, API_KEYS, ENTRIES, HOLDS, REQUESTS } from '../../store/schema.ts'
import { RAISE_CALLERS_VERSION } from '../../store/settings.ts'
import type { StatedTable } from '../rows.ts'
import { FOUND, UnitOfWork } from '../work.ts'

const SAVES: readonly {
  readonly way: 'insert' | 'write' | 'update'
  readonly isOf: (table: StatedTable) => boolean
  readonly textOf: (table: StatedTable, parameter: string) => string
}[] = [
  { way: 'insert', isOf: () => true, textOf: insert },
  { way: 'write', isOf: ({ key }) => key.length === 1, textOf: write },
  { way: 'update', isOf: ({ moving }) => moving.length > 0, textOf: update },
]

/** A statement that a connection plans once and runs by its name. */
export interface PlannedStatement {
  readonly name: string
  readonly text: string
}

// The account and the key of a request never change, so they are known before anything is locked. Every
// change to an account's rows happens under the lock on its row, except the end of a reported cost's wait. Requests
// and entries are read after it and need no locks of their own. Rows are locked in the order of ids, so that two
// batches never wait for each other; not FOR UPDATE, so that rows which refer to an account can be inserted meanwhile.

// While a snapshot is open, PostgreSQL keeps all versions of the rows of accounts and keys, which each batch
// changes. They are found from their newest version on, and updated where they were found.

/** Statements by name. */
export const STATEMENTS = planned({
  /** $1: ids of accounts. Locks and reads them. */
  lock_accounts: lockNewest(ACCOUNTS, 'select unnest($1::text[])'),
  /** $1: ids of accounts; $2: ids of requests. Locks the accounts of both, and reads them. */
  lock_accounts_of: lockNewest(
    ACCOUNTS,
    `select unnest($1::text[]) union select account_id from holds where id = any($2::text[])
      union select account_id from requests where id = any($2::text[])`,
  ),
  /** $1: external IDs. Locks nothing: the index decides if two accounts take the same ID at the same time. */
  read_external_accounts: `select ${namesOf(ACCOUNTS)} from accounts where external_id = any($1::text[])`,
  /** $1: ids of keys. Locks and reads them. */
  lock_api_keys: lockNewest(API_KEYS, 'select unnest($1::text[])'),
  /** $1: ids of keys; $2: ids of requests. Locks the keys of both, and reads them. */
  lock_api_keys_of: lockNewest(
    API_KEYS,
    `select unnest($1::text[]) union select api_key_id from holds where id = any($2::text[])
      union select api_key_id from requests where id = any($2::text[])`,
  ),
  /** $1: ids of requests. Reads and deletes the holds that end. */
  take_holds: `delete from holds where id = any($1::text[]) returning ${namesOf(HOLDS)}`,
  /** $1: ids of requests. */
  read_holds: `select ${namesOf(HOLDS)} from holds where id = any($1::text[])`,
  /** $1: ids of requests. */
  delete_holds: 'delete from holds where id = any($1::text[])',
  /** $1: ids of requests. Locks them too, since the wait of a reported cost ends without the lock on its account. */
  lock_requests: `select ${namesOf(REQUESTS)} from requests where id = any($1::text[])
    order by id for no key update`,
  /** $1: ids of accounts; $2: a reference for each. */
  read_credits: `select ${namesOf(ENTRIES)} from unnest($1::text[], $2::text[]) as place (account_id, reference)
    join entries on entries.account_id = place.account_id and entries.reference = place.reference`,
  /** $1: ids of accounts; $2: the hash of a code for each. */
  read_code_credits: `select ${namesOf(ENTRIES)} from unnest($1::text[], $2::text[]) as place (account_id, code_hash)
    join credit_codes on credit_codes.code_hash = place.code_hash
    join entries on entries.account_id = place.account_id and entries.reference = credit_codes.id`,
  /** Reads the database's time, after the rows are locked: it is never earlier than the times in them. */
  read_time: `select ${DATABASE_MS_TEXT} as now_ms`,
  /** $1: an instance; $2: the most rows. Reads its requests that were open a moment ago. */
  read_open_request_ids: `select id, account_id, api_key_id from holds where instance_id = $1
    union all select id, account_id, api_key_id from requests
    where cost_stands = 0 and state = 'open' and instance_id = $1
    order by id limit $2`,
  /** $1: ids of requests. Reads which exist, and whether their attempts have ended. */
  read_witnesses: `select id, case when state <> 'open' and swept = 0 then 1 else 0 end as has_ended
    from requests where id = any($1::text[])
    union all select id, 0 from holds where id = any($1::text[])`,
  /** $1: ids of users and admin tokens. Reads which exist. */
  read_actors: `select id from users where id = any($1::text[])
    union all select id from admin_tokens where id = any($1::text[])`,
  /** $1: an instance. Reads how many of its commits have a mark. */
  read_commit_mark: 'select commits from commit_marks where instance_id = $1',
  /** $1: an instance; $2: the number of its commit. Writes the mark of a batch that no request can show. */
  mark_commit: `insert into commit_marks (instance_id, commits) values ($1, $2)
    on conflict (instance_id) do update set commits = excluded.commits`,
  /**
   * Saves the changes of a batch, each table's rows as a JSON array of objects. $1: accounts, $2: keys,
   * $3: holds, $4: requests to insert, $5: entries.
   */
  save: `with
    saved_accounts as (${updateNewest(ACCOUNTS, '$1')}),
    saved_api_keys as (${updateNewest(API_KEYS, '$2')}),
    opened_holds as (${open('$3')}),
    ended_requests as (${insert(REQUESTS, '$4')})
    ${insert(ENTRIES, '$5')}`,
  /** $1: ids of requests; $2: the time. Makes final the requests whose reported cost needs no look-up. */
  make_final: `update requests set state = 'final', settled_at_ms = $2
    where cost_stands = 1 and state = 'provisional' and id = any($1::text[])`,
  /** $1: ids of requests. Marks reported costs, which needed no look-up before, for a look-up. */
  recall: `update requests set cost_stands = 0
    where cost_stands = 1 and state = 'provisional' and id = any($1::text[])`,
  /** Runs last: a batch that has this lock waits only for its commit, and settles do not need the lock. */
  raise_callers_version: RAISE_CALLERS_VERSION,
})

function planned<Name extends string>(
  texts: Readonly<Record<Name, string>>,
): Readonly<Record<Name, PlannedStatement>> {
  const statements = Object.entries<string>(texts).map(([name, text]) => [name, { name, text }])
  // Its keys are those of the texts.
  return Object.fromEntries(statements) as Record<Name, PlannedStatement>
}

/**
 * Lock and read the rows that only some commands need, by kind of row. Each column has a parameter: the values to look
 * for.
 */
export const LOCK_FOUND: ReadonlyMap<string, PlannedStatement> = new Map(
  Object.entries(FOUND).map(([of, found]) => [of, lockFound(found)]),
)

// Locked after the accounts. Codes have no account before they are redeemed.
function lockFound({
  table,
  by,
}: {
  readonly table: StatedTable
  readonly by: readonly string[]
}): PlannedStatement {
  const passes = by.map((column, place) => {
    const isInteger = table.columns.some(({ name, type }) => name === column && type === 'integer')
    return `${column} = any($${place + 1}::${isInteger ? 'bigint' : 'text'}[])`
  })
  return {
    name: `lock_${table.name}`,
    text: `select ${namesOf(table)} from ${table.name} where ${passes.join(' or ')}
      order by id for no key update`,
  }
}

/** Statements that save rows of a table, by name. $1: the rows, as a JSON array of objects. */
export const ROW_STATEMENTS: ReadonlyMap<string, PlannedStatement> = new Map(
  Object.values(new UnitOfWork().changes().rows).flatMap(({ table }) =>
    SAVES.flatMap(({ way, isOf, textOf }) => {
      const name = `${way}_${table.name}`
      return isOf(table) ? [[name, { name, text: textOf(table, '$1') }] as const] : []
    }),
  ),
)

/** Names each column: a statement that was planned with `*` fails once a newer gateway has added a column. */
function namesOf({ name, columns }: StatedTable): string {
  return columns.map((column) => `${name}.${column.name}`).join(', ')
}

/**
 * The newest version of a row. PostgreSQL reads a range of one ID from its newest version on, but not an ID that is
 * given as equal.
 */
function newestOf({ name }: StatedTable, rowId: string): string {
  return `from ${name} where ${name}.id >= ${rowId} and ${name}.id <= ${rowId} order by ${name}.id desc limit 1`
}

/** `ids` is a query of IDs. Locks the rows in the order of their IDs. */
function lockNewest(table: StatedTable, ids: string): string {
  const { name } = table
  return `select ${namesOf(table)} from (select distinct id from (${ids}) as asked (id) order by id) as wanted
    cross join lateral (select ${namesOf(table)} ${newestOf(table, 'wanted.id')} for no key update) as ${name}`
}

/** Updates rows that the transaction has locked. `parameter` is a JSON array of rows, each a `changedRecord`. */
function updateNewest(table: StatedTable, parameter: string): string {
  const { name } = table
  return `update ${name} set ${changesOf(table)}
    from (select *, (select ctid ${newestOf(table, 'locked.id')}) as place
      from json_populate_recordset(null::${name}, ${parameter}::text::json) as locked) as changed
    where ${name}.ctid = changed.place`
}

function changesOf({ moving }: StatedTable): string {
  return moving.map((column) => `${column.name} = changed.${column.name}`).join(', ')
}

/** `parameter` is a JSON array of rows, each a `changedRecord`. */
function update(table: StatedTable, parameter: string): string {
  const { name, key } = table
  const isRow = key.map((column) => `${name}.${column.name} = changed.${column.name}`)
  return `update ${name} set ${changesOf(table)}
    from json_populate_recordset(null::${name}, ${parameter}::text::json) as changed
    where ${isRow.join(' and ')}`
}

/** Inserts holds. The insert fails if the request is already in `requests` or in `holds`. */
function open(parameter: string): string {
  const names = HOLDS.columns.map((column) => column.name)
  const values = names.filter((name) => name !== 'id').map((name) => `opened.${name}`)
  return `insert into holds (id, ${names.filter((name) => name !== 'id').join(', ')})
    select nullif(opened.id, (select requests.id from requests where requests.id = opened.id)),
      ${values.join(', ')}
    from json_populate_recordset(null::holds, ${parameter}::text::json) as opened`
}

/** `parameter` is a JSON array of rows, each a `record`. */
function insert({ name, columns }: StatedTable, parameter: string): string {
  const names = columns.map((column) => column.name).join(', ')
  return `insert into ${name} (${names}) select ${names}
    from json_populate_recordset(null::${name}, ${parameter}::text::json)`
}

/** Inserts rows, or updates all of them. */
function write(table: StatedTable, parameter: string): string {
  const others = table.columns.filter((column) => !table.key.includes(column))
  const sets = others.map(({ name }) => `${name} = excluded.${name}`)
  return `${insert(table, parameter)} on conflict (id) do update set ${sets.join(', ')}`
}
