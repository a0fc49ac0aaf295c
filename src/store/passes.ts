interface PassesInput {
  /** From the end of a pass to the beginning of the next. */
  readonly intervalMs: number
  /** One pass; it asks `stopped` now and then and ends early. */
  readonly pass: () => Promise<void>
  /** Called where a pass rejected that was not stopped; the next goes on. */
  readonly onFailure: (cause: unknown) => void
}

/** Upkeep of a store that runs again and again beside requests, until it is stopped. */
export class Passes {
  readonly #input: PassesInput
  #timer: NodeJS.Timeout | null = null
  #wake: (() => void) | null = null
  #passing: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(input: PassesInput) {
    this.#input = input
  }

  /** Whether a pass is to end early. */
  get stopped(): boolean {
    return this.#stopped
  }

  /** Begins a pass at once, and another after each. */
  start(): void {
    this.#passing = this.#passRepeatedly()
  }

  /** Begins the next pass now, unless one is under way. */
  wake(): void {
    this.#wake?.()
  }

  /** Resolves after a time, when it is woken, or when it is to stop. */
  wait(waitMs: number): Promise<void> {
    if (this.#stopped) return Promise.resolve()
    return new Promise((resolve) => {
      this.#wake = () => {
        if (this.#timer !== null) clearTimeout(this.#timer)
        this.#timer = null
        this.#wake = null
        resolve()
      }
      this.#timer = setTimeout(this.#wake, waitMs)
      this.#timer.unref()
    })
  }

  /** Resolves when the pass that is under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#wake?.()
    await this.#passing
  }

  async #passRepeatedly(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#input.pass()
      } catch (cause) {
        if (!this.#stopped) this.#input.onFailure(cause)
      }
      await this.wait(this.#input.intervalMs)
    }
  }
}
