import { firstIdOf } from './ids.ts'

/** The length of a chart's steps. Days are UTC. */
export type UsageStep = (typeof USAGE_STEPS)[number]

/** Both of them. */
export const USAGE_STEPS = ['hour', 'day'] as const

/** Milliseconds of an hour. */
export const HOUR_MS = 3_600_000

/** Hours of a day. */
export const DAY_HOURS = 24

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
