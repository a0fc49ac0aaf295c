import type { Clock } from '../../vocabulary/clock.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { RequestCount } from './request-count.ts'
import { RunningSeconds } from './running-seconds.ts'

/** The figures that the gate keeps; those of the ledger are the same. */
export interface GateSettings {
  /** Requests of one API key that may be read or run at a time: 8. */
  readonly inFlightMax: number
  /** Requests of one API key in a minute: 300. */
  readonly requestsPerMinuteMax: number
  /** Requests in a minute of all API keys of an account that never had backed credit: 20. */
  readonly unbackedRequestsPerMinuteMax: number
}

/** What the gate must know of who calls. */
export interface GateCaller {
  readonly accountId: string
  readonly apiKeyId: string
  /** Whether backed credit was ever added to the account: then no limit of the account counts. */
  readonly hasBackedCredit: boolean
}

/** A request's place in the gate, from before its body is read until its hold has ended. */
export interface GateSlot {
  /**
   * Says that the ledger has opened a hold for the request, which it counts there from this second on:
   * and so does the gate from now, not from when the request came. Once; later calls do nothing.
   */
  admitted(): void
  /**
   * Gives the place in flight back, while the call upstream is read on without its client until `leave`.
   * False, and nothing has changed, where as many calls are read on as may be: 16 of the API key, 512 of
   * this process. To be called once at the most.
   */
  readOn(): boolean
  /**
   * Gives the place in flight back, or ends the reading on. Once; later calls do nothing. To be called when the hold's end is
   * given to the ledger and before the answer's last byte is given to the client, not when the
   * connection is done with it: a client that has seen the end may send its next request at once.
   */
  leave(): void
}

interface GateInput {
  readonly clock: Clock
  readonly settings: GateSettings
}

/** What lets requests in before they are read. */
export interface Gate {
  /**
   * Lets a request in that has been authenticated and not yet read, and counts it. Throws Problem
   * `rate_limited`, which says when the minute will have room again, or
   * `too_many_concurrent_requests`; a request that is refused holds no place.
   */
  enter(caller: GateCaller): GateSlot
  /** API keys and accounts that are remembered at this moment, for metrics. */
  readonly remembered: number
}

/**
 * The gate of this process. It stands before the reading of bodies and protects memory: no key can
 * have more than eight bodies read at a time, and none can send bodies to be refused without end. It
 * sees what the ledger never does, and the ledger what other processes do; either refuses.
 *
 * Requests in a minute. Every authenticated request counts once, from the second it came, and one that
 * is admitted from the second it was, as in the ledger's own window: so the ledger, which counts those
 * alone and for all processes, has room by the time that is told here. What is refused for its rate does
 * not count: the 301st of a minute is refused unread, whatever became of the 300, and a key that never
 * stops has its 300 a minute all the same.
 *
 * Requests in flight. A request takes its place before it can have a hold, and keeps it until its
 * hold's end is given to the ledger. So where the gate says eight, eight are really being read or run
 * in this process, and a ninth is one too many whatever the ledger thinks of those still being read.
 * Requests that run in other processes are the ledger's to count; it may refuse what the gate let in.
 * At a request's end the two agree: its place is free before the client has the last byte, and the
 * ledger ends the holds that it has been told of before it opens new ones.
 *
 * Memory is bounded by the API keys and accounts of the last two minutes: others are forgotten.
 */
export function createGate(input: GateInput): Gate {
  return new MemoryGate(input)
}

const FORGET_AFTER_SECONDS = 60

// A call that is read on costs a socket and up to 64 KB for minutes, and nobody waits for it: a client
// could else have as many of them as it likes by leaving.
const READ_ON_MAX = 16
const READ_ON_TOTAL_MAX = 512

class MemoryGate implements Gate {
  readonly #seconds: RunningSeconds
  readonly #settings: GateSettings
  readonly #apiKeys = new Map<string, Seen>()
  readonly #unbackedAccounts = new Map<string, Seen>()
  readonly #readOn = { calls: 0 }
  #forgotAtSecond: number

  constructor({ clock, settings }: GateInput) {
    this.#seconds = new RunningSeconds(clock)
    this.#settings = settings
    this.#forgotAtSecond = this.#seconds.now()
  }

  get remembered(): number {
    return this.#apiKeys.size + this.#unbackedAccounts.size
  }

