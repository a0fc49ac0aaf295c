import { DAY_MS } from '../../src/vocabulary/clock.ts'
import {
  type Comparison,
  comparedSpan,
  type DateRange,
  dateOf,
  type MovingRange,
  monthOf,
  type TimeSpan,
} from '../../src/vocabulary/date-range.ts'
import { counted } from './numbers.ts'

/** The words of every range that moves with the day. */
export const RANGE_WORDS: Readonly<Record<MovingRange, string>> = {
  today: 'Today',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
  month: 'This month',
  year: 'This year',
  all: 'All time',
}

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const dayAndYear = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
})

/** `2026-10-31` as `31 Oct 2026`. */
export function dateText(date: string): string {
  return dayAndYear.format(new Date(date))
}

/** A range in words: `Last 7 days`, `October 2026`, `31 Oct 2026`, `3 Oct to 4 Nov 2026`. */
export function rangeText(range: DateRange): string {
  if (range.kind === 'moving') return RANGE_WORDS[range.range]
  const { from, to } = range
  const month = monthOf({ fromMs: Date.parse(from), toMs: Date.parse(to) + DAY_MS })
  if (month !== null) return month
  if (from === to) return dateText(from)
  const isOneYear = from.slice(0, 4) === to.slice(0, 4)
  return `${isOneYear ? day.format(new Date(from)) : dateText(from)} to ${dateText(to)}`
}

/** The UTC days of a step of a chart. By position: the chart, and the place of the step. */
export function daysOfStep(
  { steps, to }: { readonly steps: readonly string[]; readonly to: string },
  at: number,
): DateRange {
  const fromMs = Date.parse(steps[at] ?? to)
  const endMs = Date.parse(steps[at + 1] ?? to)
  return { kind: 'dates', from: dateOf(fromMs), to: dateOf(endMs - 1) }
}

/** The time that a range is compared with, in words: `September`, `the 30 days before`, `a year before`. */
export function comparedText(span: TimeSpan, comparison: Comparison): string {
  if (comparison === 'year') return 'a year before'
  const month = monthOf(comparedSpan(span, comparison))
  if (month !== null && monthOf(span) !== null) return month.replace(/ \d+$/, '')
  const days = Math.round((span.toMs - span.fromMs) / DAY_MS)
  return days <= 1 ? 'the day before' : `the ${counted(days, 'day')} before`
}

/** The compared range after a verb: `in September`, `in the 30 days before`, `the day before`, `a year before`. */
export function comparedPhrase(span: TimeSpan, comparison: Comparison): string {
  const text = comparedText(span, comparison)
  return text === 'the day before' || comparison === 'year' ? text : `in ${text}`
}
