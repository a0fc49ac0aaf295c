import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../is-postgres.ts'
import type { Tables } from '../schema.ts'
import { up as base } from './0026-base.ts'
import { up as costs, forgetWholeDays } from './0032-costs.ts'
import { up as receipts } from './0035-receipts.ts'
import { up as holds } from './0036-holds.ts'
import { up as takenAccess } from './0043-taken-access.ts'
import { up as lostChanges } from './0046-lost-changes.ts'

/** One step of the schema. Once released it never changes: a change is a new step. */
export interface Migration {
  /** Counts without gaps. The first makes the tables of an empty store, and has the number of the last that it stands for. */
  readonly number: number
  readonly name: string
  /** Means the same on every engine. */
  up(db: Kysely<Tables>): Promise<void>
}

/** Every step, in order. */
export const MIGRATIONS: readonly Migration[] = [
  { number: 26, name: 'base', up: base },
  { number: 27, name: 'vouched', up: vouched },
  { number: 28, name: 'suspensions', up: suspensions },
  { number: 29, name: 'mail-times', up: mailTimes },
  { number: 30, name: 'store-gaps', up: storeGaps },
  { number: 31, name: 'session-guard', up: sessionGuard },
  { number: 32, name: 'costs', up: costs },
  { number: 33, name: 'key-rotation', up: keyRotation },
  { number: 34, name: 'statements', up: statements },
  { number: 35, name: 'receipts', up: receipts },
  { number: 36, name: 'holds', up: holds },
  { number: 37, name: 'reads', up: reads },
  { number: 38, name: 'old-versions', up: oldVersions },
  { number: 39, name: 'error-codes', up: errorCodes },
  { number: 40, name: 'reversals', up: reversals },
  { number: 41, name: 'rolled-by', up: rolledBy },
  { number: 42, name: 'refusals', up: refusals },
  { number: 43, name: 'taken-access', up: takenAccess },
  { number: 44, name: 'key-counts', up: keyCounts },
  { number: 45, name: 'searches', up: searches },
  { number: 46, name: 'lost-changes', up: lostChanges },
  { number: 47, name: 'newest-notes', up: newestNotes },
  { number: 48, name: 'disputes', up: disputes },
  { number: 49, name: 'unread-columns', up: unreadColumns },
  { number: 50, name: 'receipt-buyers', up: receiptBuyers },
  { number: 51, name: 'failed-requests', up: failedRequests },
]

/** The newest schema that this program knows. */
export const PROGRAM_SCHEMA: number = newestOf(MIGRATIONS)

/** The number of the newest of some migrations. */
export function newestOf(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.number ?? 0
}

/**
 * Users whom the operator vouches for. Of users with an unproved address, these are the operators, because only operators
 * could invite them. The store does not have who invited the other users.
 */
