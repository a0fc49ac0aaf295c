import { DAY_MS } from './clock.ts'
import { monthStart } from './date-range.ts'

/** How often an allowance resets. Weeks begin on Monday. */
export type AllowancePeriod = (typeof ALLOWANCE_PERIODS)[number]

/** The periods of an allowance, the shortest first. */
export const ALLOWANCE_PERIODS = ['day', 'week', 'month'] as const

/** The calendar by which an allowance resets. */
interface AllowanceCalendar {
  readonly allowancePeriod: AllowancePeriod
  /** A name of the time-zone database, or an offset such as `+05:45`. */
  readonly allowanceTimeZone: string
}

/** A period of a calendar: from its start on, before its end. */
export interface PeriodSpan {
  readonly startsAtMs: number
  readonly endsAtMs: number
}

// 1970-01-01 was a Thursday.
const DAYS_SINCE_MONDAY = 3
const WEEK_DAYS = 7

/** Whether a time zone is known to this process. */
export function isTimeZone(name: string): boolean {
  try {
    formatterOf(name)
    return true
  } catch {
    return false
  }
}

/** Whether both reset at the same moments. Null: no allowance. */
export function isSameCalendar(one: AllowanceCalendar | null, other: AllowanceCalendar): boolean {
  return (
    one?.allowancePeriod === other.allowancePeriod &&
    one.allowanceTimeZone === other.allowanceTimeZone
  )
}

/**
 * The period that a moment lies in. Days are the zone's own, of 23 to 25 hours: a period begins at the first moment
 * that its first date has in the zone, which is not always midnight, and ends where the next one begins. Takes
 * microseconds, and up to a millisecond around a change of the zone's offset: to be asked once a period. Throws
 * RangeError for an unknown zone.
 */
export function periodSpanAt(calendar: AllowanceCalendar, atMs: number): PeriodSpan {
  const { allowanceTimeZone: timeZone, allowancePeriod: period } = calendar
  let firstDay = firstDayOf(period, wallMsAt(timeZone, atMs))
  for (;;) {
    const nextDay = firstDayOf(period, firstDay, 1)
    const endsAtMs = startOfDay(timeZone, nextDay)
    // A clock that goes back over midnight shows the end of a date twice: the second time belongs to the new date.
    if (atMs < endsAtMs) return { startsAtMs: startOfDay(timeZone, firstDay), endsAtMs }
    firstDay = nextDay
  }
}

/** The first date of a period, or of one so many periods later. Dates are named by their midnight in UTC. */
function firstDayOf(period: AllowancePeriod, wallMs: number, periodsLater = 0): number {
  const days = Math.floor(wallMs / DAY_MS)
  switch (period) {
    case 'day':
      return (days + periodsLater) * DAY_MS
    case 'week': {
      const monday = days - remainder(days + DAYS_SINCE_MONDAY, { of: WEEK_DAYS })
      return (monday + periodsLater * WEEK_DAYS) * DAY_MS
    }
    case 'month':
      return monthStart(wallMs, periodsLater)
  }
}

/** The first moment at which clocks of the zone show a date, or a later one where they skip it. */
function startOfDay(timeZone: string, day: number): number {
  const byOffsetAt = (atMs: number): number => day - (wallMsAt(timeZone, atMs) - atMs)
  const beforeMs = byOffsetAt(day - DAY_MS)
  const afterMs = byOffsetAt(day + DAY_MS)
  let earliestMs = Math.min(beforeMs, afterMs)
  let latestMs = Math.max(beforeMs, afterMs)
  if (wallMsAt(timeZone, earliestMs) === day) return earliestMs
  if (wallMsAt(timeZone, latestMs) === day) return latestMs
  // Clocks go forward over midnight: the date begins later, where they do.
  while (earliestMs < latestMs) {
    const middleMs = Math.floor((earliestMs + latestMs) / 2)
    if (wallMsAt(timeZone, middleMs) < day) earliestMs = middleMs + 1
    else latestMs = middleMs
  }
  return earliestMs
}

/** The local time of the zone, as the moment at which clocks in UTC show the same. */
export function wallMsAt(timeZone: string, atMs: number): number {
  const shown: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {}
  for (const { type, value } of formatterOf(timeZone).formatToParts(atMs)) {
    shown[type] = Number(value)
  }
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown
  return Date.UTC(year, month - 1, day, hour, minute, second) + remainder(atMs, { of: 1_000 })
}

const FORMATTERS_MAX = 1_000
const formatters = new Map<string, Intl.DateTimeFormat>()

/** Making one takes a tenth of a millisecond. */
function formatterOf(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone)
  if (known !== undefined) return known
  const formatter = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  if (formatters.size >= FORMATTERS_MAX) formatters.clear()
  formatters.set(timeZone, formatter)
  return formatter
}

/** The remainder that is never below zero. */
function remainder(value: number, { of }: { readonly of: number }): number {
  return ((value % of) + of) % of
}
