import { type Kysely, type RawBuilder, type Selectable, type SelectQueryBuilder, sql } from 'kysely'
import {
  ACCOUNTS,
  type AccountRow,
  ENTRIES,
  type Entry,
  REQUESTS,
  type RequestRow,
  type Tables,
} from '../../store/schema.ts'
import { firstIdOf, ID_AGE_MS_MAX } from '../../vocabulary/ids.ts'
import {
  addMicros,
  type Micros,
  micros,
  subtractMicros,
  ZERO_MICROS,
} from '../../vocabulary/money.ts'
import type { RequestState } from '../../vocabulary/outcome.ts'
import type { Page } from '../../vocabulary/page.ts'
import { availableCredit, freeCreditExpired } from '../rules/credit.ts'
import { isUnsettled } from './unsettled.ts'

/** One value, or any of several. */
type Some<Value> = Value | readonly Value[]

/** Which requests to list; absent fields filter nothing. */
export interface RequestFilter {
  readonly accountId?: string
  readonly apiKeyId?: Some<string>
  readonly state?: Some<RequestState>
  readonly modelId?: Some<string>
  readonly endpoint?: Some<string>
  /** Has this tag, or one of these. */
  readonly tag?: Some<string>
  /** Whether it ended with an error. */
  readonly failed?: boolean
  /** Opened at this moment or later. */
  readonly sinceMs?: number
  /** Opened before this moment. */
  readonly untilMs?: number
}

/**
 * One page of requests, newest first; the cursor of the next is null where there is none. The time in the
 * ids narrows what is read to the part of Activity that can match.
 */
export async function listRequests(
  db: Kysely<Tables>,
  { cursor, limit, ...filter }: RequestFilter & Page,
): Promise<{ readonly requests: readonly RequestRow[]; readonly nextCursor: string | null }> {
  const query = requestsLike(db, { ...filter, cursor: cursor ?? null })
  const rows = await query
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  const requests = rows.slice(0, limit).map((row) => REQUESTS.read(row))
  return { requests, nextCursor: rows.length > limit ? (requests.at(-1)?.id ?? null) : null }
}

/** The query for the requests that a filter matches, before a cursor if there is one, without an order. */
export function requestsLike(
  db: Kysely<Tables>,
  { cursor, ...filter }: RequestFilter & { readonly cursor: string | null },
): SelectQueryBuilder<Tables, 'requests', Selectable<Tables['requests']>> {
  let query = db.selectFrom('requests').selectAll()
  const ofWhom = (name: 'account_id' | 'api_key_id') =>
    // Few are unsettled, of all accounts: the indexes of accounts and keys are kept out of it.
    isOfUnsettled(filter) ? sql<string>`${sql.ref(name)} || ''` : sql.ref<string>(name)
  if (filter.accountId !== undefined) {
    query = query.where(ofWhom('account_id'), '=', filter.accountId)
  }
  if (filter.apiKeyId !== undefined) {
    query = query.where(ofWhom('api_key_id'), 'in', listOf(filter.apiKeyId))
  }
  if (filter.state !== undefined) query = query.where(inState(listOf(filter.state)))
  if (filter.modelId !== undefined) query = query.where('model_id', 'in', listOf(filter.modelId))
  if (filter.endpoint !== undefined) query = query.where('endpoint', 'in', listOf(filter.endpoint))
  if (filter.tag !== undefined) query = query.where(hasTag(listOf(filter.tag)))
  if (filter.failed !== undefined) {
    query = query.where('error_code', filter.failed ? 'is not' : 'is', null)
  }
  if (filter.sinceMs !== undefined) {
    query = query
      .where('opened_at_ms', '>=', filter.sinceMs)
      .where('id', '>=', firstIdOf({ prefix: 'req', timeMs: filter.sinceMs - ID_AGE_MS_MAX }))
  }
  if (filter.untilMs !== undefined) {
    query = query
      .where('opened_at_ms', '<', filter.untilMs)
      .where('id', '<', firstIdOf({ prefix: 'req', timeMs: filter.untilMs + ID_AGE_MS_MAX }))
  }
  return cursor === null ? query : query.where('id', '<', cursor)
}

/** Whether only open and unresolved requests match, which are few and have an index of their own. */
export function isOfUnsettled({ state }: RequestFilter): boolean {
  return state !== undefined && listOf(state).every(isOpenOrUnresolved)
}

function isOpenOrUnresolved(state: RequestState): state is 'open' | 'unresolved' {
  return state === 'open' || state === 'unresolved'
}

function listOf<Value extends string>(some: Some<Value>): readonly Value[] {
  return typeof some === 'string' ? [some] : some
}

// As literals: the index of unsettled requests is chosen by the text of the query.
function inState(states: readonly RequestState[]): RawBuilder<boolean> {
  if (states.every(isOpenOrUnresolved)) return isUnsettled(...states)
  return sql`(${sql.join(
    states.map((state) => sql`state = ${sql.lit(state)}`),
    sql` or `,
  )})`
}

