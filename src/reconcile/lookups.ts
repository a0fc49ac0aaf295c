import { hash, randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { CostClaim } from '../journey/journey-parts.ts'
import type { UnsettledRequest } from '../ledger/activity/unsettled.ts'
import type { Tables } from '../store/schema.ts'
import { settingOnce } from '../store/settings.ts'
import type { FetchGenerationInput, GenerationAnswer } from '../upstreams/provider-records.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import type { Clock } from '../vocabulary/clock.ts'
import { chargeForStatedCost } from '../vocabulary/money.ts'
import type { Correction } from '../vocabulary/outcome.ts'
import type { DoubtUnit } from './doubts.ts'
import { LOOKUP_INTERVAL_MS_MAX, type Silence } from './schedule.ts'

/** Why a record of the provider is not believed; the look-up is repeated until the time is up. */
export type Doubt =
  /** It names another generation than the look-up, or none. */
  | 'otherGeneration'
  /** Its cost is zero, though the answer reported a cost or tokens. */
  | 'zeroCost'
  /** Its charge would be above a million dollars, which no request costs. */
  | 'absurdCost'

export interface LookupsInput {
  /**
   * Reads the provider's record. Must never reject, and must have its own deadline. Null: the upstream has no look-ups.
   */
  readonly fetchGeneration: ((input: FetchGenerationInput) => Promise<GenerationAnswer>) | null
  readonly clock: Clock
  /** Called for each look-up that got no answer. Must not throw. */
  readonly onUnanswered: (requestId: string, cause: unknown) => void
  /** Called when the upstream answers that it has no look-ups. Must not throw. */
  readonly onEndpointMissing: () => void
  /** Called for each record that is doubted. Must not throw. */
  readonly onDoubted: (doubted: { readonly requestId: string; readonly doubt: Doubt }) => void
}

// How often an upstream without look-ups is asked again.
const NO_ENDPOINT_RECHECK_MS = LOOKUP_INTERVAL_MS_MAX

/** Asks the upstream for the costs of requests, and keeps track of whether it can be asked. */
export class Lookups {
  readonly #input: LookupsInput
  readonly #outage = new Outage()
  readonly #givingUp = new AbortController()
  #inFlight = 0
  #endpointSeen = false
  #endpointMissingUntilMs = Number.NEGATIVE_INFINITY

  constructor(input: LookupsInput) {
    this.#input = input
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Whether the upstream has no look-ups, as far as is known. */
  isEndpointMissing(nowMs: number): boolean {
    return nowMs < this.#endpointMissingUntilMs
  }

  /** Null if the upstream may be asked now; else when to try again. */
  pausedUntilMs(nowMs: number): number | null {
    return this.#outage.mayAsk(nowMs) ? null : this.#outage.retryAtMs(nowMs)
  }

  /** Forgets moments of a clock that has stepped back. */
  clockSteppedBack(): void {
    this.#endpointMissingUntilMs = Number.NEGATIVE_INFINITY
  }

  /** Aborts all look-ups, also those that have not begun. */
  stop(): void {
    this.#givingUp.abort()
  }

  /** The upstream's cost of a request, or why it is not known. Never rejects. */
  async ask(request: UnsettledRequest, generationId: string): Promise<Correction | Silence> {
    const { fetchGeneration, clock, onUnanswered } = this.#input
    if (fetchGeneration === null) return 'noLookups'
    const round = this.#outage.asked()
    this.#inFlight++
    const answer = await fetchGeneration({ generationId, signal: this.#givingUp.signal })
    this.#inFlight--
    if (answer.kind === 'unavailable') {
      // An aborted look-up is no fault of the upstream.
      if (this.#givingUp.signal.aborted) return 'unavailable'
      this.#outage.failed({ round, nowMs: clock.nowMs() })
      onUnanswered(request.requestId, answer.cause)
      return 'unavailable'
    }
    this.#outage.answered()
    if (answer.kind === 'noEndpoint') {
      // If a look-up worked before, the missing endpoint is a fault of something in between.
      if (this.#endpointSeen) return 'unknown'
      this.#endpointMissingUntilMs = clock.nowMs() + NO_ENDPOINT_RECHECK_MS
      this.#input.onEndpointMissing()
      return 'noEndpoint'
    }
    this.#endpointSeen = true
    this.#endpointMissingUntilMs = Number.NEGATIVE_INFINITY
    return this.#believed(request, answer)
  }

  #believed(
    request: UnsettledRequest,
    answer: Exclude<GenerationAnswer, { kind: 'unavailable' | 'noEndpoint' }>,
  ): Correction | Silence {
    switch (answer.kind) {
      case 'unknown':
        return 'unknown'
      case 'otherGeneration':
        return this.#doubted(request, 'otherGeneration')
      case 'found': {
        const { costUsd, usage } = answer
        if (costUsd.digits === 0n && request.expectsCost) return this.#doubted(request, 'zeroCost')
        const chargeMicros = chargeForStatedCost(costUsd, request.feeBasisPoints)
        if (chargeMicros === null) return this.#doubted(request, 'absurdCost')
        const final: Correction = { kind: 'final', chargeMicros, costUsd }
        return usage === null ? final : { ...final, usage }
      }
      default:
        return assertNever(answer)
    }
  }

  #doubted({ requestId }: UnsettledRequest, doubt: Doubt): Silence {
    this.#input.onDoubted({ requestId, doubt })
    return 'unknown'
  }
}

const PAUSE_FIRST_MS = 1_000
const PAUSE_MS_MAX = 60_000

/**
 * Pauses look-ups while the upstream is down.
 *
 * It is `up` (asked freely), `paused` until a moment after a failure (not asked), or `probed` after
 * that moment (one question is on its way, no other). A probe that fails pauses again, for twice as
 * long, a minute at most; any answer to any question makes it up.
 */
export class Outage {
  #failures = 0
  #pausedUntilMs = 0
  #probing = false
  // Questions that were on their way together fail together: their failures are one.
  #round = 0

  /** Whether a question may be asked now. */
  mayAsk(nowMs: number): boolean {
    return this.#failures === 0 || (!this.#probing && nowMs >= this.#pauseEndMs(nowMs))
  }

  /** When to see whether a question may be asked again; only where none may be asked now. */
  retryAtMs(nowMs: number): number {
    return Math.max(this.#pauseEndMs(nowMs), nowMs + PAUSE_FIRST_MS)
  }

  // A pause longer than the longest began before the clock stepped back: it is over.
  #pauseEndMs(nowMs: number): number {
    return this.#pausedUntilMs - nowMs > PAUSE_MS_MAX ? nowMs : this.#pausedUntilMs
  }

  /** Notes that a question is asked; returns its round, for `failed`. */
  asked(): number {
    this.#probing = this.#failures > 0
    return this.#round
  }

  /** Notes that a question was answered. */
  answered(): void {
    this.#failures = 0
    this.#probing = false
  }

  /** Notes that a question of a round was not answered. */
  failed({ round, nowMs }: { readonly round: number; readonly nowMs: number }): void {
    if (round !== this.#round) return
    this.#round++
    this.#probing = false
    this.#pausedUntilMs = nowMs + Math.min(PAUSE_MS_MAX, PAUSE_FIRST_MS * 2 ** this.#failures)
    this.#failures++
  }
}

interface PolicyInput {
  readonly settings: {
    /** `verify`: those that are worth asking; `all`: each. */
    readonly lookups: 'verify' | 'all'
    /** Reported costs whose charge is above this are looked up. */
    readonly aboveMicros: number
  }
  /** The secret of the deployment, which makes the draw impossible to predict. */
  readonly drawSecret: string
  readonly doubts: { covers(unit: DoubtUnit): boolean }
}

/** One in this many reported costs is selected at random and looked up. */
export const DRAWN_ONE_OF = 100

const SECRET_BYTES = 32

/**
 * Decides which reported costs become final without a look-up. A hash of the secret and the request's ID selects those
 * to look up, so every process selects the same ones, before and after a restart.
 */
export class LookupPolicy {
  readonly #input: PolicyInput

  constructor(input: PolicyInput) {
    this.#input = input
  }

  /** Whether a reported cost becomes final without a look-up. */
  stands(claim: CostClaim): boolean {
    if (this.doubts(claim)) return false
    if (claim.ownProviderKey || claim.chargeMicros > this.#input.settings.aboveMicros) return false
    return !this.#isDrawn(claim.requestId)
  }

  /** Whether all reported costs of a unit are looked up. */
  doubts(unit: DoubtUnit): boolean {
    return this.#input.settings.lookups === 'all' || this.#input.doubts.covers(unit)
  }

  #isDrawn(requestId: string): boolean {
    // An HMAC takes four times as long, and adds nothing where all ids are of one length.
    const lot = hash('sha256', this.#input.drawSecret + requestId)
    // 2^48 is so large that the chances of two requests differ by at most one in a trillion.
    return Number.parseInt(lot.slice(0, 12), 16) % DRAWN_ONE_OF === 0
  }
}

/** The secret of the store's draws, which is made once. */
export async function openDrawSecret(db: Kysely<Tables>): Promise<string> {
  const value = randomBytes(SECRET_BYTES).toString('hex')
  return await settingOnce(db, { name: 'lookup_draw_secret', value })
}
