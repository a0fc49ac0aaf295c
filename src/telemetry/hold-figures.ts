import type { HoldCount } from '../ledger/activity/unsettled.ts'
import type { Clock } from '../vocabulary/clock.ts'

interface HoldFiguresInput {
  /** Asks the store. */
  readonly countHolds: () => Promise<readonly HoldCount[]>
  readonly clock: Clock
  /** The store is not asked more often. Default 15,000. */
  readonly intervalMs?: number
  /** How long whoever reads waits for the store. Default 1,000. */
  readonly waitMs?: number
}

const INTERVAL_MS_DEFAULT = 15_000
const WAIT_MS_DEFAULT = 1_000

/**
 * The unsettled holds of the store, as of a few seconds ago: however many read them, the store is asked
 * once an interval, by one question at a time. A store that does not answer makes nobody wait for long.
 */
export class HoldFigures {
  readonly #input: HoldFiguresInput
  #counts: readonly HoldCount[] | null = null
  #askedAtMs = Number.NEGATIVE_INFINITY
  #asking: Promise<void> | null = null

  constructor(input: HoldFiguresInput) {
    this.#input = input
  }

  /** Null where the store did not answer: nothing is known then, which is not the same as none. */
  async read(): Promise<readonly HoldCount[] | null> {
    const { clock, intervalMs = INTERVAL_MS_DEFAULT } = this.#input
    const nowMs = clock.nowMs()
    const isDue = nowMs - this.#askedAtMs >= intervalMs || nowMs < this.#askedAtMs
    if (this.#asking === null && isDue) {
      this.#askedAtMs = nowMs
      this.#asking = this.#ask().finally(() => {
        this.#asking = null
      })
    }
    if (this.#asking !== null) await this.#awhile(this.#asking)
    return this.#counts
  }

  /** Never rejects. */
  async #ask(): Promise<void> {
    try {
      this.#counts = await this.#input.countHolds()
    } catch {
      // The store's own metrics and the log say why.
      this.#counts = null
    }
  }

  async #awhile(asking: Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const outOfTime = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, this.#input.waitMs ?? WAIT_MS_DEFAULT, 'late')
    })
    const ended = await Promise.race([asking, outOfTime])
    clearTimeout(timer)
    if (ended === 'late') this.#counts = null
  }
}
