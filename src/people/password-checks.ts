import { type StartTimer, startUnrefTimer } from '../vocabulary/clock.ts'
import { FairQueue } from '../vocabulary/fair-queue.ts'
import { Problem } from '../vocabulary/problem.ts'

// Node's thread pool has four threads, which connections to the provider need too. Each check takes
// some 60 ms and 32 MB.
const AT_ONCE_MAX = 2
const STRANGERS_WAITING_MAX = 32
const KNOWN_WAITING_MAX = 8

const REFUSED_AFTER_MS = 2_000
const REFUSED_LATER_MAX = 256

/** The owner of a password that is checked: a user who is signed in, or was before in this browser, or a stranger. */
export type Checked =
  | { readonly knownUserId: string }
  /** The client address; an IPv6 address counts as its network. */
  | { readonly address: string }

/**
 * Checks passwords a few at a time, so that a flood of sign-ins does not take the thread pool from the gateway. Known users go
 * first. Strangers take turns by network, in each the newest first; when all places are taken, the oldest of the network with
 * the most gives way. It is answered two seconds later, so that a client that tries again at once floods no faster.
 */
export class PasswordChecks {
  readonly #startTimer: StartTimer
  readonly #queue: FairQueue
  readonly #refusals = new WeakSet<Error>()
  #refusedLater = 0

  constructor(startTimer: StartTimer = startUnrefTimer) {
    this.#startTimer = startTimer
    this.#queue = new FairQueue({
      placesMax: AT_ONCE_MAX,
      lanes: [
        { waitingMax: KNOWN_WAITING_MAX, whenFull: 'oldestOfLargestLeaves' },
        {
          waitingMax: STRANGERS_WAITING_MAX,
          first: 'newest',
          whenFull: 'oldestOfLargestLeaves',
        },
      ],
      refusal: () => this.#refusal(),
    })
  }

  /** Throws Problem `service_unavailable` where the check gave way. */
  async run<T>(checked: Checked, check: () => Promise<T>): Promise<T> {
    const entry =
      'knownUserId' in checked
        ? { lane: 0, owner: checked.knownUserId }
        : { lane: 1, owner: networkOf(checked.address) }
    try {
      return await this.#queue.run(entry, check)
    } catch (error) {
      if (error instanceof Error && this.#refusals.has(error)) await this.#wait()
      throw error
    }
  }

  #refusal(): Problem {
    const refusal = new Problem('service_unavailable', {
      message: 'Too many people are signing in at this moment. Try again in a few seconds.',
      retryAfterSeconds: 2,
    })
    this.#refusals.add(refusal)
    return refusal
  }

  async #wait(): Promise<void> {
    if (this.#refusedLater >= REFUSED_LATER_MAX) return
    this.#refusedLater++
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#startTimer({ delayMs: REFUSED_AFTER_MS, run: resolve })
    await promise
    this.#refusedLater--
  }
}

/** The network of a client address: of IPv4 24 bits, of IPv6 48. */
function networkOf(address: string): string {
  const separator = address.includes(':') ? ':' : '.'
  return address.split(separator).slice(0, 3).join(separator)
}
