import { HOUR_MS } from './clock.ts'
import { firstIdOf, ID_AGE_MS_MAX } from './ids.ts'

/** The length of a roll-up. Days are UTC. */
export type UsageStep = (typeof USAGE_STEPS)[number]

/** Both of them. */
export const USAGE_STEPS = ['hour', 'day'] as const

/** The length of a chart's columns. Months are of UTC days, added up. */
export type ChartStep = (typeof CHART_STEPS)[number]

/** Every length. */
export const CHART_STEPS = [...USAGE_STEPS, 'month'] as const

/** Hours of a day. */
export const DAY_HOURS = 24

// How long an hour is watched for requests that come late, after it is closed.
const WATCHED_HOURS = 24

/** Hours before this one are closed at a moment: they ended so long ago that no hold opens in them. */
export function closedHourAt(nowMs: number): number {
  return Math.floor((nowMs - ID_AGE_MS_MAX) / HOUR_MS)
}

/** The first of the closed hours that are still counted: after a clock was set back they may get requests. */
export function watchedHourAt(nowMs: number): number {
  return closedHourAt(nowMs) - WATCHED_HOURS
}

/** The bounds of the request ids of some hours: from `fromId` on, before `untilId`. */
export function requestIdsOf({
  fromHour,
  untilHour,
}: {
  readonly fromHour: number
  readonly untilHour: number
}): { readonly fromId: string; readonly untilId: string } {
  return {
    fromId: firstIdOf({ prefix: 'req', timeMs: fromHour * HOUR_MS }),
    untilId: firstIdOf({ prefix: 'req', timeMs: untilHour * HOUR_MS }),
  }
}
