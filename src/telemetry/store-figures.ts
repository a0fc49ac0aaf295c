import type { Clock } from '../vocabulary/clock.ts'

interface StoreFiguresInput<Figures> {
  readonly clock: Clock
  readonly query: () => Promise<Figures>
  /** The shortest time from one query to the next. Default 15,000. */
  readonly intervalMs?: number
  /** How long a read waits for the store. Default 1,000. */
  readonly waitMs?: number
}

const INTERVAL_MS_DEFAULT = 15_000
const WAIT_MS_DEFAULT = 1_000

/**
 * Figures of the store, as of a few seconds ago. However often they are read, the store gets one
 * query at a time and one an interval. A read of a store that hangs ends after `waitMs`.
 */
export class StoreFigures<Figures> {
  readonly #input: StoreFiguresInput<Figures>
  #figures: Figures | null = null
  #queriedAtMs = Number.NEGATIVE_INFINITY
  #query: Promise<void> | null = null

  constructor(input: StoreFiguresInput<Figures>) {
    this.#input = input
  }

  /** Null if the store did not answer: the figures are unknown, not zero. */
  async read(): Promise<Figures | null> {
    const { clock, intervalMs = INTERVAL_MS_DEFAULT } = this.#input
    const nowMs = clock.nowMs()
    const isDue = nowMs - this.#queriedAtMs >= intervalMs || nowMs < this.#queriedAtMs
    if (this.#query === null && isDue) {
      this.#queriedAtMs = nowMs
      this.#query = this.#count().finally(() => {
        this.#query = null
      })
    }
    if (this.#query !== null) await this.#waitFor(this.#query)
    return this.#figures
  }

  /** Never rejects. */
  async #count(): Promise<void> {
    try {
      this.#figures = await this.#input.query()
    } catch {
      // The log has the cause.
      this.#figures = null
    }
  }

  async #waitFor(query: Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const outOfTime = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, this.#input.waitMs ?? WAIT_MS_DEFAULT, 'late')
    })
    const ended = await Promise.race([query, outOfTime])
    clearTimeout(timer)
    if (ended === 'late') this.#figures = null
  }
}
