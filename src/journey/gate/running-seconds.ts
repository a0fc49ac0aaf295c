import type { Clock } from '../../vocabulary/clock.ts'

/**
 * Whole seconds that never run backwards: where the system's clock is set back, they go on from
 * where they stood, so that no one waits for a time that was already there.
 */
export class RunningSeconds {
  readonly #clock: Clock
  #lastMs: number
  #setBackMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#lastMs = clock.nowMs()
  }

  /** The second that it is. */
  now(): number {
    const nowMs = this.#clock.nowMs()
    if (nowMs < this.#lastMs) this.#setBackMs += this.#lastMs - nowMs
    this.#lastMs = nowMs
    return Math.floor((nowMs + this.#setBackMs) / 1_000)
  }
}
