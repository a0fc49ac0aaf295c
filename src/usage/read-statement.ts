import { type Kysely, type RawBuilder, sql } from 'kysely'
import { ENTRIES, type Entry, type Tables } from '../store/schema.ts'
import { inOneView } from '../store/store.ts'
import { DAY_MS, HOUR_MS } from '../vocabulary/clock.ts'
import { firstIdOf } from '../vocabulary/ids.ts'
import { addMicros, type Micros, micros, subtractMicros } from '../vocabulary/money.ts'
import { readSums } from './read-sums.ts'
import { addSums, NO_USAGE } from './sums.ts'

/** Selects a statement of whole UTC days. */
interface StatementQuery {
  readonly accountId: string
  readonly fromMs: number
  /** Exclusive. */
  readonly toMs: number
  readonly nowMs: number
  /** The most entries that are lines by themselves. */
  readonly entriesMax: number
}

/** A change of an account's balance, with the balance of both purses together after it. */
export type StatementLine = StatementChange & { readonly balanceMicros: Micros }

type StatementChange = { readonly dayMs: number; readonly amountMicros: Micros } & (
  | { readonly kind: 'charge'; readonly requests: number }
  | {
      readonly kind: 'correction'
      readonly corrections: number
      /** The newest request of the latest of them. */
      readonly requestId: string
      readonly latestAtMs: number
    }
  | { readonly kind: 'entry'; readonly entry: Entry }
)

/** The lines of a range, newest first. */
export interface Statement {
  readonly openingMicros: Micros
  readonly closingMicros: Micros
  readonly lines: readonly StatementLine[]
}

/**
 * Reads an account's statement in one view of the store; null if there is no such account, `'tooLong'` where the range
 * has too many lines. For each UTC day: the charges of the requests whose ids were made in it, from roll-ups where
 * there are; then the corrections that were posted in it, together; and each other entry. A charge that is posted after
 * midnight counts in the day of its request, as in charts: all lines of all time add up to all entries.
 */
export async function readStatement(
  db: Kysely<Tables>,
  query: StatementQuery,
): Promise<Statement | 'tooLong' | null> {
  return inOneView(db, (view) => readView(view, query))
}

async function readView(
  view: Kysely<Tables>,
  query: StatementQuery,
): Promise<Statement | 'tooLong' | null> {
  const { accountId, fromMs, toMs, entriesMax } = query
  const balanceMicros = await balanceOf(view, accountId)
  if (balanceMicros === null) return null
  const others = await othersOf(view, query)
  if (others.length > entriesMax) return 'tooLong'
  const corrections = await correctionsOf(view, query)
  const charges = chargesOf(await dailyCharges(view, query), corrections)
  const changes = [...charges, ...linesOf(corrections), ...others]
  const after = changes.filter(({ dayMs }) => dayMs >= toMs)
  let closingMicros = subtractMicros(balanceMicros, await othersAfter(view, query))
  for (const { amountMicros } of after) closingMicros = subtractMicros(closingMicros, amountMicros)
  const shown = changes.filter(({ dayMs }) => dayMs >= fromMs && dayMs < toMs).toSorted(newestFirst)
  let openingMicros = closingMicros
  const lines = shown.map((change): StatementLine => {
    const line = { ...change, balanceMicros: openingMicros }
    openingMicros = subtractMicros(openingMicros, change.amountMicros)
    return line
  })
  return { openingMicros, closingMicros, lines }
}

/** The charges of a day come before its other lines, as if they were booked at its end. */
function newestFirst(one: StatementChange, other: StatementChange): number {
  return (
    other.dayMs - one.dayMs ||
    placeOf(other).atMs - placeOf(one).atMs ||
    placeOf(other).number - placeOf(one).number
  )
}

function placeOf(change: StatementChange): { readonly atMs: number; readonly number: number } {
  switch (change.kind) {
    case 'charge':
      return { atMs: Infinity, number: 0 }
    case 'correction':
      return { atMs: change.latestAtMs, number: 0 }
    case 'entry':
      return { atMs: change.entry.createdAtMs, number: change.entry.number }
  }
}

/** The present balance of both purses; null: there is no such account. */
async function balanceOf(view: Kysely<Tables>, accountId: string): Promise<Micros | null> {
  const row = await view
    .selectFrom('accounts')
    .select(['backed_balance_micros as backed', 'free_balance_micros as free'])
    .where('id', '=', accountId)
    .executeTakeFirst()
  return row === undefined ? null : addMicros(micros(row.backed), micros(row.free))
}

// Literals: the index of these entries is chosen by the text of the query.
const NO_CHARGE = sql<boolean>`kind <> 'charge' and kind <> 'write_off'`

/** The entries of the range that are lines by themselves, and one more if there are too many. */
async function othersOf(
  view: Kysely<Tables>,
  { accountId, fromMs, toMs, entriesMax }: StatementQuery,
): Promise<readonly Extract<StatementChange, { kind: 'entry' }>[]> {
  const rows = await view
    .selectFrom('entries')
    .selectAll()
    .where('account_id', '=', accountId)
    .where(NO_CHARGE)
    .where('kind', '<>', 'correction')
    .where('created_at_ms', '>=', fromMs)
    .where('created_at_ms', '<', toMs)
    .limit(entriesMax + 1)
    .execute()
  return rows.map((row) => {
    const entry = ENTRIES.read(row)
    const dayMs = dayOf(entry.createdAtMs) * DAY_MS
    return { kind: 'entry', dayMs, amountMicros: entry.amountMicros, entry }
  })
}