async function vouched(db: Kysely<Tables>): Promise<void> {
  for (const table of ['users', 'links'] as const) {
    await db.schema
      .alterTable(table)
      .addColumn('vouched', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    await db.updateTable(table).set({ vouched: 1 }).where('is_operator', '=', 1).execute()
  }
}

/** When an account was suspended, and the reason that its members see. */
async function suspensions(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('accounts').addColumn('disabled_at_ms', 'bigint').execute()
  await db.schema.alterTable('accounts').addColumn('disabled_note', 'text').execute()
}

/** When the last email went to an address. Counts of an earlier version begin again. */
async function mailTimes(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('mail_rates').addColumn('last_at_ms', 'bigint').execute()
  await db.deleteFrom('mail_rates').execute()
}

/** Which commits of an instance the store has, and times at which some were lost. */
async function storeGaps(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('commit_marks')
    .addColumn('instance_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('commits', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('store_gaps')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('instance_id', 'text', (column) => column.notNull())
    .addColumn('found_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('from_ms', 'bigint', (column) => column.notNull())
    .addColumn('until_ms', 'bigint', (column) => column.notNull())
    .addColumn('commits', 'bigint', (column) => column.notNull())
    .addColumn('requests', 'bigint', (column) => column.notNull())
    .addColumn('charge_micros', 'bigint', (column) => column.notNull())
    .addColumn('commands', 'bigint', (column) => column.notNull())
    .addColumn('lost', 'bigint', (column) => column.notNull())
    .execute()
}

/** When a session last made a change that needs a recent password. */
async function sessionGuard(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('sessions').addColumn('guarded_at_ms', 'bigint').execute()
}

/** The text that a key had before its last rotation, which works until a moment. */
async function keyRotation(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('api_keys').addColumn('previous_key_hash', 'text').execute()
  await db.schema.alterTable('api_keys').addColumn('previous_expires_at_ms', 'bigint').execute()
  await db.schema
    .createIndex('api_keys_previous_hash')
    .on('api_keys')
    .column('previous_key_hash')
    .unique()
    .where('previous_key_hash', 'is not', null)
    .execute()
}

/** Finds the entries that statements list one by one: all but the charges of requests. */
async function statements(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createIndex('entries_other')
    .on('entries')
    .columns(['account_id', 'created_at_ms'])
    .where(sql<boolean>`kind <> 'charge' and kind <> 'write_off'`)
    .execute()
}

/** Makes reads of a large store fast: requests that hold credit by account, and sums of an account's entries. */
async function reads(db: Kysely<Tables>): Promise<void> {
  // Its first column is always 0: SQLite takes an index of two known columns before that of all requests of an account.
  await sql`
    create index requests_holding on requests (cost_stands, account_id)
      where cost_stands = 0 and cost_usd is null and state <> 'final' and state <> 'released'`.execute(
    db,
  )
  const end = sql.raw(isPostgres(db) ? '' : ' without rowid')
  await sql`
    create table entry_sums (
      account_id text not null, number bigint not null, sum_micros bigint not null,
      constraint entry_sums_pkey primary key (account_id, number)
    )${end}`.execute(db)
}

/**
 * Reduces the cost of old versions of rows on PostgreSQL; SQLite has none. A foreign key looks an account or a key up
 * for each row that is inserted, through all of its versions: the ledger has locked both. Room in the pages lets most
 * changes of an account or a key stay on their page, so that no index gets another version.
 */
async function oldVersions(db: Kysely<Tables>): Promise<void> {
  if (!isPostgres(db)) return
  const { rows } = await sql<{ readonly table: string; readonly name: string }>`
    select conrelid::regclass::text as "table", conname as name from pg_constraint
    where contype = 'f' and conrelid in ('requests'::regclass, 'entries'::regclass)
      and confrelid in ('accounts'::regclass, 'api_keys'::regclass)`.execute(db)
  for (const { table, name } of rows) {
    await sql`alter table ${sql.table(table)} drop constraint ${sql.ref(name)}`.execute(db)
  }
  for (const table of ['accounts', 'api_keys']) {
    await sql`alter table ${sql.table(table)} set (fillfactor = 20)`.execute(db)
  }
}

/**
 * Failed requests by error code in roll-ups. Roll-ups are made again in the background, except for days of
 * which requests were pruned: the codes of their failed requests are not known.
 */
async function errorCodes(db: Kysely<Tables>): Promise<void> {
  // Rows are read only by their key, and the key is most of a row: SQLite keeps it once.
  const end = sql.raw(isPostgres(db) ? '' : ' without rowid')
  await sql`
    create table usage_errors (
      step text not null, number bigint not null, account_id text not null, api_key_id text not null,
      model_id text not null, endpoint text not null, upstream text not null, code text not null,
      requests bigint not null, latest_id text not null,
      constraint usage_errors_groups
        primary key (step, number, account_id, api_key_id, model_id, endpoint, upstream, code)
    )${end}`.execute(db)
  await forgetWholeDays(db)
  for (const [step, table, apiKeyId] of [
    ['hour', 'usage_hours', sql`''`],
    ['day', 'usage_days', sql.ref('api_key_id')],
  ] as const) {
    await sql`
      insert into usage_errors (step, number, account_id, api_key_id, model_id, endpoint, upstream, code,
        requests, latest_id)
      select ${sql.lit(step)}, ${sql.ref(step)}, account_id, ${apiKeyId}, model_id, endpoint, upstream, '', failed, ''
      from ${sql.table(table)} where failed > 0
        and ${sql.ref(step)} in (select number from usage_rolled where step = ${sql.lit(step)})`.execute(
      db,
    )
  }
}

/** Finds refunds and disputes without a search of all entries and purchases: the newest of all accounts, and by purchase. */
async function reversals(db: Kysely<Tables>): Promise<void> {
  await sql`create index entries_reversals on entries (created_at_ms) where kind = 'reversal'`.execute(
    db,
  )
  await sql`
    create index purchases_reversed on purchases (account_id, id)
      where reversed_micros > 0 or disputed = 1`.execute(db)
}

/**
 * The schema of the program that rolled an hour or a day up. A program of before does not name it: on PostgreSQL, where
 * one may wake up after the migration, its roll-ups are refused from now on.
 */
async function rolledBy(db: Kysely<Tables>): Promise<void> {
  await sql`alter table usage_rolled add column program_schema integer not null default 0`.execute(
    db,
  )
}

/** Counts of requests that were refused before their holds opened, by hour, API key and problem code. */
async function refusals(db: Kysely<Tables>): Promise<void> {
  // The key is most of a row, as in `usage_errors`.
  const end = sql.raw(isPostgres(db) ? '' : ' without rowid')
  await sql`
    create table refusals (
      account_id text not null, hour bigint not null, api_key_id text not null, code text not null,
      requests bigint not null, latest_at_ms bigint not null,
      constraint refusals_cells primary key (account_id, hour, api_key_id, code)
    )${end}`.execute(db)
  await sql`create index refusals_hours on refusals (hour)`.execute(db)
}

/** Indexes by which the keys of an account are counted: those that are not deleted, and those of the last day. */
async function keyCounts(db: Kysely<Tables>): Promise<void> {
  await sql`create index api_keys_present on api_keys (account_id) where deleted_at_ms is null`.execute(
    db,
  )
  await sql`create index api_keys_created on api_keys (account_id, created_at_ms)`.execute(db)
}

/**
 * Finds accounts that are low on credit, in debt or suspended, and the deposits of a transaction, without a search of all
 * accounts and of all purchases of an account.
 *
 * The state of an account's credit is a column that the database computes. An index of the balances themselves would be
 * written with each charge: on PostgreSQL with all other indexes of accounts, since no update could stay in its page.
 */
async function searches(db: Kysely<Tables>): Promise<void> {
  await sql`
    alter table accounts add column credit_state text generated always as (
      case when backed_balance_micros < 0 then 'in_debt'
        when disabled = 0 and has_backed_credit = 1
          and backed_balance_micros < coalesce(low_balance_micros, 5000000) then 'low_credit' end
    ) ${sql.raw(isPostgres(db) ? 'stored' : 'virtual')}`.execute(db)
  await sql`
    create index accounts_credit_state on accounts (credit_state, id)
      where credit_state is not null`.execute(db)
  await sql`create index accounts_suspended on accounts (id) where disabled = 1`.execute(db)
  // The source of a deposit is its transaction, a colon, and its place in that. A deposit has no price.
  await sql`
    create index purchases_deposits on purchases (account_id, rtrim(source, '0123456789'))
      where price_units is null`.execute(db)
}

/**
 * Keeps only the newest notes of a user or an account in each table, so that the database, which adds none to 200, never
 * leaves a new one out. A failover loses the newest changes: whoever knew a password could change it 200 times, and the
 * change that took it from them was not noted.
 */
async function newestNotes(db: Kysely<Tables>): Promise<void> {
  if (!isPostgres(db)) return
  // Waits for no other transaction, which could wait for this one: each of them may leave a note too many.
  await sql`
    create function keep_newest_notes() returns trigger language plpgsql as $$
    begin
      execute format(
        'delete from %1$I.taken_access where id in (
          select id from %1$I.taken_access where user_id = $1 and table_name = $2 and id <> $3 and id < (
            select id from %1$I.taken_access where user_id = $1 and table_name = $2
              order by id desc offset ${sql.raw(String(NEWEST - 1))} limit 1)
          for update skip locked)',
        tg_table_schema)
        using new.user_id, new.table_name, new.id;
      return null;
    end $$`.execute(db)
  await sql`
    create trigger taken_access_added after insert on taken_access
    for each row when (new.user_id <> '') execute function keep_newest_notes()`.execute(db)
}

/** How many notes of one table a user has at most. Gateways count on it: `taken-access.ts`. */
const NEWEST = 100

/**
 * Tells open disputes from lost and won ones. It is not known which of them earlier disputes were: they count as open until
 * the gateway has looked at their payments, which it does after its start.
 */
async function disputes(db: Kysely<Tables>): Promise<void> {
  await db.schema.dropIndex('purchases_reversed').execute()
  await db.schema.alterTable('purchases').addColumn('dispute', 'text').execute()
  await sql`update purchases set dispute = 'open' where disputed = 1`.execute(db)
  await db.schema.alterTable('purchases').dropColumn('disputed').execute()
  await sql`
    create index purchases_reversed on purchases (account_id, id)
      where reversed_micros > 0 or dispute is not null`.execute(db)
}

/** Drops columns of earlier sign-ins that nothing reads. */
async function unreadColumns(db: Kysely<Tables>): Promise<void> {
  for (const table of ['users', 'sign_ins', 'sessions', 'verifications']) {
    await db.schema.alterTable(table).dropColumn('updated_at_ms').execute()
  }
  await db.schema.alterTable('verifications').dropColumn('value').execute()
}

/**
 * Purchases keep the buyer of their receipt, which was read from the account before: receipts that exist keep the buyer
 * that they have now.
 */
async function receiptBuyers(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('purchases').addColumn('buyer_json', 'text').execute()
  const buyers = await sql<{
    readonly id: string
    readonly name: string
    readonly email: string | null
    readonly billing_json: string | null
  }>`
    select id, name, email, billing_json from accounts
      where id in (select account_id from purchases where credited_at_ms is not null)`.execute(db)
  for (const { id, name, email, billing_json: stored } of buyers.rows) {
    const billing = stored === null ? null : JSON.parse(stored)
    const buyer = { name, address: null, tax_id: null, ...given(billing), email }
    await sql`
      update purchases set buyer_json = ${JSON.stringify(buyer)}
        where account_id = ${id} and credited_at_ms is not null`.execute(db)
  }
}

function given(billing: Readonly<Record<string, unknown>> | null): object {
  return Object.fromEntries(Object.entries(billing ?? {}).filter(([, value]) => value !== null))
}

/** Finds the failed requests of an hour without a search of all its requests. Only failed ones are written to the index. */
async function failedRequests(db: Kysely<Tables>): Promise<void> {
  await sql`
    create index requests_failed on requests (id, account_id, error_code)
      where error_code is not null`.execute(db)
}
