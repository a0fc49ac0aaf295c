import { z } from 'zod'
import { type PeriodSpan, periodSpanAt } from '../../vocabulary/allowance.ts'
import { DAY_MS, HOUR_MS } from '../../vocabulary/clock.ts'
import { RANGE_DAYS_MAX } from '../../vocabulary/date-range.ts'
import { invalidParameter } from '../../vocabulary/problem.ts'
import { momentField } from '../fields.ts'

const RANGE_DAYS_DEFAULT = 30

/** The steps that a report can have rows for, in addition to its groups. */
export const STEPS = ['day', 'month'] as const

interface StepIn {
  readonly step: (typeof STEPS)[number]
  readonly zone: string
}

const PLACE_WORDS = 'must be a date such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z'

/** A moment, or a date, which means its start in the time zone of a report. */
export const placeField = z
  .union([z.iso.date(PLACE_WORDS), momentField], PLACE_WORDS)
  .describe('A date, for its start in `time_zone`, or a time (RFC 3339).')

/** The range of a report, in milliseconds since the Unix epoch. */
export interface ReportRange {
  readonly fromMs: number
  readonly toMs: number
}

/**
 * The moments of a range of at most {@link RANGE_DAYS_MAX} days, and an hour more for days of a zone. By default it is
 * {@link RANGE_DAYS_DEFAULT} days of the zone, the last of which may be a part. Throws Problem `invalid_parameter`.
 */
export function rangeOf(
  {
    from,
    to,
    time_zone: zone,
  }: {
    readonly from?: string | number | undefined
    readonly to?: string | number | undefined
    readonly time_zone: string
  },
  nowMs: number,
): ReportRange {
  const placeMs = (place: string | number): number =>
    typeof place === 'number' ? place : startOfDate({ date: place, zone })
  const toMs = to === undefined ? nowMs : placeMs(to)
  const fromMs = from === undefined ? startOfLastDays(toMs, zone) : placeMs(from)
  if (fromMs >= toMs) {
    throw invalidParameter('from', '`from` must be before `to`, which is now if it is left out.')
  }
  // The longest may have an hour more than the others.
  if (toMs - fromMs > RANGE_DAYS_MAX * DAY_MS + HOUR_MS) {
    throw invalidParameter('from', `\`from\` must be at most ${RANGE_DAYS_MAX} days before \`to\`.`)
  }
  return { fromMs, toMs }
}

const dayIn = (zone: string, atMs: number): PeriodSpan =>
  periodSpanAt({ allowancePeriod: 'day', allowanceTimeZone: zone }, atMs)

/** Finds the dates of moments in a zone. Make it once for a report: this takes a fifth of a millisecond. */
function datesIn(zone: string): (atMs: number) => string {
  const formatter = new Intl.DateTimeFormat('en-CA', { timeZone: zone })
  return (atMs) => formatter.format(atMs)
}

/** The first moment of a date in a zone; for a date that the zone skipped, the first moment of the next. */
function startOfDate({ date, zone }: { readonly date: string; readonly zone: string }): number {
  const dateOf = datesIn(zone)
  let day = dayIn(zone, Date.parse(date) - DAY_MS)
  while (dateOf(day.startsAtMs) < date) day = dayIn(zone, day.endsAtMs)
  return day.startsAtMs
}

/** The start of the first of the default's days: the last of them is the day that ends at a moment, or in which it is. */
function startOfLastDays(toMs: number, zone: string): number {
  const last = dayIn(zone, toMs - 1)
  // From noon to noon: a day of a zone can be an hour shorter or longer than others.
  const noonMs = last.startsAtMs + DAY_MS / 2
  return dayIn(zone, noonMs - (RANGE_DAYS_DEFAULT - 1) * DAY_MS).startsAtMs
}

/** The starts of the days or months of a range in a zone, and the end of the last; the outer ones may be parts. */
function boundsOf({ fromMs, toMs }: ReportRange, { step, zone }: StepIn): readonly number[] {
  const period = { allowancePeriod: step, allowanceTimeZone: zone }
  const boundsMs = [fromMs]
  for (let atMs = fromMs; ; ) {
    atMs = periodSpanAt(period, atMs).endsAtMs
    if (atMs >= toMs) return [...boundsMs, toMs]
    boundsMs.push(atMs)
  }
}

/** The days or months of a range in a zone: their dates, where they begin, and where the last one ends. */
export function stepsIn(range: ReportRange, { step, zone }: StepIn) {
  const dateOf = datesIn(zone)
  const boundsMs = boundsOf(range, { step, zone })
  const dates = boundsMs.slice(0, -1).map((startMs) => {
    const date = dateOf(startMs)
    return step === 'day' ? date : date.slice(0, 'yyyy-mm'.length)
  })
  return { boundsMs, dates }
}
