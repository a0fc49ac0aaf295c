interface PassesInput {
  /** From the end of a pass to the beginning of the next. */
  readonly intervalMs: number
  /** One pass. It checks `stopped` from time to time and ends early. */
  readonly pass: () => Promise<void>
  /** Called when a pass rejects before it was stopped; the next pass follows. */
  readonly onFailure: (cause: unknown) => void
}

/** Upkeep of a store that is repeated, while requests run, until it is stopped. */
export class Passes {
  readonly #input: PassesInput
  #timer: NodeJS.Timeout | null = null
  #wake: (() => void) | null = null
  #passing: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(input: PassesInput) {
    this.#input = input
  }

  /** Whether a pass must end early. */
  get stopped(): boolean {
    return this.#stopped
  }

  /** Begins a pass at once, and another after each. */
  start(): void {
    this.#passing = this.#passRepeatedly()
  }

  /** Begins the next pass now, unless one is running. */
  wake(): void {
    this.#wake?.()
  }

  /** Resolves after a time, on `wake` or on `stop`. */
  wait(waitMs: number): Promise<void> {
    if (this.#stopped) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = (): void => {
        if (this.#timer !== null) clearTimeout(this.#timer)
        this.#timer = null
        this.#wake = null
        resolve()
      }
      this.#wake = wake
      this.#timer = setTimeout(wake, waitMs)
      this.#timer.unref()
    })
  }

  /** Resolves when the running pass has ended. */
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
