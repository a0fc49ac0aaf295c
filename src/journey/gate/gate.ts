import type { Clock } from '../../vocabulary/clock.ts'
import { countInWords } from '../../vocabulary/count-in-words.ts'
import { Problem } from '../../vocabulary/problem.ts'
import type { RateLimit } from '../../vocabulary/request-window.ts'
import {
  IN_FLIGHT_ADVICE,
  IN_FLIGHT_RETRY_SECONDS,
  RATE_ADVICE,
  UNBACKED_ADVICE,
} from '../../vocabulary/request-window.ts'
import { type Caller, isUnbacked } from './caller.ts'
import { RequestCount, RunningSeconds } from './request-count.ts'

/**
 * The things that a gate can count: the names of their owner and of themselves in messages, and the error code for too
 * many in flight.
 */
const COUNTED = {
  apiKey: { name: 'API key', things: 'requests', inFlightCode: 'too_many_concurrent_requests' },
  user: { name: 'user', things: 'requests', inFlightCode: 'rate_limited' },
  calls: { name: 'API key', things: 'calls other than inference', inFlightCode: 'rate_limited' },
  allowances: { name: 'account', things: 'changes of allowances', inFlightCode: 'rate_limited' },
} as const

/** The limits of a gate. Those of API keys are also in the ledger. */
export interface GateSettings {
  /** The kind of calls that are counted, under the ID in `apiKeyId`. Default: requests of API keys. */
  readonly counts?: keyof typeof COUNTED
  /** Requests of one API key that may be read or run at a time. */
  readonly inFlightMax: number
  /** Requests of one API key in a minute. */
  readonly requestsPerMinuteMax: number
  /** Requests in a minute of all API keys of an account that never had paid credit. Default: no limit. */
  readonly unbackedRequestsPerMinuteMax?: number
}

/** The caller of a request, as far as the gate's limits depend on it. */
export type GateCaller = Pick<Caller, 'accountId' | 'apiKeyId' | 'hasBackedCredit' | 'ownLimits'>

const FORGET_AFTER_SECONDS = 60

// A call whose answer is read on without its client takes a socket and up to 64 KB for minutes. Without these limits a
// client could cause any number of such calls by leaving.
const READ_ON_MAX = 16
const READ_ON_TOTAL_MAX = 512

/**
 * The limits of this process. The gate acts before bodies are read, and protects memory: no API key can
 * have more bodies read at a time than its limit, or send bodies without end only to have them refused. The gate
 * counts requests that never reach the ledger; the ledger counts those of other processes. Either refuses.
 *
 * Requests in a minute. Every authenticated request counts once: from the second in which it arrived, and
 * once it is admitted from the second of its admission, as in the ledger's window. The ledger counts admitted
 * requests only, of all processes, so it has room again by the time that a refusal of the gate names. A
 * request that is refused for its rate does not count, so a key that never pauses still gets its limit of each minute.
 *
 * Requests in flight. A request takes its place before it can have a hold, and keeps it until the end of its
 * hold is given to the ledger. Requests of other processes are left to the ledger, which may refuse a request
 * that the gate let in. The two agree at a request's end: its place is free before the client has the last
 * byte, and the ledger ends the holds that it was given before it opens new ones.
 *
 * Memory is bounded by the API keys and accounts of the last two minutes; older ones are dropped.
 */
export class Gate {
  readonly #seconds: RunningSeconds
  readonly #settings: GateSettings
  readonly #apiKeys = new Map<string, Counts>()
  /** The counts of accounts that have a limit. */
  readonly #accounts = new Map<string, Counts>()
  readonly #totalState: GateState
  #forgotAtSecond: number

  constructor({ clock, settings }: { readonly clock: Clock; readonly settings: GateSettings }) {
    this.#seconds = new RunningSeconds(clock)
    this.#totalState = { seconds: this.#seconds, readOn: { calls: 0 } }
    this.#settings = settings
    this.#forgotAtSecond = this.#seconds.now()
  }

  /** API keys and accounts that have counts at this moment, for metrics. */
  get remembered(): number {
    return this.#apiKeys.size + this.#accounts.size
  }