  enter(caller: GateCaller): GateSlot {
    const second = this.#seconds.now()
    if (second - this.#forgotAtSecond >= FORGET_AFTER_SECONDS) this.#forgetIdle(second)
    const apiKey = seenOf(this.#apiKeys, caller.apiKeyId)
    const account = caller.hasBackedCredit ? null : seenOf(this.#unbackedAccounts, caller.accountId)
    this.#refuseAboveRate({ apiKey, account, second })
    apiKey.requests.add(second)
    account?.requests.add(second)
    if (apiKey.inFlight >= this.#settings.inFlightMax) {
      throw new Problem('too_many_concurrent_requests', {
        message: `This API key already has ${apiKey.inFlight} requests in flight.`,
      })
    }
    apiKey.inFlight++
    if (account !== null) account.inFlight++
    return new TakenSlot(
      { apiKey, account, second },
      { seconds: this.#seconds, readOn: this.#readOn },
    )
  }

  #refuseAboveRate({ apiKey, account, second }: Place): void {
    const { requestsPerMinuteMax, unbackedRequestsPerMinuteMax } = this.#settings
    const keyWait = waitSeconds({ seen: apiKey, second, max: requestsPerMinuteMax })
    const accountWait =
      account === null
        ? 0
        : waitSeconds({ seen: account, second, max: unbackedRequestsPerMinuteMax })
    const retryAfterSeconds = Math.max(keyWait, accountWait)
    if (retryAfterSeconds === 0) return
    throw new Problem('rate_limited', {
      retryAfterSeconds,
      message:
        accountWait > keyWait
          ? `More than ${unbackedRequestsPerMinuteMax} requests in a minute on an account without backed credit; adding credit raises this limit.`
          : `More than ${requestsPerMinuteMax} requests in a minute on this API key.`,
    })
  }

  // Once a minute at most, so that the cost of a request stays flat however many keys there are.
  #forgetIdle(second: number): void {
    this.#forgotAtSecond = second
    for (const seenByName of [this.#apiKeys, this.#unbackedAccounts]) {
      for (const [name, seen] of seenByName) {
        if (seen.inFlight === 0 && seen.readOn === 0 && seen.requests.total(second) === 0)
          seenByName.delete(name)
      }
    }
  }
}

/** What is remembered of one API key or account. */
interface Seen {
  inFlight: number
  /** Calls that are read on without their clients; of API keys alone. */
  readOn: number
  /** All that were not refused for being too many. */
  readonly requests: RequestCount
}

interface Place {
  readonly apiKey: Seen
  /** Null where the account's limit does not count. */
  readonly account: Seen | null
  /** When the request came. */
  readonly second: number
}

function seenOf(seenByName: Map<string, Seen>, name: string): Seen {
  let seen = seenByName.get(name)
  if (seen === undefined) {
    seen = { inFlight: 0, readOn: 0, requests: new RequestCount() }
    seenByName.set(name, seen)
  }
  return seen
}

/** How long to wait until a request would be let in; 0: it is. */
function waitSeconds(input: {
  readonly seen: Seen
  readonly second: number
  readonly max: number
}): number {
  const { seen, second, max } = input
  if (seen.requests.total(second) < max) return 0
  return seen.requests.secondsUntilBelow({ limit: max, second })
}

/** What all slots of a gate share. */
interface GateCounts {
  readonly seconds: RunningSeconds
  /** Calls of all API keys that are read on. */
  readonly readOn: { calls: number }
}

/** In flight, then perhaps read on, then left. */
class TakenSlot implements GateSlot {
  readonly #place: Place
  readonly #counts: GateCounts
  #isAdmitted = false
  #stage: 'inFlight' | 'readOn' | 'left' = 'inFlight'

  constructor(place: Place, counts: GateCounts) {
    this.#place = place
    this.#counts = counts
  }

  admitted(): void {
    if (this.#isAdmitted) return
    this.#isAdmitted = true
    const { apiKey, account, second } = this.#place
    const nowSecond = this.#counts.seconds.now()
    if (nowSecond === second) return
    for (const seen of [apiKey, account]) {
      seen?.requests.remove(second)
      seen?.requests.add(nowSecond)
    }
  }

  readOn(): boolean {
    const { apiKey } = this.#place
    const { readOn } = this.#counts
    if (this.#stage !== 'inFlight') return false
    if (apiKey.readOn >= READ_ON_MAX || readOn.calls >= READ_ON_TOTAL_MAX) return false
    this.#givePlaceBack()
    this.#stage = 'readOn'
    apiKey.readOn++
    readOn.calls++
    return true
  }

  leave(): void {
    const { apiKey } = this.#place
    if (this.#stage === 'inFlight') this.#givePlaceBack()
    if (this.#stage === 'readOn') {
      apiKey.readOn--
      this.#counts.readOn.calls--
    }
    this.#stage = 'left'
  }

  #givePlaceBack(): void {
    const { apiKey, account } = this.#place
    apiKey.inFlight--
    if (account !== null) account.inFlight--
  }
}