/** The sum of such entries after the range. */
async function othersAfter(
  view: Kysely<Tables>,
  { accountId, toMs }: StatementQuery,
): Promise<Micros> {
  const { rows } = await sql<{ readonly sum_micros: number }>`
    select cast(coalesce(sum(amount_micros), 0) as bigint) as sum_micros from entries
    where account_id = ${accountId} and ${NO_CHARGE} and kind <> 'correction'
      and created_at_ms >= ${toMs}`.execute(view)
  return micros(rows[0]?.sum_micros ?? 0)
}

/** Corrections that were posted on one day, of requests of one day. */
interface Corrections {
  readonly posted_day: number
  /** Null: before the range. */
  readonly request_day: number | null
  readonly corrections: number
  readonly sum_micros: number
  readonly request_id: string
  readonly latest_at_ms: number
}

/** The corrections of the range, and after it. */
async function correctionsOf(
  view: Kysely<Tables>,
  query: StatementQuery,
): Promise<readonly Corrections[]> {
  const { rows } = await sql<Corrections>`
    select created_at_ms / ${sql.lit(DAY_MS)} as posted_day, ${requestDay(query)} as request_day,
      count(*) as corrections, cast(sum(amount_micros) as bigint) as sum_micros,
      max(request_id) as request_id, max(created_at_ms) as latest_at_ms
    from entries
    where account_id = ${query.accountId} and ${NO_CHARGE} and kind = 'correction'
      and created_at_ms >= ${query.fromMs}
    group by 1, 2`.execute(view)
  return rows.map((row) => ({ ...row, corrections: Number(row.corrections) }))
}

/** The day of the id in `request_id`: that of the end of the range for all after it. */
function requestDay({ fromMs, toMs }: StatementQuery): RawBuilder<unknown> {
  // A search by halves: a range may have four hundred days.
  const within = ([first, last]: readonly [first: number, last: number]): RawBuilder<unknown> => {
    if (first === last) return sql.lit(first)
    const middle = Math.ceil((first + last) / 2)
    const bound = sql.lit(firstIdOf({ prefix: 'req', timeMs: middle * DAY_MS }))
    return sql`case when request_id < ${bound} then ${within([first, middle - 1])} else ${within([middle, last])} end`
  }
  const start = sql.lit(firstIdOf({ prefix: 'req', timeMs: fromMs }))
  return sql`case when request_id < ${start} then null else ${within([dayOf(fromMs), dayOf(toMs)])} end`
}

function linesOf(
  corrections: readonly Corrections[],
): readonly Extract<StatementChange, { kind: 'correction' }>[] {
  const byDay = Map.groupBy(corrections, ({ posted_day: day }) => day)
  return [...byDay].map(([day, rows]) => {
    const latest = rows.reduce((one, other) =>
      other.latest_at_ms > one.latest_at_ms ? other : one,
    )
    return {
      kind: 'correction',
      dayMs: day * DAY_MS,
      amountMicros: micros(rows.reduce((sum, row) => sum + row.sum_micros, 0)),
      corrections: rows.reduce((sum, row) => sum + row.corrections, 0),
      requestId: latest.request_id,
      latestAtMs: latest.latest_at_ms,
    }
  })
}

/** The charges of a day's requests, corrections included. */
interface DailyCharge {
  readonly day: number
  readonly requests: number
  readonly amountMicros: number
}

async function dailyCharges(
  view: Kysely<Tables>,
  { accountId, fromMs, toMs, nowMs }: StatementQuery,
): Promise<readonly DailyCharge[]> {
  // Another gateway's clock may be ahead.
  const untilMs = Math.max(toMs, (dayOf(nowMs) + 2) * DAY_MS)
  const sums = await readSums(
    view,
    {
      accountId,
      by: null,
      step: 'day',
      fromHour: fromMs / HOUR_MS,
      untilHour: untilMs / HOUR_MS,
    },
    'amounts',
  )
  const days = (await sums.steps('all')).get(null) ?? []
  // All after the range is one, as in `requestDay`.
  const byDay = Map.groupBy(days, ([day]) => Math.min(day, dayOf(toMs)))
  return [...byDay].map(([day, parts]) => {
    const sum = parts.reduce((all, [, part]) => addSums(all, part), NO_USAGE)
    const charged = sum.backed_charge_micros + sum.free_charge_micros
    return { day, requests: sum.requests, amountMicros: sum.written_off_micros - charged }
  })
}

/** Corrections have lines of their own, which are taken out of the charges that they corrected. */
function chargesOf(
  charges: readonly DailyCharge[],
  corrections: readonly Corrections[],
): readonly Extract<StatementChange, { kind: 'charge' }>[] {
  const corrected = new Map<number | null, number>()
  for (const { request_day: day, sum_micros: sumMicros } of corrections) {
    corrected.set(day, (corrected.get(day) ?? 0) + sumMicros)
  }
  return charges.map(({ day, requests, amountMicros }) => {
    const apart = corrected.get(day) ?? 0
    return {
      kind: 'charge',
      dayMs: day * DAY_MS,
      requests,
      amountMicros: micros(amountMicros - apart),
    }
  })
}

function dayOf(atMs: number): number {
  return Math.floor(atMs / DAY_MS)
}
