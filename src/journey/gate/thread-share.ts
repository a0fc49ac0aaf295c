import { type StartTimer, startUnrefTimer } from '../../vocabulary/clock.ts'

interface ThreadShareInput {
  /** Milliseconds of a clock that never steps. Default: `performance.now`. */
  readonly elapsedMs?: () => number
  /** Default: a timer that does not keep the process alive. */
  readonly startTimer?: StartTimer
}

/** A turn at heavy work. */
export interface Turn {
  /** Ends a part of the work, and resolves when its next part may begin: before anybody else's turn. */
  rest(): Promise<void>
  /** Ends the work. Once; later calls do nothing. */
  end(): void
}

// Heavy work has a quarter of the thread then.
const REST_OF_WORK = 3

/**
 * What heavy work may take of this thread: the parsing and sizing of large bodies, and the reading of
 * bodies that come in tiny pieces.
 *
 * A small request needs the thread half a dozen times on its way. Were every large body parsed as soon as
 * it is whole, one client could have eight of them parsed between any two of those times, and all other
 * clients would wait for seconds. So heavy work takes turns: one piece of it at a time, and after each
 * the thread is left to everything else for three times as long. A small request then meets one piece, or
 * none. One that meets nobody begins at once.
 *
 * Turns go round among owners, so that who has many waits for itself alone.
 */
export class ThreadShare {
  readonly #elapsedMs: () => number
  readonly #startTimer: StartTimer
  /** Who waits, by owner; the owner whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>()
  /** Whether a turn or the rest after it is under way. */
  #isTaken = false

  constructor({ elapsedMs, startTimer }: ThreadShareInput = {}) {
    this.#elapsedMs = elapsedMs ?? (() => performance.now())
    this.#startTimer = startTimer ?? startUnrefTimer
  }

  /** Resolves when it is an owner's turn, which ends when it is told to, and not before. */
  async turn(owner: string): Promise<Turn> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const ofOwner = this.#waiting.get(owner)
    if (ofOwner === undefined) this.#waiting.set(owner, [resolve])
    else ofOwner.push(resolve)
    this.#begin()
    await promise
    let startedAtMs = this.#elapsedMs()
    let hasEnded = false
    const restFrom = (andThen: () => void): void =>
      this.#rest({ workMs: this.#elapsedMs() - startedAtMs, andThen })
    return {
      rest: async () => {
        await new Promise<void>(restFrom)
        startedAtMs = this.#elapsedMs()
      },
      end: () => {
        if (hasEnded) return
        hasEnded = true
        restFrom(() => {
          this.#isTaken = false
          this.#begin()
        })
      },
    }
  }

  #begin(): void {
    if (this.#isTaken) return
    const next = this.#waiting.entries().next()
    if (next.done === true) return
    const [owner, [first, ...others]] = next.value
    this.#waiting.delete(owner)
    // Behind all other owners.
    if (others.length > 0) this.#waiting.set(owner, others)
    this.#isTaken = true
    first?.()
  }

  #rest({ workMs, andThen }: { readonly workMs: number; readonly andThen: () => void }): void {
    this.#startTimer({ delayMs: workMs * REST_OF_WORK, run: andThen })
  }
}
