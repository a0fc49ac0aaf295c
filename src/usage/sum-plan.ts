import type { Kysely } from 'kysely'
import { prunedUntilMs } from '../ledger/activity/prune-requests.ts'
import type { Tables } from '../store/schema.ts'
import { DAY_MS, HOUR_MS } from '../vocabulary/clock.ts'
import { DAY_HOURS } from '../vocabulary/usage-step.ts'
import { countRequests, requestHourFrom, rolledBetween } from './rolled.ts'

/** Spans of time side by side, each with a number, its place. Later ones have higher places. */
interface Periods {
  readonly fromMs: number
  /** Exclusive. */
  readonly untilMs: number
  /** The place of the period at a moment; null: before the first. */
  placeAt(atMs: number): number | null
  /** The end of a period, exclusive; undefined: there is no such period. */
  endMsOf(place: number): number | undefined
}

/** Periods of any lengths, numbered from 0. By position: where each begins, ascending, and where the last one ends. */
export function periodsBetween(boundsMs: readonly number[]): Periods {
  const [fromMs = 0, untilMs = fromMs] = [boundsMs[0], boundsMs.at(-1)]
  return {
    fromMs,
    untilMs,
    placeAt(atMs) {
      let [low, high] = [-1, boundsMs.length - 1]
      while (low < high) {
        const middle = Math.ceil((low + high) / 2)
        if ((boundsMs[middle] ?? 0) <= atMs) low = middle
        else high = middle - 1
      }
      return low === -1 ? null : low
    },
    endMsOf: (place) => boundsMs[place + 1],
  }
}

/** Whole days or hours, numbered since the Unix epoch. */
export function equalPeriods({
  fromMs,
  untilMs,
  lengthMs,
}: Pick<Periods, 'fromMs' | 'untilMs'> & { readonly lengthMs: number }): Periods {
  return {
    fromMs,
    untilMs,
    placeAt: (atMs) => (atMs < fromMs ? null : Math.floor(atMs / lengthMs)),
    endMsOf: (place) => (place * lengthMs < untilMs ? (place + 1) * lengthMs : undefined),
  }
}

/**
 * The groups that sums distinguish. `kinds`: columns that all roll-ups have. `keys`: roll-ups of hours have none; of a
 * rolled day that periods divide, the longest part is the day without the requests of the others; a day whose requests
 * may have been pruned is not divided, and counts in the period in which it begins. `finest`: the same, but requests of
 * all parts are read, because a group of a day has so few that they take less time than its row. `keysOfHours`: as
 * `keys` for periods of an hour, except that pruned hours have the sums of all keys together. `tags`: only requests have
 * them.
 */
export type SumDetail = 'kinds' | 'keys' | 'finest' | 'keysOfHours' | 'tags'

/** Requests of a part of a period, which are read one by one. */
export interface Span {
  readonly place: number
  readonly fromMs: number
  readonly untilMs: number
}

/** Requests that are in the sums of a rolled day, and not of the period that has the day. */
interface MovedSpan extends Omit<Span, 'place'> {
  /** The period that has the day. */
  readonly outOf: number
  /** Their own period; null: they are in none. */
  readonly into: number | null
}

/** The source of each part of the periods. Rolled days and hours are by number, ascending, with their periods. */
export interface SumPlan {
  readonly usage_days: ReadonlyMap<number, number>
  readonly usage_hours: ReadonlyMap<number, number>
  /** Only where `keys` are distinguished, and a period begins within a day. */
  readonly moved: readonly MovedSpan[]
  /** In order; none ends where the next one of the same period begins. */
  readonly spans: readonly Span[]
}

/** Whole days come from days that are rolled up, other hours from hours that are, the rest from requests. */
export async function planSums(
  view: Kysely<Tables>,
  { periods, detail }: { readonly periods: Periods; readonly detail: SumDetail },
): Promise<SumPlan> {
  const plan = new PlannedParts(periods)
  const { days, hours, prunedMs, requestsFromMs, beginsAtMs } = await storedOf(view, periods)
  const readRequests = (time: Time): void => {
    // There are no requests before it.
    if (time.endMs > requestsFromMs) plan.addRequests(time)
  }
  const isFromHour = async (hour: number): Promise<boolean> => {
    const requests = hours.get(hour)
    if (requests === undefined) return false
    if (detail === 'kinds') return plan.isWhole(hourAt(hour)) || hour * HOUR_MS <= prunedMs
    return days.has(Math.floor(hour / DAY_HOURS)) && (await countRequests(view, hour)) < requests
  }
  const isFromDay = (day: number): boolean => {
    if (!days.has(day) || detail === 'tags') return false
    const readsKeys = detail === 'keys' || detail === 'finest'
    return plan.isWhole(dayAt(day)) || (readsKeys && day * DAY_MS <= prunedMs)
  }
  const isByHour = detail === 'kinds' || detail === 'keysOfHours'
  for (let day = Math.floor(beginsAtMs / DAY_MS); day * DAY_MS < periods.untilMs; day++) {
    if (isFromDay(day)) plan.addDay(day)
    else if (detail === 'keys' && days.has(day)) plan.addDividedDay(day)
    else if (!isByHour) readRequests(dayAt(day))
    else {
      for (let hour = day * DAY_HOURS; hour < (day + 1) * DAY_HOURS; hour++) {
        if (!plan.hasPartOf(hourAt(hour))) continue
        if (await isFromHour(hour)) plan.addHour(hour)
        else readRequests(hourAt(hour))
      }
    }
  }
  return plan
}

