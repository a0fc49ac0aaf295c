import { DAY_MS } from '../../../src/vocabulary/clock.ts'
import { dateOf } from '../../../src/vocabulary/date-range.ts'
import { dailyPace, paceSpan } from '../../../src/vocabulary/pace.ts'
import type { Statement } from '../../api/answers.ts'

type Line = Statement['lines'][number]

const AHEAD_DAYS = 7

/** The balance at the end of each UTC day of a statement, and its forecast at the present rate. */
interface BalanceDays {
  /** The start of each day, RFC 3339, and of seven more days if a rate is known. */
  readonly days: readonly string[]
  /** Null: a future day. */
  readonly balances: readonly (number | null)[]
  /** The forecast from today on; null before, and on all days if no rate is known. */
  readonly ahead: readonly (number | null)[]
  /** The sum of each day's top-ups, by the index of the day. */
  readonly topUps: readonly { readonly at: number; readonly amountMicros: number }[]
  /** The sum of each day's changes that are no charges, top-ups included, by the index of the day: they came or went at once. */
  readonly jumps: ReadonlyMap<number, number>
  /** The charge of a day at the present rate; null: none is known, or the statement does not cover its days. */
  readonly paceMicros: number | null
}

/** Whether a line is paid credit that a customer or the operator has put in. */
export function isTopUp({ kind }: Pick<Line, 'kind'>): boolean {
  return kind === 'top_up' || kind === 'purchase' || kind === 'activation'
}

/** When the account was opened, and the time now, in milliseconds since the Unix epoch. */
interface BalanceTimes {
  /** Null: not known yet. */
  readonly openedAtMs: number | null
  readonly nowMs: number
}

/** Reads the balance of each day from a statement. */
export function balanceDays(statement: Statement, times: BalanceTimes): BalanceDays {
  const { from, to, opening_balance: openingMicros, lines } = statement
  const fromMs = Date.parse(from)
  const byDate = Map.groupBy(lines, ({ date }) => date)
  const shown = Math.max(1, Math.round((Date.parse(to) - fromMs) / DAY_MS))
  const paceMicros = paceOf(statement, times)
  let balanceMicros = openingMicros
  const known = Array.from({ length: shown }, (_, place) => {
    // Newest first: the first line of a day has the balance at its end.
    const [newest] = byDate.get(dateOf(fromMs + place * DAY_MS)) ?? []
    balanceMicros = newest?.balance ?? balanceMicros
    return balanceMicros
  })
  const ahead =
    paceMicros === null || paceMicros === 0 || balanceMicros <= 0
      ? []
      : Array.from({ length: AHEAD_DAYS }, (_, place) =>
          Math.max(0, Math.round(balanceMicros - (place + 1) * paceMicros)),
        )
  const days = Array.from({ length: shown + ahead.length }, (_, place) =>
    new Date(fromMs + place * DAY_MS).toISOString(),
  )
  const sums = (isCounted: (line: Line) => boolean) =>
    known.flatMap((_, at) => {
      const own = (byDate.get(dateOf(fromMs + at * DAY_MS)) ?? []).filter(isCounted)
      return own.length === 0 ? [] : [{ at, amountMicros: sumOf(own) }]
    })
  // A write-off happens with the charges that it covers, so that the balance does not fall below zero between them.
  const jumps = sums((line) => !isSpend(line) && line.kind !== 'write_off')
  return {
    days,
    balances: [...known, ...ahead.map(() => null)],
    ahead: ahead.length === 0 ? [] : [...known.slice(1).map(() => null), balanceMicros, ...ahead],
    topUps: sums(isTopUp),
    jumps: new Map(jumps.map(({ at, amountMicros }) => [at, amountMicros])),
    paceMicros,
  }
}

/** The sum of lines. */
export function sumOf(lines: readonly Line[]): number {
  return lines.reduce((sum, { amount }) => sum + amount, 0)
}

/** Whether a line is for charges of requests. */
export function isSpend({ kind }: Pick<Line, 'kind'>): boolean {
  return kind === 'charge' || kind === 'correction'
}

function paceOf(
  { from, to, lines }: Statement,
  { openedAtMs, nowMs }: BalanceTimes,
): number | null {
  const { fromMs } = paceSpan(nowMs)
  if (openedAtMs === null || Date.parse(from) > fromMs || Date.parse(to) < nowMs) return null
  const first = dateOf(fromMs)
  const spent = lines.filter((line) => isSpend(line) && line.date >= first)
  return dailyPace(-sumOf(spent), { sinceMs: openedAtMs, nowMs })
}
