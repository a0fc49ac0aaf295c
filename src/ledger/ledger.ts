import type { Endpoint } from '../vocabulary/call.ts'
import type { Micros } from '../vocabulary/money.ts'
import type { ProblemCode } from '../vocabulary/problem.ts'
import type { RequestState } from '../vocabulary/request-state.ts'
import type { RequestFacts, Resolution } from '../vocabulary/resolution.ts'

/**
 * Holds and the money behind them. Every command is durable before its promise resolves, takes an id
 * made by the caller, and answers a repeat with what was done the first time.
 */
export interface Ledger {
  /** Grants a hold, or says why not. Rejects only where the store failed (`StoreUnavailable`). */
  openHold(input: OpenHoldInput): Promise<OpenHoldVerdict>
  /** Ends a hold's open state, once; a second settle answers what the first one did. */
  settle(input: SettleInput): Promise<Settled>
  /** Notes a generation id on an open hold, so that a crash can still be looked up. Awaited by nobody. */
  noteGeneration(input: { readonly requestId: string; readonly generationId: string }): void
}

export interface OpenHoldInput {
  readonly requestId: string
  readonly accountId: string
  readonly apiKeyId: string
  readonly instanceId: string
  readonly endpoint: Endpoint
  readonly modelId: string
  readonly stream: boolean
  /** What the whole request may come to. */
  readonly neededMicros: Micros
  /** The least it can run on where its output cap may be lowered; else equal to `neededMicros`. */
  readonly leastMicros: Micros
  /** Whether free credit may pay for it. */
  readonly freeCreditQualifies: boolean
  /** Messages: a request that free credit alone pays for runs on what there is, even below `leastMicros`. */
  readonly freeCreditAloneRunsOnLess: boolean
  readonly priceSnapshotId: string
}

export type OpenHoldVerdict =
  | { readonly kind: 'opened'; readonly grantedMicros: Micros; readonly backedMicros: Micros; readonly freeMicros: Micros }
  | { readonly kind: 'refused'; readonly code: HoldRefusalCode; readonly facts: HoldRefusalFacts }

export type HoldRefusalCode = Extract<
  ProblemCode,
  | 'invalid_api_key'
  | 'api_key_disabled'
  | 'api_key_expired'
  | 'insufficient_credit'
  | 'key_limit_reached'
  | 'free_credit_not_eligible'
  | 'rate_limited'
  | 'too_many_concurrent_requests'
>

/** The figures that a refusal's message is made of. */
export interface HoldRefusalFacts {
  readonly neededMicros: Micros
  /** What the purses that may pay (or the key's limit) have left. */
  readonly availableMicros: Micros
  /** What other requests of the account (or key) hold at this moment. */
  readonly heldMicros: Micros
  /** On `rate_limited`: when the oldest second leaves the window. */
  readonly retryAfterSeconds: number | null
}

export interface SettleInput {
  readonly requestId: string
  readonly resolution: Resolution
  readonly facts: RequestFacts
}

/** What a settle did, or what an earlier settle of the same hold had done. */
export interface Settled {
  readonly state: RequestState
  readonly chargedMicros: Micros
  /** False where the hold was settled before: this call changed nothing. */
  readonly settledNow: boolean
}

/** The store did not answer or did not commit. The hold may or may not be there: ask again by id. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}
