import type { Kysely } from 'kysely'
import { sumEntries } from '../ledger/activity/entry-sums.ts'
import { isStanding, isUnsettled } from '../ledger/activity/unsettled.ts'
import { Passes } from '../store/passes.ts'
import type { Tables } from '../store/schema.ts'
import type { Store } from '../store/store.ts'
import { type Clock, HOUR_MS } from '../vocabulary/clock.ts'
import { ID_AGE_MS_MAX, timeOfId } from '../vocabulary/ids.ts'
import { closedHourAt, DAY_HOURS, requestIdsOf, watchedHourAt } from '../vocabulary/usage-step.ts'
import { markEmptyHours, type RollInput, rollDay, rollHour, unrollHour } from './roll-period.ts'
import { countRequests, requestHourFrom, rolledBetween } from './rolled.ts'

interface UsageRollerInput {
  readonly store: Store
  /** The time that is in the store's rows. */
  readonly clock: Clock
  /** The hours in which this process made ids of requests since the last call. Default: in none that is closed. */
  readonly takeIdHours?: () => readonly number[]
  /** Called after each pass that rolled hours. */
  readonly onRolled: (hours: number) => void
  /** Called for an hour that got a request after it was rolled: it is rolled again. */
  readonly onLate: (hour: number) => void
  /** Called if the store failed; the next pass continues. */
  readonly onFailure: (cause: unknown) => void
  /** The share of time, from 0 to 1, in which the process was busy since the last call. Default: it is idle. */
  readonly readBusyShare?: () => number
  /** Lets others have the store after a statement that took so long. Default: as {@link pauseMsAfter} says. */
  readonly pause?: (tookMs: number) => Promise<void>
}

const PASS_INTERVAL_MS = 60_000

// While the process is idle, history of months is rolled in minutes, and the store is free for most of them. While
// it serves all that it can, rolling takes at most a hundredth of one core: charts are exact without roll-ups too.
const PAUSE_PER_STATEMENT_IDLE = 3
const PAUSE_PER_STATEMENT_BUSY = 99
const PAUSE_MS_MIN = 2

// A hold opens within the time of these passes after its request's id was made.
const ID_AGE_PASSES = Math.ceil(ID_AGE_MS_MAX / PASS_INTERVAL_MS) + 1

const UNSETTLED_STATES = ['open', 'provisional', 'unresolved'] as const

/**
 * Rolls requests up, hour by hour and the oldest first, while requests run: an hour once it gets no more requests
 * and all of them are settled, a day once its hours are rolled up. Settled requests never change, so roll-ups never
 * do. Several gateways may roll the same store.
 */
export class UsageRoller {
  readonly #input: UsageRollerInput
  readonly #passes: Passes
  /** All closed hours before it are rolled; null: nothing is known. */
  #rolledUntilHour: number | null = null
  #rolledUntilDay: number | null = null
  /** Hours in which a clock that was far behind made ids, and for how many more passes they may get requests. */
  readonly #farHours = new Map<number, number>()
  /** The day that the next pass looks back at; null: the last one before the watched hours. */
  #lookBackDay: number | null = null
  /** Whether entries were added up since an hour was rolled, or since the start. */
  #hasSummed = false

