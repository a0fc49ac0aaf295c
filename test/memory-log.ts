import { EventEmitter, once } from 'node:events'

const LAST_LINES = 10

/** The log of a gateway, line by line. */
export class MemoryLog {
  /** Every line so far. */
  readonly lines: string[] = []
  readonly #quietMs: number
  readonly #longestMs: number
  // Any number of tests' steps wait at once.
  readonly #written = new EventEmitter().setMaxListeners(0)

  /**
   * Gives up a text if no line is written for `quietMs`, or it is in none for `longestMs`. Even a busy machine writes some
   * lines in the defaults.
   */
  constructor({ quietMs = 3 * 60_000, longestMs = 5 * 60_000 } = {}) {
    this.#quietMs = quietMs
    this.#longestMs = longestMs
  }

  /** Takes whole lines. */
  write(lines: string): void {
    this.lines.push(...lines.trimEnd().split('\n'))
    this.#written.emit('lines')
  }

  /**
   * Resolves with the first line that contains a text, among present and later ones. Rejects with the text and the last
   * lines once it is given up.
   */
  async logged(text: string): Promise<string> {
    const tooLong = AbortSignal.timeout(this.#longestMs)
    for (let place = 0; ; place++) {
      if (place === this.lines.length && !(await this.#another(tooLong))) {
        const last = this.lines.slice(-LAST_LINES).map((line) => `  ${line}`)
        throw new Error(
          [`no line has "${text}" in it of ${place} lines, the last of them:`, ...last].join('\n'),
        )
      }
      const line = this.lines[place] ?? ''
      if (line.includes(text)) return line
    }
  }

  /** Whether another line comes in time. */
  #another(tooLong: AbortSignal): Promise<boolean> {
    const signal = AbortSignal.any([tooLong, AbortSignal.timeout(this.#quietMs)])
    return once(this.#written, 'lines', { signal }).then(
      () => true,
      () => false,
    )
  }
}
