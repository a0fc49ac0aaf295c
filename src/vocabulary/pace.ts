import { lastDays, type TimeSpan } from './date-range.ts'

// The rate at which credit is spent, for every forecast of how long an amount lasts.

const PACE_DAYS = 7

/** The UTC days whose charges are the present rate: the day of a moment, and the six before it. */
export function paceSpan(nowMs: number): TimeSpan {
  return lastDays(PACE_DAYS, { nowMs })
}

/**
 * The charge of a day at the present rate; null while the account or key is younger than a day, since an hour of
 * requests forecasts nothing. By position: the charges of `paceSpan`, and the time since when they can have been made.
 */
export function dailyPace(
  chargeMicros: number,
  { sinceMs, nowMs }: { readonly sinceMs: number; readonly nowMs: number },
): number | null {
  const { fromMs, toMs } = paceSpan(nowMs)
  const days = ((nowMs - Math.max(fromMs, sinceMs)) / (toMs - fromMs)) * PACE_DAYS
  return days < 1 ? null : Math.max(0, chargeMicros) / days
}

/** How many days available paid credit lasts at a rate; null: there is none, no rate is known, or nothing is spent. */
export function paidDaysLeft(availableMicros: number, paceMicros: number | null): number | null {
  return availableMicros <= 0 ? null : daysLeft(availableMicros, paceMicros)
}

/** How many days an amount lasts at a rate; null: no rate is known, or nothing is spent. */
export function daysLeft(availableMicros: number, paceMicros: number | null): number | null {
  return paceMicros === null || paceMicros === 0 ? null : availableMicros / paceMicros
}