  constructor(input: UsageRollerInput) {
    this.#input = input
    this.#passes = new Passes({
      intervalMs: PASS_INTERVAL_MS,
      onFailure: input.onFailure,
      pass: async () => {
        const hours = await this.pass()
        if (hours > 0) input.onRolled(hours)
      },
    })
  }

  /** Begins a pass at once, and another a minute after each. */
  start(): void {
    this.#passes.start()
  }

  /** Ends with the running statement. */
  stop(): Promise<void> {
    return this.#passes.stop()
  }

  /** Rolls all that can be rolled by now, and returns how many hours with requests. Rejects if the store fails. */
  async pass(): Promise<number> {
    const { store, clock } = this.#input
    const nowMs = clock.nowMs()
    const closedHour = closedHourAt(nowMs)
    const watchedHour = watchedHourAt(nowMs)
    this.#watchFarHours(watchedHour)
    const requestHour = await requestHourFrom(store.reports, 0)
    if (requestHour === null) return 0
    const lookBackDay = this.#takeLookBackDay({ requestHour, watchedHour })
    await this.#unrollLate({ fromHour: watchedHour, lookBackDay })
    this.#lookAgainFrom(watchedHour)
    const firstHour = dayOf(requestHour) * DAY_HOURS
    const input = { store, nowMs, pause: this.#input.pause ?? ((tookMs) => this.#pause(tookMs)) }
    const hasSummed = this.#hasSummed
    // Until the pass is through: one that fails may have rolled hours.
    this.#hasSummed = false
    const rolled = await this.#rollHours(input, { firstHour, closedHour })
    await this.#rollDays(input, { firstHour, closedHour })
    if (rolled > 0 || !hasSummed) await sumEntries(store, input.pause)
    this.#hasSummed = true
    return rolled
  }

  async #rollHours(input: RollInput, { firstHour, closedHour }: ClosedHours): Promise<number> {
    const { reports } = input.store
    const fromHour = Math.max(this.#rolledUntilHour ?? firstHour, firstHour)
    const marked = await rolledBetween(reports, { step: 'hour', from: fromHour })
    const unsettled = await unsettledHours(reports, closedHour)
    let rolled = 0
    let hour = fromHour
    while (hour < closedHour && !this.#passes.stopped) {
      const next = marked.has(hour) ? hour : await nextHourOf(reports, { hour, closedHour })
      if (next > hour) await markEmptyHours(input, { fromHour: hour, untilHour: next })
      else if (!marked.has(hour) && !unsettled.has(hour)) {
        if (await rollHour(input, hour)) rolled++
      }
      hour = Math.max(next, hour + 1)
    }
    const after = await rolledBetween(reports, { step: 'hour', from: fromHour })
    this.#rolledUntilHour = firstMissing(after, fromHour)
    return rolled
  }

  async #rollDays(input: RollInput, { firstHour }: ClosedHours): Promise<void> {
    const { reports } = input.store
    const fromDay = Math.max(this.#rolledUntilDay ?? 0, dayOf(firstHour))
    const hours = await rolledBetween(reports, { step: 'hour', from: fromDay * DAY_HOURS })
    const marked = await rolledBetween(reports, { step: 'day', from: fromDay })
    for (const day of wholeDays(hours)) {
      if (this.#passes.stopped) return
      if (!marked.has(day)) await rollDay(input, day)
    }
    const after = await rolledBetween(reports, { step: 'day', from: fromDay })
    this.#rolledUntilDay = firstMissing(after, fromDay)
  }

  /** No hold opens in a closed hour, unless a clock was set back: such an hour is rolled again. */
  async #unrollLate(days: Omit<WatchedHours, 'farHours'>): Promise<void> {
    const { store, onLate } = this.#input
    const watched = { ...days, farHours: this.#farHours }
    for (const hour of await lateHours(store.reports, watched)) {
      if (!(await unrollHour(store.db, hour))) continue
      this.#lookAgainFrom(hour)
      onLate(hour)
    }
    for (const [hour, passes] of this.#farHours) {
      if (passes > 1) this.#farHours.set(hour, passes - 1)
      else this.#farHours.delete(hour)
    }
  }

  /**
   * An earlier day than the watched hours, each in its turn from the newest to the oldest: a process that knew of a late
   * request may have been killed before its next pass.
   */
  #takeLookBackDay({
    requestHour,
    watchedHour,
  }: Readonly<Record<'requestHour' | 'watchedHour', number>>): number | null {
    const firstDay = dayOf(requestHour)
    const lastDay = dayOf(watchedHour)
    if (lastDay < firstDay) return null
    const day = Math.min(this.#lookBackDay ?? lastDay, lastDay)
    this.#lookBackDay = day > firstDay ? day - 1 : null
    return day
  }

  /**
   * A clock that was behind for a short while, as after a machine was frozen, has made ids of hours that no process
   * watches.
   */
  #watchFarHours(watchedHour: number): void {
    // An hour that is still watched may be left by the time that the hold of its id opens.
    const keptHour = watchedHour + Math.ceil(ID_AGE_MS_MAX / HOUR_MS) + 1
    for (const hour of this.#input.takeIdHours?.() ?? []) {
      if (hour < keptHour) this.#farHours.set(hour, ID_AGE_PASSES)
    }
  }

  /** Forgets that an hour and its day are rolled up: another process took it back, or the database went back. */
  #lookAgainFrom(hour: number): void {
    const day = dayOf(hour)
    if (this.#rolledUntilHour !== null)
      this.#rolledUntilHour = Math.min(this.#rolledUntilHour, hour)
    if (this.#rolledUntilDay !== null) this.#rolledUntilDay = Math.min(this.#rolledUntilDay, day)
  }

  async #pause(tookMs: number): Promise<void> {
    const busyShare = this.#input.readBusyShare?.() ?? 0
    await this.#passes.wait(pauseMsAfter({ tookMs, busyShare }))
    if (this.#passes.stopped) throw new Error('the roller was stopped')
  }
}

