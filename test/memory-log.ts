import { EventEmitter, once } from 'node:events'
import { LOG_LIMITS } from './hang-limits.ts'

const LAST_LINES = 10

/** The log of a gateway, line by line. */
export class MemoryLog {
  /** Every line so far. */
  readonly lines: string[] = []
  readonly #limits: typeof LOG_LIMITS
  // Any number of tests' steps wait at once.
  readonly #written = new EventEmitter().setMaxListeners(0)

  constructor(limits = LOG_LIMITS) {
    this.#limits = limits
  }

  /** Takes whole lines. */
  write(lines: string): void {
    this.lines.push(...lines.trimEnd().split('\n'))
    this.#written.emit('lines')
  }

  /**
   * Resolves with the first line that contains a text, among present and later ones. Rejects with the text and the last
   * lines at a limit.
   */
  async logged(text: string): Promise<string> {
    const whole = this.#limits.whole()
    for (let place = 0; ; place++) {
      if (place === this.lines.length && !(await this.#another(whole))) {
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
  #another(whole: AbortSignal): Promise<boolean> {
    const signal = AbortSignal.any([whole, this.#limits.quiet()])
    return once(this.#written, 'lines', { signal }).then(
      () => true,
      () => false,
    )
  }
}
