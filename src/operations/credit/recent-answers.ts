import type { Clock } from '../../vocabulary/clock.ts'

/** How long the answer to a question stands in for asking it again. */
const KEPT_MS = 3_000

interface Kept<Answer> {
  readonly answer: Promise<Answer>
  /** Null: the question is under way. */
  endedAtMs: number | null
}

/**
 * The latest answers of a provider. A question that was answered in the last three seconds gets the same answer, even if
 * it is a failure, so that no caller can make the gateway ask in a loop.
 */
export class RecentAnswers<Answer> {
  readonly #clock: Clock
  readonly #kept = new Map<string, Kept<Answer>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The answer to the question of this name, which `ask` asks if no recent answer is known. */
  get(name: string, ask: () => Promise<Answer>): Promise<Answer> {
    this.#forgetOld()
    const known = this.#kept.get(name)
    if (known !== undefined) return known.answer
    const kept: Kept<Answer> = { answer: ask(), endedAtMs: null }
    const end = (): void => {
      kept.endedAtMs = this.#clock.nowMs()
    }
    kept.answer.then(end, end)
    this.#kept.set(name, kept)
    return kept.answer
  }

  #forgetOld(): void {
    const nowMs = this.#clock.nowMs()
    for (const [name, { endedAtMs }] of this.#kept) {
      // Also where the clock was set back.
      const isOld = endedAtMs !== null && Math.abs(nowMs - endedAtMs) >= KEPT_MS
      if (isOld) this.#kept.delete(name)
    }
  }
}
