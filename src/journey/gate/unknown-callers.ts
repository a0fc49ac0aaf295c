import type { Arrival } from '../../vocabulary/call.ts'
import type { Clock } from '../../vocabulary/clock.ts'
import { Problem, type ProblemCode } from '../../vocabulary/problem.ts'
import { RequestCount } from './request-count.ts'
import { RunningSeconds } from './running-seconds.ts'

interface UnknownCallersInput {
  readonly clock: Clock
  /** The address that a request counts for. */
  readonly addressOf: (arrival: Arrival) => string
  /** Requests of one address in a minute whose API key or token is not known. */
  readonly requestsPerMinuteMax: number
  /** Addresses that are told apart. Default 10,000. */
  readonly addressesMax?: number
}

const ADDRESSES_MAX_DEFAULT = 10_000

/**
 * Counts, by client address, the requests that bring no API key or token that is known. An address that
 * had its share of them in a minute is refused with 429 until the minute has room again.
 *
 * It is asked about a request only once its key turned out to be unknown, or has to be looked up: a key
 * that is known never meets it, so a client is not refused for what others behind its address do. What
 * is refused here does not count, as at the gate.
 *
 * Memory is bounded: an address is forgotten a minute after its last mistake, and while as many as may
 * be told apart are remembered, all others count as one. So a flood from a million networks is still
 * limited; a client that mistakes its key meanwhile may read 429 where it would read 401.
 */
export class UnknownCallers {
  readonly #seconds: RunningSeconds
  readonly #addressOf: UnknownCallersInput['addressOf']
  readonly #requestsPerMinuteMax: number
  readonly #addressesMax: number
  readonly #byAddress = new Map<string, RequestCount>()
  readonly #allOthers = new RequestCount()
  #forgotAtSecond: number

  constructor({ clock, addressOf, requestsPerMinuteMax, addressesMax }: UnknownCallersInput) {
    this.#seconds = new RunningSeconds(clock)
    this.#addressOf = addressOf
    this.#requestsPerMinuteMax = requestsPerMinuteMax
    this.#addressesMax = addressesMax ?? ADDRESSES_MAX_DEFAULT
    this.#forgotAtSecond = this.#seconds.now()
  }

  /** Addresses that are remembered at this moment. */
  get remembered(): number {
    return this.#byAddress.size
  }

  /** Whether the address of a request has had its share. */
  isOver(arrival: Arrival): boolean {
    const second = this.#seconds.now()
    const count = this.#byAddress.get(this.#addressOf(arrival)) ?? this.#countOfNew()
    return count !== null && count.total(second) >= this.#requestsPerMinuteMax
  }

  /**
   * How a request is refused whose API key or token is not known: as that, and counted; or as
   * `rate_limited`, once its address has had its share.
   */
  refusal(
    arrival: Arrival,
    { code, message }: { readonly code: ProblemCode; readonly message?: string },
  ): Problem {
    const second = this.#seconds.now()
    const count = this.#countOf(this.#addressOf(arrival), second)
    const max = this.#requestsPerMinuteMax
    if (count.total(second) < max) {
      count.add(second)
      return new Problem(code, message === undefined ? {} : { message })
    }
    return new Problem('rate_limited', {
      retryAfterSeconds: count.secondsUntilBelow({ limit: max, second }),
      message: `More than ${max} requests in a minute from this address had no API key or token that is known.`,
    })
  }

  #countOf(address: string, second: number): RequestCount {
    const earlier = this.#byAddress.get(address)
    if (earlier !== undefined) return earlier
    // Once a second at most, so that the cost of a request stays flat in a flood of addresses.
    if (second > this.#forgotAtSecond) this.#forgetIdle(second)
    const shared = this.#countOfNew()
    if (shared !== null) return shared
    const count = new RequestCount()
    this.#byAddress.set(address, count)
    return count
  }

  /** What an address that is not remembered counts for; null: itself alone. */
  #countOfNew(): RequestCount | null {
    return this.#byAddress.size < this.#addressesMax ? null : this.#allOthers
  }

  #forgetIdle(second: number): void {
    this.#forgotAtSecond = second
    for (const [address, count] of this.#byAddress) {
      if (count.total(second) === 0) this.#byAddress.delete(address)
    }
  }
}