  /**
   * Lets in and counts a request that is authenticated and not yet read. Throws Problem `rate_limited`, with
   * the seconds until the minute has room, or `too_many_concurrent_requests`; a refused request holds no
   * place.
   */
  enter(caller: GateCaller): GateSlot {
    const second = this.#seconds.now()
    if (second - this.#forgotAtSecond >= FORGET_AFTER_SECONDS) this.#forgetIdle(second)
    const apiKey = countsOf(this.#apiKeys, caller.apiKeyId)
    const limits = limitsOf(caller, this.#settings)
    const account =
      limits.accountRequestsMax === null && limits.accountInFlightMax === null
        ? null
        : countsOf(this.#accounts, caller.accountId)
    const place: Place = { apiKey, account, second }
    refuseAboveRate(place, limits)
    apiKey.requests.add(second)
    account?.requests.add(second)
    refuseInFlight(place, limits)
    apiKey.inFlight++
    if (account !== null) account.inFlight++
    return new TakenSlot(place, { gate: this.#totalState, rateLimits: rateLimitsOf(place, limits) })
  }

  // At most once a minute, so that the cost of a request does not grow with the number of keys.
  #forgetIdle(second: number): void {
    this.#forgotAtSecond = second
    for (const countsByName of [this.#apiKeys, this.#accounts]) {
      for (const [name, counts] of countsByName) {
        const isIdle = counts.inFlight === 0 && counts.readOn === 0
        if (isIdle && counts.requests.total(second) === 0) countsByName.delete(name)
      }
    }
  }
}

/** The limits of one caller; null: none. */
interface Limits {
  readonly counts: keyof typeof COUNTED
  readonly keyRequestsMax: number
  readonly keyInFlightMax: number
  readonly accountRequestsMax: number | null
  readonly accountInFlightMax: number | null
  /** Whether the limit of requests in a minute of the account is that of accounts without paid credit. */
  readonly isUnbacked: boolean
}

function limitsOf(caller: GateCaller, settings: GateSettings): Limits {
  const { hasBackedCredit, ownLimits } = caller
  const ofAccount = ownLimits?.accountRequestsPerMinuteMax ?? null
  const byCredit = hasBackedCredit ? null : (settings.unbackedRequestsPerMinuteMax ?? null)
  return {
    counts: settings.counts ?? 'apiKey',
    keyRequestsMax: ownLimits?.keyRequestsPerMinuteMax ?? settings.requestsPerMinuteMax,
    keyInFlightMax: ownLimits?.keyInFlightMax ?? settings.inFlightMax,
    accountRequestsMax: ofAccount ?? byCredit,
    accountInFlightMax: ownLimits?.accountInFlightMax ?? null,
    isUnbacked: isUnbacked(caller),
  }
}

function refuseAboveRate({ apiKey, account, second }: Place, limits: Limits): void {
  const { counts, keyRequestsMax, accountRequestsMax } = limits
  const keyWait = apiKey.requests.secondsUntilBelow({ limit: keyRequestsMax, second })
  const accountWait =
    accountRequestsMax === null
      ? 0
      : (account?.requests.secondsUntilBelow({ limit: accountRequestsMax, second }) ?? 0)
  const retryAfterSeconds = Math.max(keyWait, accountWait)
  if (retryAfterSeconds === 0) return
  // Only the limits of inference can be raised.
  const advice = counts === 'apiKey' ? ` ${RATE_ADVICE}` : ''
  const onAccount = limits.isUnbacked
    ? `an account without paid credit. ${UNBACKED_ADVICE}`
    : `this account.${advice}`
  throw new Problem('rate_limited', {
    retryAfterSeconds,
    rateLimits: rateLimitsOf({ apiKey, account, second }, limits),
    message:
      accountWait > keyWait
        ? `More than ${inWords(accountRequestsMax ?? 0, counts)} in a minute on ${onAccount}`
        : `More than ${inWords(keyRequestsMax, counts)} in a minute on this ${COUNTED[counts].name}.${advice}`,
  })
}

/** The limits of a minute that a request is under, with this moment's rest. */
function rateLimitsOf(
  { apiKey, account, second }: Place,
  { keyRequestsMax, accountRequestsMax }: Limits,
): readonly RateLimit[] {
  const ofKey = rateLimitOf(apiKey, { name: 'key', max: keyRequestsMax, second })
  if (account === null || accountRequestsMax === null) return [ofKey]
  return [ofKey, rateLimitOf(account, { name: 'account', max: accountRequestsMax, second })]
}

function rateLimitOf(
  { requests }: Counts,
  { name, max, second }: Pick<RateLimit, 'name' | 'max'> & { readonly second: number },
): RateLimit {
  const total = requests.total(second)
  // One fewer than now, or than the limit: a refused request is not counted.
  const limit = Math.min(total, max)
  const resetSeconds = requests.secondsUntilBelow({ limit, second })
  return { name, max, remaining: Math.max(0, max - total), resetSeconds }
}

function refuseInFlight(
  { apiKey, account }: Place,
  { counts, keyInFlightMax, accountInFlightMax }: Limits,
): void {
  if (apiKey.inFlight >= keyInFlightMax) {
    throw tooManyInFlight(COUNTED[counts].name, apiKey.inFlight, counts)
  }
  if (account === null || accountInFlightMax === null) return
  if (account.inFlight >= accountInFlightMax) {
    throw tooManyInFlight('account', account.inFlight, counts)
  }
}

function tooManyInFlight(owner: string, inFlight: number, counts: keyof typeof COUNTED): Problem {
  // Only the limits of inference can be raised.
  const advice = counts === 'apiKey' ? ` ${IN_FLIGHT_ADVICE}` : ''
  return new Problem(COUNTED[counts].inFlightCode, {
    message: `This ${owner} already has ${inWords(inFlight, counts)} in flight.${advice}`,
    retryAfterSeconds: IN_FLIGHT_RETRY_SECONDS,
  })
}

function inWords(count: number, counts: keyof typeof COUNTED): string {
  const { things } = COUNTED[counts]
  return things === 'requests' ? countInWords(count, 'request') : `${count} ${things}`
}

/** The counts of one API key or account. */
interface Counts {
  inFlight: number
  /** Calls whose answers are read on after their clients have left; counted for API keys only. */
  readOn: number
  /** All requests but those refused for their rate. */
  readonly requests: RequestCount
}

function countsOf(countsByName: Map<string, Counts>, name: string): Counts {
  let counts = countsByName.get(name)
  if (counts === undefined) {
    counts = { inFlight: 0, readOn: 0, requests: new RequestCount() }
    countsByName.set(name, counts)
  }
  return counts
}

interface Place {
  readonly apiKey: Counts
  /** Null if the account has no limit. */
  readonly account: Counts | null
  /** When the request arrived. */
  readonly second: number
}

/** A request's place in the gate, from before its body is read until its hold has ended. */
export type GateSlot = Pick<TakenSlot, 'admitted' | 'readOn' | 'leave' | 'rateLimits'>

/** The state that all slots of a gate share. */
interface GateState {
  readonly seconds: RunningSeconds
  /** Calls of all API keys whose answers are read on after their clients have left. */
  readonly readOn: { calls: number }
}

class TakenSlot {
  /** The limits of a minute that the request is under, as they were when it entered. */
  readonly rateLimits: readonly RateLimit[]
  readonly #place: Place
  readonly #gate: GateState
  #isAdmitted = false
  #stage: 'inFlight' | 'readOn' | 'left' = 'inFlight'

  constructor(
    place: Place,
    of: { readonly gate: GateState; readonly rateLimits: readonly RateLimit[] },
  ) {
    this.#place = place
    this.#gate = of.gate
    this.rateLimits = of.rateLimits
  }

  /**
   * The ledger has opened the request's hold, which it counts from this second on; the gate now does the
   * same. Later calls do nothing.
   */
  admitted(): void {
    if (this.#isAdmitted) return
    this.#isAdmitted = true
    const { apiKey, account, second } = this.#place
    const nowSecond = this.#gate.seconds.now()
    if (nowSecond === second) return
    for (const counts of [apiKey, account]) {
      counts?.requests.remove(second)
      counts?.requests.add(nowSecond)
    }
  }

  /**
   * Gives the place in flight back, while the call upstream is read on without its client until `leave`.
   * False, and the request keeps its place, if the API key already has {@link READ_ON_MAX} such calls, by which it may
   * exceed its limit, or the process {@link READ_ON_TOTAL_MAX}. To be called at most once.
   */
  readOn(): boolean {
    const { apiKey } = this.#place
    const { readOn } = this.#gate
    if (this.#stage !== 'inFlight') return false
    if (apiKey.readOn >= READ_ON_MAX || readOn.calls >= READ_ON_TOTAL_MAX) return false
    this.#leaveInFlight()
    this.#stage = 'readOn'
    apiKey.readOn++
    readOn.calls++
    return true
  }

  /**
   * Gives the place in flight back, or ends the reading on; later calls do nothing. To be called when the
   * hold's end is given to the ledger, and before the client gets the answer's last byte: a client that has
   * seen the end may send its next request at once.
   */
  leave(): void {
    const { apiKey } = this.#place
    if (this.#stage === 'inFlight') this.#leaveInFlight()
    if (this.#stage === 'readOn') {
      apiKey.readOn--
      this.#gate.readOn.calls--
    }
    this.#stage = 'left'
  }

  #leaveInFlight(): void {
    const { apiKey, account } = this.#place
    apiKey.inFlight--
    if (account !== null) account.inFlight--
  }
}
