import { type StartTimer, startUnrefTimer } from '../../vocabulary/clock.ts'

/** A turn for heavy work. */
export interface Turn {
  /** Ends one part of the work; resolves when the next may begin: before the owner's other turns, after other owners'. */
  rest(): Promise<void>
  /** Ends the turn; later calls do nothing. */
  end(): void
}

// Leaves heavy work a quarter of the thread's time.
const REST_OF_WORK = 3
// Work that was interrupted, such as by a suspended machine, is not rested from for as long again.
const REST_MS_MAX = 1_000

/**
 * The share of this thread that heavy work may use: parsing and sizing of large bodies, and reading of bodies
 * that arrive in tiny pieces.
 *
 * A small request needs the thread half a dozen times. If every large body were parsed as soon as it is
 * complete, one client could have eight of them parsed between any two of those times, and all other clients
 * would wait for seconds. So heavy work takes turns, one piece at a time, and after each piece the thread is
 * free for three times as long: a small request waits for one piece at most. Without a queue, a turn begins
 * at once.
 *
 * Turns rotate among owners, so that an owner with many turns delays only itself.
 */
export class ThreadShare {
  readonly #elapsedMs: () => number
  readonly #startTimer: StartTimer
  /** The waiting turns of each owner; the owner whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>()
  /** Whether a turn, or the rest after it, has not ended. */
  #isTaken = false

  constructor(
    input: {
      /** Milliseconds of a clock that never steps. Default: `performance.now`. */
      readonly elapsedMs?: () => number
      /** Default: a timer that does not keep the process alive. */
      readonly startTimer?: StartTimer
    } = {},
  ) {
    this.#elapsedMs = input.elapsedMs ?? (() => performance.now())
    this.#startTimer = input.startTimer ?? startUnrefTimer
  }

  /** Resolves when it is the owner's turn, which lasts until it is ended. */
  async turn(owner: string): Promise<Turn> {
    const first = Promise.withResolvers<void>()
    const ofOwner = this.#waiting.get(owner)
    if (ofOwner === undefined) this.#waiting.set(owner, [first.resolve])
    else ofOwner.push(first.resolve)
    this.#begin()
    await first.promise
    let startedAtMs = this.#elapsedMs()
    let hasEnded = false
    return {
      rest: async () => {
        const next = Promise.withResolvers<void>()
        const others = this.#waiting.get(owner) ?? []
        // The owner goes to the end of the queue, so that all other owners have their turns first.
        this.#waiting.delete(owner)
        this.#waiting.set(owner, [next.resolve, ...others])
        this.#rest(this.#elapsedMs() - startedAtMs)
        await next.promise
        startedAtMs = this.#elapsedMs()
      },
      end: () => {
        if (hasEnded) return
        hasEnded = true
        this.#rest(this.#elapsedMs() - startedAtMs)
      },
    }
  }

  #begin(): void {
    if (this.#isTaken) return
    const next = this.#waiting.entries().next()
    if (next.done === true) return
    const [owner, [first, ...others]] = next.value
    this.#waiting.delete(owner)
    // The owner's other turns go to the end of the queue.
    if (others.length > 0) this.#waiting.set(owner, others)
    this.#isTaken = true
    first?.()
  }

  #rest(workMs: number): void {
    this.#startTimer({
      delayMs: Math.min(workMs * REST_OF_WORK, REST_MS_MAX),
      run: () => {
        this.#isTaken = false
        this.#begin()
      },
    })
  }
}
