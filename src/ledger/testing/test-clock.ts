import type { Clock } from '../../vocabulary/clock.ts'

/** A clock that stands still until a test moves it. */
export class TestClock implements Clock {
  #nowMs = 0

  nowMs(): number {
    return this.#nowMs
  }

  set(nowMs: number): void {
    this.#nowMs = nowMs
  }
}