/** The stored facts that decide what is read where. */
async function storedOf(view: Kysely<Tables>, { fromMs, untilMs }: Periods) {
  // Days before the epoch have the requests that were pruned before there were roll-ups; their days are not known.
  const firstDay = Math.max(0, Math.floor(fromMs / DAY_MS))
  const firstHour = firstDay * DAY_HOURS
  const [untilDay, untilHour] = [Math.ceil(untilMs / DAY_MS), Math.ceil(untilMs / HOUR_MS)]
  const days = await rolledBetween(view, { step: 'day', from: firstDay, until: untilDay })
  const hours = await rolledBetween(view, { step: 'hour', from: firstHour, until: untilHour })
  const requestHour = await requestHourFrom(view, firstHour)
  const requestsFromMs = requestHour === null ? untilMs : requestHour * HOUR_MS
  // A range may begin thousands of years before the first request.
  const [firstRolledDay = untilDay] = days.keys()
  const [firstRolledHour = untilHour] = hours.keys()
  const beginsAtMs = Math.min(firstRolledDay * DAY_MS, firstRolledHour * HOUR_MS, requestsFromMs)
  const prunedMs = (await prunedUntilMs(view)) ?? Number.NEGATIVE_INFINITY
  return { days, hours, prunedMs, requestsFromMs, beginsAtMs }
}

/** From its start on, before its end. */
interface Time {
  readonly startMs: number
  readonly endMs: number
}

function dayAt(day: number): Time {
  return { startMs: day * DAY_MS, endMs: (day + 1) * DAY_MS }
}

function hourAt(hour: number): Time {
  return { startMs: hour * HOUR_MS, endMs: (hour + 1) * HOUR_MS }
}

/** A plan that is being made, in ascending order. */
class PlannedParts implements SumPlan {
  readonly usage_days = new Map<number, number>()
  readonly usage_hours = new Map<number, number>()
  readonly moved: MovedSpan[] = []
  readonly spans: { readonly place: number; readonly fromMs: number; untilMs: number }[] = []
  readonly #periods: Periods

  constructor(periods: Periods) {
    this.#periods = periods
  }

  hasPartOf({ startMs, endMs }: Time): boolean {
    return endMs > this.#periods.fromMs && startMs < this.#periods.untilMs
  }

  /** Whether a time begins and ends in one period. */
  isWhole({ startMs, endMs: stepEndMs }: Time): boolean {
    const place = this.#periods.placeAt(startMs)
    const endMs = place === null ? undefined : this.#periods.endMsOf(place)
    return endMs !== undefined && stepEndMs <= endMs
  }

  /** A day that begins before the first period is of none. */
  addDay(day: number): void {
    const place = this.#periods.placeAt(dayAt(day).startMs)
    if (place !== null) this.usage_days.set(day, place)
  }

  /** A rolled day whose requests are all there: its longest part is never read. */
  addDividedDay(day: number): void {
    const parts = this.#partsOf(dayAt(day))
    const longest = parts.reduce((one, other) =>
      other.endMs - other.startMs > one.endMs - one.startMs ? other : one,
    )
    if (longest.place === null) {
      this.addRequests(dayAt(day))
      return
    }
    this.usage_days.set(day, longest.place)
    for (const { place, startMs, endMs } of parts) {
      if (place === longest.place) continue
      this.moved.push({ outOf: longest.place, into: place, fromMs: startMs, untilMs: endMs })
    }
  }

  /** The parts of a time, in order. The place of one outside of all periods is null. */
  #partsOf({ startMs, endMs }: Time): readonly (Time & { readonly place: number | null })[] {
    const { fromMs, untilMs } = this.#periods
    const parts: (Time & { readonly place: number | null })[] = []
    for (let atMs = startMs; atMs < endMs; ) {
      const place = atMs < untilMs ? this.#periods.placeAt(atMs) : null
      const nextMs = atMs < fromMs ? fromMs : this.#periods.endMsOf(place ?? Number.NaN)
      const partEndMs = Math.min(endMs, nextMs ?? endMs)
      parts.push({ place, startMs: atMs, endMs: partEndMs })
      atMs = partEndMs
    }
    return parts
  }

  /** An hour that begins before the first period is of none. */
  addHour(hour: number): void {
    const place = this.#periods.placeAt(hourAt(hour).startMs)
    if (place !== null) this.usage_hours.set(hour, place)
  }

  addRequests({ startMs, endMs }: Time): void {
    const lastMs = Math.min(endMs, this.#periods.untilMs)
    let fromMs = Math.max(startMs, this.#periods.fromMs)
    while (fromMs < lastMs) {
      const place = this.#periods.placeAt(fromMs) ?? 0
      const untilMs = Math.min(endMs, this.#periods.endMsOf(place) ?? endMs)
      const last = this.spans.at(-1)
      if (last?.place === place && last.untilMs === fromMs) last.untilMs = untilMs
      else this.spans.push({ place, fromMs, untilMs })
      fromMs = untilMs
    }
  }
}
