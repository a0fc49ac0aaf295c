import type { RequestOwner } from '../work.ts'

/** A hold that may or may not exist. */
export interface UnsureHold extends RequestOwner {
  readonly requestId: string
}

interface UnsureHoldsInput {
  /** How long until the store is asked again after it did not answer. */
  readonly retryMs: number
  /** Releases the hold if it exists; rejects if the store did not answer. */
  readonly release: (hold: UnsureHold) => Promise<void>
}

/**
 * Holds whose opening may or may not have been committed. Nothing runs on them, so each is released
 * if it exists: the store is asked until it has answered for all.
 */
export class UnsureHolds {
  readonly #input: UnsureHoldsInput
  readonly #holds = new Map<string, UnsureHold>()
  #timer: NodeJS.Timeout | null = null
  #asking = false
  #closed = false
  #waiters: (() => void)[] = []

  constructor(input: UnsureHoldsInput) {
    this.#input = input
  }

  add(hold: UnsureHold): void {
    if (this.#closed) return
    this.#holds.set(hold.requestId, hold)
    this.#askLater()
  }

  has(requestId: string): boolean {
    return this.#holds.has(requestId)
  }

  /** Resolves once no hold is unsure. */
  settled(): Promise<void> {
    if (this.#holds.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#waiters.push(resolve))
  }

  /** Stops asking. The next start of the gateway finds the remaining holds by their instance. */
  close(): void {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #askLater(): void {
    if (this.#closed || this.#asking || this.#timer !== null) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      void this.#ask()
    }, this.#input.retryMs)
    this.#timer.unref()
  }

  async #ask(): Promise<void> {
    this.#asking = true
    const asked = [...this.#holds.values()]
    const answers = await Promise.allSettled(asked.map(this.#input.release))
    for (const [place, { requestId }] of asked.entries()) {
      if (answers[place]?.status === 'fulfilled') this.#holds.delete(requestId)
    }
    this.#asking = false
    if (this.#holds.size > 0) this.#askLater()
    else for (const resolve of this.#waiters.splice(0)) resolve()
  }
}
