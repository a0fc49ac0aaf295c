const STEP_MS = 20

/**
 * The time that this process has had: what other work takes from a busy machine does not count. For limits that are
 * short on an idle machine.
 */
export class OwnTime {
  #nowMs = 0
  // A step that comes late counts once.
  readonly #timer = setInterval(() => {
    this.#nowMs += STEP_MS
  }, STEP_MS)

  nowMs(): number {
    return this.#nowMs
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