/** How long to leave the store to others after a statement: the longer, the busier the process is. */
export function pauseMsAfter({
  tookMs,
  busyShare,
}: Readonly<Record<'tookMs' | 'busyShare', number>>): number {
  const range = PAUSE_PER_STATEMENT_BUSY - PAUSE_PER_STATEMENT_IDLE
  return Math.max(PAUSE_MS_MIN, tookMs * (PAUSE_PER_STATEMENT_IDLE + busyShare * range))
}

interface ClosedHours {
  /** The first hour of the day of the first request. */
  readonly firstHour: number
  /** Hours before it get no more requests. */
  readonly closedHour: number
}

/** The first hour from one on that has requests; `closedHour` where none before it has. */
async function nextHourOf(
  db: Kysely<Tables>,
  { hour, closedHour }: { readonly hour: number; readonly closedHour: number },
): Promise<number> {
  return Math.min(closedHour, (await requestHourFrom(db, hour)) ?? closedHour)
}

/** The closed hours that have requests which are not settled. */
async function unsettledHours(
  db: Kysely<Tables>,
  closedHour: number,
): Promise<ReadonlySet<number>> {
  const { untilId } = requestIdsOf({ fromHour: 0, untilHour: closedHour })
  const hours = new Set<number>()
  for (const isInState of [...UNSETTLED_STATES.map((state) => isUnsettled(state)), isStanding]) {
    const rows = await db
      .selectFrom('all_requests')
      .select('id')
      .where(isInState)
      .where('id', '<', untilId)
      .execute()
    for (const row of rows) hours.add(Math.floor((timeOfId(row.id) ?? 0) / HOUR_MS))
  }
  return hours
}

interface WatchedHours {
  /** All from this one on. */
  readonly fromHour: number
  /** Earlier ones. */
  readonly farHours: ReadonlyMap<number, unknown>
  /** All of this day too; null: of none. */
  readonly lookBackDay: number | null
}

/**
 * Watched hours that got requests after they were rolled up. Hours of days with pruned requests are left out, because
 * such a day can't be rolled up again.
 */
async function lateHours(
  db: Kysely<Tables>,
  { fromHour, farHours, lookBackDay }: WatchedHours,
): Promise<readonly number[]> {
  const fromDay = dayOf(fromHour)
  const rolled = new Map(await rolledBetween(db, { step: 'hour', from: fromDay * DAY_HOURS }))
  const earlierDays = new Set([...farHours.keys()].map(dayOf))
  if (lookBackDay !== null) earlierDays.add(lookBackDay)
  for (const day of earlierDays) {
    const hours = { from: day * DAY_HOURS, until: (day + 1) * DAY_HOURS }
    for (const each of await rolledBetween(db, { step: 'hour', ...hours })) rolled.set(...each)
  }
  const firstDay = Math.min(fromDay, ...earlierDays)
  const pruned = new Set((await rolledBetween(db, { step: 'pruned', from: firstDay })).keys())
  const late: number[] = []
  for (const [hour, requests] of rolled) {
    const present = await countRequests(db, hour)
    // Days that were pruned by a release before 0.3.0 have no mark.
    if (present < requests) pruned.add(dayOf(hour))
    const isWatched = hour >= fromHour || dayOf(hour) === lookBackDay || farHours.has(hour)
    if (present > requests && isWatched) late.push(hour)
  }
  return late.filter((hour) => !pruned.has(dayOf(hour)))
}

function dayOf(hour: number): number {
  return Math.floor(hour / DAY_HOURS)
}

function firstMissing(numbers: ReadonlyMap<number, unknown>, from: number): number {
  let number = from
  while (numbers.has(number)) number++
  return number
}

/** The days all of whose hours are there, the oldest first. */
function wholeDays(hours: ReadonlyMap<number, unknown>): readonly number[] {
  const counts = new Map<number, number>()
  for (const hour of hours.keys()) {
    const day = dayOf(hour)
    counts.set(day, (counts.get(day) ?? 0) + 1)
  }
  const whole = [...counts].filter(([, count]) => count === DAY_HOURS).map(([day]) => day)
  return whole.sort((one, other) => one - other)
}

/** A clock for the ids of requests, which remembers in which hours it was asked. */
export class IdHours implements Clock {
  #clock: Clock
  readonly #hours = new Set<number>()
  #latest: number | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  nowMs(): number {
    const nowMs = this.#clock.nowMs()
    const hour = Math.floor(nowMs / HOUR_MS)
    if (hour !== this.#latest) {
      this.#latest = hour
      this.#hours.add(hour)
    }
    return nowMs
  }

  /** Takes the time from another clock from now on, such as the database's, which several gateways share. */
  follow(clock: Clock): void {
    this.#clock = clock
  }

  /** The hours in which it was asked since the last call. */
  take(): readonly number[] {
    const hours = [...this.#hours]
    this.#hours.clear()
    this.#latest = null
    return hours
  }
}
