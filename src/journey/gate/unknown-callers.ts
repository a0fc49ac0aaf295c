import type { Arrival } from '../../vocabulary/call.ts'
import type { Clock } from '../../vocabulary/clock.ts'
import { Problem, type ProblemCode } from '../../vocabulary/problem.ts'
import { RequestCount, RunningSeconds } from './request-count.ts'

interface UnknownCallersInput {
  readonly clock: Clock
  /** The address that a request counts for. */
  readonly addressOf: (arrival: Arrival) => string
  /** Requests of one address in a minute with an unknown API key or token. */
  readonly requestsPerMinuteMax: number
  /** Addresses that are counted separately. Default 10,000. */
  readonly addressesMax?: number
}

const ADDRESSES_MAX_DEFAULT = 10_000

/**
 * Counts requests without a known API key or token, by client address. An address above the limit of a minute
 * is answered 429 until the minute has room again.
 *
 * Only requests whose key is unknown, or has to be looked up, are checked here. A known key never is, so a
 * client is not refused because of others behind its address. A request that is refused here does not count,
 * as at the gate.
 *
 * Memory is bounded: an address is dropped a minute after its last unknown key, and when `addressesMax`
 * addresses have counts, all others share one. A flood from a million networks is therefore still limited; a
 * client that mistypes its key meanwhile may get 429 in place of 401.
 */
export class UnknownCallers {
  readonly #input: UnknownCallersInput
  readonly #seconds: RunningSeconds
  readonly #byAddress = new Map<string, RequestCount>()
  readonly #allOthers = new RequestCount()
  /** Attempts that have begun and not ended, by address. */
  readonly #underWay = new Map<string, number>()
  #forgotAtSecond: number

  constructor(input: UnknownCallersInput) {
    this.#input = input
    this.#seconds = new RunningSeconds(input.clock)
    this.#forgotAtSecond = this.#seconds.now()
  }

  /** Addresses that have a count at this moment. */
  get remembered(): number {
    return this.#byAddress.size
  }

  /** Whether the address of a request is above the limit. */
  isOver(arrival: Arrival): boolean {
    return this.#isOver(this.#input.addressOf(arrival), 0)
  }

  /**
   * Begins an attempt that may turn out to be wrong, and says whether its address is above the limit. Until `end` is
   * called it counts as a wrong one, so that attempts at the same time are no more than those one after the other.
   */
  begin(arrival: Arrival): { readonly isOver: boolean; readonly end: () => void } {
    const address = this.#input.addressOf(arrival)
    const underWay = this.#underWay.get(address) ?? 0
    this.#underWay.set(address, underWay + 1)
    const end = (): void => {
      const others = (this.#underWay.get(address) ?? 1) - 1
      if (others === 0) this.#underWay.delete(address)
      else this.#underWay.set(address, others)
    }
    return { isOver: this.#isOver(address, underWay), end }
  }

  #isOver(address: string, underWay: number): boolean {
    const count = this.#byAddress.get(address) ?? this.#countOfNew()
    const counted = count?.total(this.#seconds.now()) ?? 0
    return counted + underWay >= this.#input.requestsPerMinuteMax
  }

  /**
   * The refusal of a request with an unknown API key or token: with this code, and counted; or
   * `rate_limited`, if its address is above the limit.
   */
  refusal(
    arrival: Arrival,
    { code, message }: { readonly code: ProblemCode; readonly message?: string },
  ): Problem {
    const second = this.#seconds.now()
    const count = this.#countOf(this.#input.addressOf(arrival), second)
    const max = this.#input.requestsPerMinuteMax
    if (count.total(second) < max) {
      count.add(second)
      return new Problem(code, message === undefined ? {} : { message })
    }
    return new Problem('rate_limited', {
      retryAfterSeconds: count.secondsUntilBelow({ limit: max, second }),
      message: `More than ${max} requests in a minute from this address had no known API key or token. Check the key, and wait as long as \`retry-after\` says.`,
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

  /** The shared count of addresses without one; null while there is room for more. */
  #countOfNew(): RequestCount | null {
    const { addressesMax = ADDRESSES_MAX_DEFAULT } = this.#input
    return this.#byAddress.size < addressesMax ? null : this.#allOthers
  }

  #forgetIdle(second: number): void {
    this.#forgotAtSecond = second
    for (const [address, count] of this.#byAddress) {
      if (count.total(second) === 0) this.#byAddress.delete(address)
    }
  }
}