/**
 * Whether a request has one of these tags. No tag has a comma, and each quote inside a tag stands behind a backslash,
 * so `["` and `,"` stand nowhere but before a tag.
 */
function hasTag(tags: readonly string[]): RawBuilder<boolean> {
  const places = tags.flatMap((tag) => [`[${JSON.stringify(tag)}`, `,${JSON.stringify(tag)}`])
  return sql`(${sql.join(
    places.map((place) => sql`replace(tags, ${place}, '') <> tags`),
    sql` or `,
  )})`
}

/** Null where no hold was opened for this id, or it has been pruned. */
export async function getRequest(
  db: Kysely<Tables>,
  requestId: string,
): Promise<RequestRow | null> {
  const query = db.selectFrom('requests').selectAll().where('id', '=', requestId)
  const row = await query.executeTakeFirst()
  return row === undefined ? null : REQUESTS.read(row)
}

/** Which page of an account's entries. */
interface EntryPage {
  readonly accountId: string
  /** Entries numbered below it; null or absent: from the newest. */
  readonly before?: number | null
  readonly limit: number
}

/** A page of entries; `nextBefore` of the next one is null where there is none. */
interface EntryList {
  readonly entries: readonly Entry[]
  readonly nextBefore: number | null
}

/** One page of an account's entries, newest first. */
export function listEntries(db: Kysely<Tables>, page: EntryPage): Promise<EntryList> {
  return entriesOf(db.selectFrom('entries').selectAll(), page)
}

/** Entries of added paid credit and of what went back of it. As literals: their index is chosen by the text of a query. */
export const BOUGHT = sql<boolean>`(kind = 'top_up' or kind = 'activation' or kind = 'purchase' or kind = 'reversal')`

/** One page of what an account bought or activated, and of what went back of it, newest first. */
export function listPurchases(db: Kysely<Tables>, page: EntryPage): Promise<EntryList> {
  return entriesOf(db.selectFrom('entries').selectAll().where(BOUGHT), page)
}

/** A page of a statement: entries, each with what both purses of the account have together after it. */
interface Statement {
  readonly lines: readonly { readonly entry: Entry; readonly balanceMicros: Micros }[]
  /**
   * Where the next page begins: with entries numbered below it, and what both purses had before the entry of
   * that number, so that newer entries are not added up again. Null: there is no other page.
   */
  readonly next: { readonly before: number; readonly balanceMicros: Micros } | null
}

/** One page of an account's entries with the balance after each, newest first, in one view of the store. */
export async function listStatement(
  db: Kysely<Tables>,
  {
    accountId,
    place,
    limit,
  }: {
    readonly accountId: string
    /** Null or absent: from the newest. */
    readonly place?: Statement['next']
    readonly limit: number
  },
): Promise<Statement> {
  const page = { accountId, before: place?.before ?? null, limit }
  const both = sql`select backed_balance_micros + free_balance_micros from accounts where id = ${accountId}`
  const now = sql<number>`(${both})`.as('now_micros')
  const rows = await pageOf(db.selectFrom('entries').selectAll().select(now), page).execute()
  let balanceMicros = place?.balanceMicros ?? micros(rows[0]?.now_micros ?? 0)
  const lines = rows.slice(0, limit).map((row) => {
    const line = { entry: ENTRIES.read(row), balanceMicros }
    balanceMicros = subtractMicros(balanceMicros, line.entry.amountMicros)
    return line
  })
  const before = nextBeforeOf(rows, page)
  return { lines, next: before === null ? null : { before, balanceMicros } }
}

async function entriesOf(
  entries: SelectQueryBuilder<Tables, 'entries', Selectable<Tables['entries']>>,
  page: EntryPage,
): Promise<EntryList> {
  const rows = await pageOf(entries, page).execute()
  const shown = rows.slice(0, page.limit).map((row) => ENTRIES.read(row))
  return { entries: shown, nextBefore: nextBeforeOf(rows, page) }
}

/** The rows of a page, and one more if there is another page. */
function pageOf<Row>(
  entries: SelectQueryBuilder<Tables, 'entries', Row>,
  { accountId, before, limit }: EntryPage,
): SelectQueryBuilder<Tables, 'entries', Row> {
  let query = entries.where('account_id', '=', accountId)
  if (before !== undefined && before !== null) query = query.where('number', '<', before)
  return query.orderBy('number', 'desc').limit(limit + 1)
}

function nextBeforeOf(
  rows: readonly Pick<Selectable<Tables['entries']>, 'number'>[],
  { limit }: EntryPage,
): number | null {
  return rows.length > limit ? (rows[limit - 1]?.number ?? null) : null
}

/** The credit that an account was given under a reference; null: none. */
export async function findCredit(
  db: Kysely<Tables>,
  { accountId, reference }: { readonly accountId: string; readonly reference: string },
): Promise<Entry | null> {
  const query = db
    .selectFrom('entries')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('reference', '=', reference)
  const row = await query.executeTakeFirst()
  return row === undefined ? null : ENTRIES.read(row)
}

