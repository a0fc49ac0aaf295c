import { DAY_MS, HOUR_MS } from './clock.ts'
import type { ChartStep } from './usage-step.ts'
import { wordsOf } from './words-of.ts'

// Ranges of UTC days, for charts and reports: as the address of a page has them, as the time that they span, and the
// range that one is compared with.

/** A range that moves with the day: "the last 30 days" is today and the 29 UTC days before it. */
export type MovingRange = (typeof MOVING_RANGES)[number]

/** Every range that moves. */
export const MOVING_RANGES = ['today', '7d', '30d', '90d', 'month', 'year', 'all'] as const

/** The most days of a range that is read. */
export const RANGE_DAYS_MAX = 400

/** How many days counts of refused requests are kept. */
export const REFUSALS_KEPT_DAYS = 30

/** A range as a person chose it. `from` and `to` are dates such as `2026-10-31`, both included. */
export type DateRange =
  | { readonly kind: 'moving'; readonly range: MovingRange }
  | { readonly kind: 'dates'; readonly from: string; readonly to: string }

/** From its start on, before its end, in milliseconds since the Unix epoch. */
export interface TimeSpan {
  readonly fromMs: number
  readonly toMs: number
}

/** The range with which a range is compared. */
export type Comparison = (typeof COMPARISONS)[number]

/** The time just before, or the same dates a year earlier. */
export const COMPARISONS = ['before', 'year'] as const

const HOURS_UP_TO_MS = 48 * HOUR_MS
const DAYS_UP_TO_MS = 92 * DAY_MS

const LAST_DAYS: Partial<Record<MovingRange, number>> = { today: 1, '7d': 7, '30d': 30, '90d': 90 }

const MONTHS = wordsOf(`
  January February March April May June July August September October November December
`)

/** The last so many UTC days up to a moment: the day of the moment, and those before it. */
export function lastDays(days: number, { nowMs }: { readonly nowMs: number }): TimeSpan {
  const toMs = dayAt(nowMs) + DAY_MS
  return { fromMs: toMs - days * DAY_MS, toMs }
}

/**
 * The time that a range spans: whole UTC days, today included. `firstMs` is a moment before which there is nothing, where
 * "all time" begins.
 */
export function spanOf(
  range: DateRange,
  { nowMs, firstMs }: { readonly nowMs: number; readonly firstMs: number },
): TimeSpan {
  if (range.kind === 'dates') {
    return { fromMs: Date.parse(range.from), toMs: Date.parse(range.to) + DAY_MS }
  }
  const days = LAST_DAYS[range.range]
  if (days !== undefined) return lastDays(days, { nowMs })
  const { toMs } = lastDays(1, { nowMs })
  if (range.range === 'month') return { fromMs: monthStart(nowMs), toMs }
  if (range.range === 'year') return { fromMs: Date.UTC(monthAt(nowMs).year, 0), toMs }
  return { fromMs: monthStart(Math.min(firstMs, nowMs)), toMs }
}

/** The day before a moment, as dates: it stays when the day ends. */
export function yesterday(nowMs: number): DateRange {
  const date = dateOf(nowMs - DAY_MS)
  return { kind: 'dates', from: date, to: date }
}

/** The whole month of a moment, or so many months after it. */
export function wholeMonth(atMs: number, monthsLater = 0): DateRange {
  const lastMs = monthStart(atMs, monthsLater + 1) - DAY_MS
  return { kind: 'dates', from: dateOf(monthStart(atMs, monthsLater)), to: dateOf(lastMs) }
}

/** The span that another is compared with: of a whole month that before it is the month before. */
export function comparedSpan({ fromMs, toMs }: TimeSpan, comparison: Comparison): TimeSpan {
  if (comparison === 'year') {
    // February has its last day in each year if it is whole. Otherwise the last moment of a span has its date.
    const isWhole = [fromMs, toMs].every((atMs) => atMs === monthStart(atMs))
    const endMs = isWhole ? yearBefore(toMs) : yearBefore(toMs - 1) + 1
    return { fromMs: yearBefore(fromMs), toMs: endMs }
  }
  if (monthOf({ fromMs, toMs }) !== null) return { fromMs: monthStart(fromMs, -1), toMs: fromMs }
  return { fromMs: 2 * fromMs - toMs, toMs: fromMs }
}

