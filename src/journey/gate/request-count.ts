import type { Clock } from '../../vocabulary/clock.ts'
import { WINDOW_SECONDS } from '../../vocabulary/request-window.ts'

/**
 * The number of requests in a sliding minute, exact to a second: a request of second `s` counts until the end
 * of second `s + 59`. Its memory does not grow with the number of requests.
 */
export class RequestCount {
  // A ring of one minute, which ends with `#newestSecond`.
  readonly #bySecond = new Uint32Array(WINDOW_SECONDS)
  #newestSecond = 0
  #total = 0

  /** Counts one request of this second. Seconds must not run backwards from call to call. */
  add(second: number): void {
    this.#moveTo(second)
    this.#bySecond[second % WINDOW_SECONDS] = this.#at(second) + 1
    this.#total++
  }

  /** Takes back one request of this second, if the second is still in the window. */
  remove(second: number): void {
    if (second <= this.#newestSecond - WINDOW_SECONDS) return
    this.#bySecond[second % WINDOW_SECONDS] = this.#at(second) - 1
    this.#total--
  }

  /** Requests in the minute that ends with this second. */
  total(second: number): number {
    this.#moveTo(second)
    return this.#total
  }

  /** Seconds until the minute has fewer requests than `limit`, if none is added: from 0 to 60. */
  secondsUntilBelow(input: { readonly limit: number; readonly second: number }): number {
    const { limit, second } = input
    let left = this.total(second)
    for (let wait = 0; wait < WINDOW_SECONDS; wait++) {
      if (left < limit) return wait
      // The oldest second of the window after `wait` seconds leaves with the next one.
      left -= this.#at(second - WINDOW_SECONDS + 1 + wait)
    }
    return WINDOW_SECONDS
  }

  #at(second: number): number {
    const place = ((second % WINDOW_SECONDS) + WINDOW_SECONDS) % WINDOW_SECONDS
    return this.#bySecond[place] ?? 0
  }

  #moveTo(second: number): void {
    const passed = second - this.#newestSecond
    if (passed <= 0) return
    this.#newestSecond = second
    if (passed >= WINDOW_SECONDS) {
      if (this.#total > 0) this.#bySecond.fill(0)
      this.#total = 0
      return
    }
    for (let left = second - passed + 1; left <= second; left++) {
      this.#total -= this.#at(left)
      this.#bySecond[left % WINDOW_SECONDS] = 0
    }
  }
}

/**
 * Whole seconds that never run backwards: when the system's clock is set back, they continue from where they
 * were, so that no request waits for a second that has already passed.
 */
export class RunningSeconds {
  readonly #clock: Clock
  #lastMs: number
  #setBackMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#lastMs = clock.nowMs()
  }

  /** The current second: that of Unix time until the clock is first set back. It never goes back. */
  now(): number {
    const nowMs = this.#clock.nowMs()
    if (nowMs < this.#lastMs) this.#setBackMs += this.#lastMs - nowMs
    this.#lastMs = nowMs
    return Math.floor((nowMs + this.#setBackMs) / 1_000)
  }
}