/** An account's two purses at a moment. */
export interface AccountCredit {
  readonly backed: PurseBalance
  readonly free: PurseBalance & { readonly expiresAtMs: number | null }
  readonly hasBackedCredit: boolean
}

/** An account's money at a moment. */
export interface Balance extends AccountCredit {
  /** Of requests of unknown outcome. */
  readonly unresolved: HeldCredit
}

/** The money of one purse. */
export interface PurseBalance {
  readonly balanceMicros: Micros
  readonly heldMicros: Micros
  /** The balance minus held credit, never below zero. */
  readonly availableMicros: Micros
}

/** The credit that the requests of one state keep reserved. */
interface HeldCredit {
  readonly requests: number
  readonly heldMicros: Micros
  /** Of each upstream, with and without an id to ask it by, the one whose attempt ended first. */
  readonly oldest: readonly EndedRequest[]
}

/** A request whose attempt has ended. */
interface EndedRequest {
  readonly upstream: string
  readonly generationId: string | null
  readonly endedAtMs: number
}

interface BalanceInput {
  readonly accountId: string
  readonly nowMs: number
}

/**
 * An account's balance; null where there is no such account. Free credit that has expired and is not
 * held is shown as gone, whether or not its expiry has been posted.
 */
export async function getBalance(
  db: Kysely<Tables>,
  { accountId, nowMs }: BalanceInput,
): Promise<Balance | null> {
  const row = await db
    .selectFrom('accounts')
    .selectAll()
    .where('id', '=', accountId)
    .executeTakeFirst()
  if (row === undefined) return null
  const account = ACCOUNTS.read(row)
  const unresolved = await getHeld(db, { accountId, state: 'unresolved' })
  return { ...creditOf(account, nowMs), unresolved }
}

/**
 * Whether either purse of an account has credit, held or not. Expired free credit does not count. Reads one
 * row by its primary key.
 */
export async function hasPostedCredit(
  db: Kysely<Tables>,
  { accountId, nowMs }: BalanceInput,
): Promise<boolean> {
  const row = await db
    .selectFrom('accounts')
    .select(['backed_balance_micros as backed', 'free_balance_micros as free'])
    .select('free_expires_at_ms as freeExpiresAtMs')
    .where('id', '=', accountId)
    .executeTakeFirst()
  if (row === undefined) return false
  return row.backed > 0 || (row.free > 0 && !freeCreditExpired(row, nowMs))
}

/** The purses of several accounts, by account id, as {@link getBalance} shows them. */
export async function getCredits(
  db: Kysely<Tables>,
  {
    accountIds,
    nowMs,
  }: {
    readonly accountIds: readonly string[]
    readonly nowMs: number
  },
): Promise<ReadonlyMap<string, AccountCredit>> {
  if (accountIds.length === 0) return new Map()
  const rows = await db.selectFrom('accounts').selectAll().where('id', 'in', accountIds).execute()
  return new Map(rows.map((row) => [row.id, creditOf(ACCOUNTS.read(row), nowMs)]))
}

function creditOf(account: AccountRow, nowMs: number): AccountCredit {
  const available = availableCredit(account, nowMs)
  return {
    backed: {
      balanceMicros: account.backedBalanceMicros,
      heldMicros: account.backedHeldMicros,
      availableMicros: available.backedMicros,
    },
    free: {
      balanceMicros: freeCreditExpired(account, nowMs)
        ? account.freeHeldMicros
        : account.freeBalanceMicros,
      heldMicros: account.freeHeldMicros,
      availableMicros: available.freeMicros,
      expiresAtMs: account.freeExpiresAtMs,
    },
    hasBackedCredit: account.hasBackedCredit,
  }
}

/** What the open or the unresolved requests of an account keep reserved. */
export async function getHeld(
  db: Kysely<Tables>,
  { accountId, state }: { readonly accountId: string; readonly state: 'open' | 'unresolved' },
): Promise<HeldCredit> {
  // By state first: an account's Activity is long, the unsettled requests of all accounts are few.
  const rows = await db
    .selectFrom('requests')
    .select(['backed_held_micros', 'free_held_micros', 'ended_at_ms'])
    .select(['upstream', 'generation_id'])
    .where(isUnsettled(state))
    .where('account_id', '=', accountId)
    .execute()
  let heldMicros = ZERO_MICROS
  const oldest = new Map<string, EndedRequest>()
  for (const row of rows) {
    heldMicros = addMicros(heldMicros, micros(row.backed_held_micros + row.free_held_micros))
    const { upstream, generation_id: generationId, ended_at_ms: endedAtMs } = row
    const kind = `${upstream} ${generationId === null}`
    if (endedAtMs !== null && endedAtMs < (oldest.get(kind)?.endedAtMs ?? Infinity)) {
      oldest.set(kind, { upstream, generationId, endedAtMs })
    }
  }
  return { requests: rows.length, heldMicros, oldest: [...oldest.values()] }
}
