import { type Kysely, type Selectable, type SelectQueryBuilder, sql } from 'kysely'
import { isOneOf } from '../../store/conditions.ts'
import { ENTRIES, type Entry, type Tables } from '../../store/schema.ts'
import {
  cappedMicros,
  ENTRY_FACTS,
  ENTRY_KINDS,
  type EntryKind,
  type Micros,
  micros,
  subtractMicros,
} from '../../vocabulary/money.ts'
import { type EntryPlace, placeBefore } from './entry-sums.ts'

/** Selects a page of an account's entries. */
interface EntryPage {
  readonly accountId: string
  /** Only entries with lower numbers; null or absent: from the newest entry. */
  readonly before?: number | null
  readonly limit: number
}

const PAID_KINDS = ENTRY_KINDS.filter((kind) => ENTRY_FACTS[kind].adds === 'paid')
const BACK_KINDS = ENTRY_KINDS.filter((kind) => ENTRY_FACTS[kind].adds === 'back')

/** Entries of added paid credit, and of its removal, refunds and disputes. */
const BOUGHT = isOneOf('kind', [...PAID_KINDS, ...BACK_KINDS])

/**
 * One page of an account's bought or activated credit, with its removal, refunds and disputes, newest first;
 * `nextBefore` of the next one is null if there is none.
 */
export async function listBought(
  db: Kysely<Tables>,
  page: EntryPage,
): Promise<{ readonly entries: readonly Entry[]; readonly nextBefore: number | null }> {
  const rows = await pageOf(db.selectFrom('entries').selectAll().where(BOUGHT), page).execute()
  const shown = rows.slice(0, page.limit).map((row) => ENTRIES.read(row))
  return { entries: shown, nextBefore: nextBeforeOf(rows, page) }
}

/** An entry, with the balance of both purses after it. */
export interface StatementEntry {
  readonly entry: Entry
  readonly balanceMicros: Micros
}

/** A page of a statement. */
interface Statement {
  readonly lines: readonly StatementEntry[]
  /**
   * The start of the next page: entries numbered below `before`, and the balance of both purses before the entry of
   * that number, so that newer entries are not added up again. Null: there is no other page.
   */
  readonly next: EntryPlace | null
}

/** One page of an account's entries with the balance after each, newest first, in one view of the store. */
export async function listStatement(
  db: Kysely<Tables>,
  {
    accountId,
    place = null,
    limit,
    fromMs = null,
    toMs = null,
  }: {
    readonly accountId: string
    /** The start of the page: `next` of the page before. Null or absent: the newest entry. */
    readonly place?: Statement['next']
    readonly limit: number
    /** The page ends before the first older entry. Null or absent: at the oldest entry. */
    readonly fromMs?: number | null
    /** Without a place, the page begins at the newest entry before this moment. Null or absent: at the newest. */
    readonly toMs?: number | null
  },
): Promise<Statement> {
  if (place === null && toMs !== null) {
    const begins = await placeBefore(db, { accountId, toMs })
    return listStatement(db, { accountId, place: begins, limit, fromMs })
  }
  const page = { accountId, before: place?.before ?? null, limit }
  const both = sql`select backed_balance_micros + free_balance_micros from accounts where id = ${accountId}`
  const now = sql<number>`(${both})`.as('now_micros')
  const rows = await pageOf(db.selectFrom('entries').selectAll().select(now), page).execute()
  let balanceMicros = place?.balanceMicros ?? micros(rows[0]?.now_micros ?? 0)
  const end = fromMs === null ? -1 : rows.findIndex((row) => row.created_at_ms < fromMs)
  const shown = end === -1 ? rows : rows.slice(0, end)
  const lines = shown.slice(0, limit).map((row) => {
    const line = { entry: ENTRIES.read(row), balanceMicros }
    balanceMicros = subtractMicros(balanceMicros, line.entry.amountMicros)
    return line
  })
  const before = nextBeforeOf(shown, page)
  return { lines, next: before === null ? null : { before, balanceMicros } }
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

/** Paid credit that was added, and how often, by the kinds of the entries that added it. */
interface TopUps {
  readonly amountMicros: Micros
  /** Credit that refunds and disputes removed, less credit that was added again; below zero: more was added again. */
  readonly reversedMicros: Micros
  readonly entries: { readonly [Kind in EntryKind]?: number }
}

/** Adds up the paid credit that was added in a range, and what refunds and disputes removed in it, whenever it was added. */
export async function sumTopUps(
  db: Kysely<Tables>,
  {
    accountId,
    fromMs,
    toMs,
  }: {
    /** Null: all accounts. */
    readonly accountId: string | null
    readonly fromMs: number
    /** The first moment after the range. */
    readonly toMs: number
  },
): Promise<TopUps> {
  const all = db
    .selectFrom('entries')
    .select(({ fn }) => [
      'kind',
      fn.countAll<number | string>().as('entries'),
      // As a fraction, because no integer of a database can hold the sum of all amounts.
      fn.sum<number>(sql<number>`cast(amount_micros as double precision)`).as('amount'),
    ])
    .where(BOUGHT)
    .where('created_at_ms', '>=', fromMs)
    .where('created_at_ms', '<', toMs)
    .groupBy('kind')
  const query = accountId === null ? all : all.where('account_id', '=', accountId)
  const rows = await query.execute()
  const paid = rows.filter(({ kind }) => PAID_KINDS.some((paidKind) => paidKind === kind))
  const sumOf = (some: typeof rows) => some.reduce((sum, { amount }) => sum + amount, 0)
  return {
    amountMicros: cappedMicros(sumOf(paid)),
    reversedMicros: cappedMicros(sumOf(paid) - sumOf(rows)),
    entries: Object.fromEntries(paid.map(({ kind, entries }) => [kind, Number(entries)])),
  }
}
