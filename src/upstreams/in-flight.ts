import { Problem } from '../vocabulary/problem.ts'

/** A place among the calls that an upstream may have at once. */
export interface CallPlace {
  /** Gives the place to the next that waits. Once; further calls do nothing. */
  leave(): void
}

interface InFlightInput {
  /** The most calls at once. */
  readonly inFlightMax: number
  /** How long a call waits for a place. */
  readonly queueTimeoutMs: number
}

interface Waiting {
  readonly resolve: (place: CallPlace) => void
  readonly stopWaiting: () => void
}

const WAITING_MAX = 256
// One key leaves most of the queue to others, even if its own limit of requests in flight is higher.
const WAITING_OF_KEY_MAX = 64
const RETRY_AFTER_SECONDS = 1

/**
 * The calls that an upstream has at once, and those that wait for a place. Keys take turns, and each key's calls
 * go in the order in which they came. At most 256 calls wait, 64 of one key.
 */
export class InFlight {
  readonly #input: InFlightInput
  /** The calls that wait, by key. The first key is the next to get a place, and goes to the end then. */
  readonly #waiting = new Map<string, Set<Waiting>>()
  #waitingCount = 0
  #inFlightCount = 0

  constructor(input: InFlightInput) {
    this.#input = input
  }

  get inFlight(): number {
    return this.#inFlightCount
  }

  get waiting(): number {
    return this.#waitingCount
  }

  /**
   * A place for a call of this key: at once, or when one becomes free. `signal` takes the call out of the queue;
   * the promise then rejects with its reason. Throws Problem `service_unavailable` with a time to come back if
   * too many wait, and rejects with it after the queue's time limit.
   */
  take(apiKeyId: string, signal: AbortSignal): CallPlace | Promise<CallPlace> {
    if (this.#inFlightCount < this.#input.inFlightMax) return this.#place()
    const ofKey = this.#waiting.get(apiKeyId) ?? new Set()
    if (this.#waitingCount >= WAITING_MAX || ofKey.size >= WAITING_OF_KEY_MAX) throw busy()
    this.#waiting.set(apiKeyId, ofKey)
    return new Promise((resolve, reject) => {
      const leaveQueue = (reason: unknown): void => {
        waiting.stopWaiting()
        this.#remove(apiKeyId, waiting)
        reject(reason)
      }
      const onAbort = (): void => leaveQueue(signal.reason)
      const timer = setTimeout(() => leaveQueue(busy()), this.#input.queueTimeoutMs)
      const waiting: Waiting = {
        resolve,
        stopWaiting() {
          clearTimeout(timer)
          signal.removeEventListener('abort', onAbort)
        },
      }
      ofKey.add(waiting)
      this.#waitingCount++
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort)
    })
  }

  #place(): CallPlace {
    this.#inFlightCount++
    let isTaken = true
    return {
      leave: () => {
        if (!isTaken) return
        isTaken = false
        this.#inFlightCount--
        this.#admitNext()
      },
    }
  }

  #admitNext(): void {
    const [next] = this.#waiting
    if (next === undefined) return
    const [apiKeyId, ofKey] = next
    const [waiting] = ofKey
    if (waiting === undefined) return
    this.#remove(apiKeyId, waiting)
    // The key's other calls come after those of all other keys.
    if (this.#waiting.delete(apiKeyId)) this.#waiting.set(apiKeyId, ofKey)
    waiting.stopWaiting()
    waiting.resolve(this.#place())
  }

  #remove(apiKeyId: string, waiting: Waiting): void {
    const ofKey = this.#waiting.get(apiKeyId)
    if (ofKey?.delete(waiting) !== true) return
    this.#waitingCount--
    if (ofKey.size === 0) this.#waiting.delete(apiKeyId)
  }
}

function busy(): Problem {
  return new Problem('service_unavailable', {
    message: 'This model has too many requests at once. Try again in a moment.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
}