/** The start of the UTC month that a moment is in, or so many months after it. */
export function monthStart(atMs: number, monthsLater = 0): number {
  const { year, month } = monthAt(atMs)
  return Date.UTC(year, month + monthsLater)
}

/** Hours up to 48 of them, days up to 92, and months for longer spans. */
export function stepOf({ fromMs, toMs }: TimeSpan): ChartStep {
  const lengthMs = toMs - fromMs
  if (lengthMs <= HOURS_UP_TO_MS) return 'hour'
  return lengthMs <= DAYS_UP_TO_MS ? 'day' : 'month'
}

/** The name of the month that a span is all of, such as `October 2026`; null: it is no whole month. */
export function monthOf({ fromMs, toMs }: TimeSpan): string | null {
  const { year, month } = monthAt(fromMs)
  const isWhole = fromMs === monthStart(fromMs) && toMs === monthStart(fromMs, 1)
  return isWhole ? `${MONTHS[month]} ${year}` : null
}

/** A range as the address of a page has it: one that moves, or two dates. */
export interface RangeSearch {
  readonly range?: MovingRange
  readonly from?: string
  readonly to?: string
}

/** Writes it. */
export function searchOf(range: DateRange): RangeSearch {
  return range.kind === 'moving' ? { range: range.range } : { from: range.from, to: range.to }
}

/** Reads a range from an address; null: it has none, or one that is none. */
export function readDateRange({
  range,
  from,
  to,
}: {
  readonly range?: unknown
  readonly from?: unknown
  readonly to?: unknown
}): DateRange | null {
  const moving = MOVING_RANGES.find((known) => known === range)
  if (moving !== undefined) return { kind: 'moving', range: moving }
  if (typeof from !== 'string' || typeof to !== 'string') return null
  return isDate(from) && isDate(to) && from <= to ? { kind: 'dates', from, to } : null
}

const TYPED_DATE = /^(\d{1,2})\.? +([a-z]{3,9})\.?(?: +(\d{4}))?$/i

/**
 * Reads a date that a person typed: `2026-10-31`, `31 Oct` or `31 October 2026`. Without a year, the last such day up to
 * today. Null: it is no date.
 */
export function readTypedDate(typed: string, nowMs: number): string | null {
  const text = typed.trim()
  if (isDate(text)) return text
  const [, day = '', name = '', year] = TYPED_DATE.exec(text) ?? []
  const month = MONTHS.findIndex((known) => known.toLowerCase().startsWith(name.toLowerCase()))
  if (name === '' || month < 0) return null
  const dateIn = (inYear: number): string => {
    const pad = (number: number | string, length: number) => String(number).padStart(length, '0')
    return `${pad(inYear, 4)}-${pad(month + 1, 2)}-${pad(day, 2)}`
  }
  if (year !== undefined) return isDate(dateIn(Number(year))) ? dateIn(Number(year)) : null
  const thisYear = monthAt(nowMs).year
  // The 29th of February was at most eight years ago.
  for (let inYear = thisYear; inYear >= thisYear - 8; inYear--) {
    const date = dateIn(inYear)
    if (isDate(date) && date <= dateOf(nowMs)) return date
  }
  return null
}

/** The UTC date of a moment, such as `2026-10-31`. */
export function dateOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10)
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false
  const atMs = Date.parse(text)
  return !Number.isNaN(atMs) && dateOf(atMs) === text
}

function dayAt(atMs: number): number {
  return Math.floor(atMs / DAY_MS) * DAY_MS
}

function monthAt(atMs: number): { readonly year: number; readonly month: number } {
  const at = new Date(atMs)
  return { year: at.getUTCFullYear(), month: at.getUTCMonth() }
}

/** The moment a year before this one; of a leap day, that of the 28th of February. */
function yearBefore(atMs: number): number {
  const { year, month } = monthAt(atMs)
  const date = new Date(atMs).getUTCDate()
  const lastDate = new Date(Date.UTC(year - 1, month + 1) - DAY_MS).getUTCDate()
  return Date.UTC(year - 1, month, Math.min(date, lastDate)) + (atMs - dayAt(atMs))
}
