import type { Clock } from '../vocabulary/clock.ts'
import { HOUR_MS } from '../vocabulary/usage-step.ts'

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
