import type { StartTimer } from '../../vocabulary/clock.ts'

interface PacedLookUpsInput<Found> {
  /** Asks for several names at once; resolves with what there is of them. */
  readonly lookUp: (names: readonly string[]) => Promise<ReadonlyMap<string, Found>>
  /** From the answer to one question to the next question. */
  readonly pauseMs: number
  readonly startTimer: StartTimer
}

interface Batch<Found> {
  readonly names: string[]
  readonly answer: Promise<ReadonlyMap<string, Found>>
}

// A statement of SQLite takes 32,766 values, and one of so many still takes only a millisecond or two.
const NAMES_MAX = 1_000

/**
 * Look-ups that may cost no more than a trickle, however many there are: one question at a time and a
 * pause after it. All that is asked for meanwhile goes into the next.
 */
export class PacedLookUps<Found> {
  readonly #input: PacedLookUpsInput<Found>
  #next: Batch<Found> | null = null
  /** Resolves when another question may be asked; never rejects. */
  #free: Promise<void> = Promise.resolve()

  constructor(input: PacedLookUpsInput<Found>) {
    this.#input = input
  }

  /** Resolves with an answer that has the name in it where it was found. Rejects as its question does. */
  ask(name: string): Promise<ReadonlyMap<string, Found>> {
    if (this.#next === null || this.#next.names.length === NAMES_MAX) this.#next = this.#begin()
    this.#next.names.push(name)
    return this.#next.answer
  }

  #begin(): Batch<Found> {
    const { lookUp, pauseMs, startTimer } = this.#input
    const names: string[] = []
    const answer = this.#free.then(() => {
      if (this.#next?.names === names) this.#next = null
      return lookUp(names)
    })
    const pause = (): Promise<void> =>
      new Promise((resolve) => startTimer({ delayMs: pauseMs, run: resolve }))
    this.#free = answer.then(pause, pause)
    return { names, answer }
  }
}
