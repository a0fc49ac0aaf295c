import type { Micros } from '../vocabulary/money.ts'
import type { RequestState } from '../vocabulary/request-state.ts'
import type { TokenUsage } from '../vocabulary/usage.ts'

/** What the rules read and write of an account. */
export interface AccountRow {
  readonly id: string
  readonly disabled: boolean
  readonly backedBalanceMicros: Micros
  readonly backedHeldMicros: Micros
  readonly freeBalanceMicros: Micros
  readonly freeHeldMicros: Micros
  /** Null where it never had free credit. */
  readonly freeExpiresAtMs: number | null
  /** Whether backed credit was ever added. */
  readonly hasBackedCredit: boolean
  /** Admitted requests by second while there was no backed credit; see `request-window.ts`. */
  readonly requestWindow: string
  /** The number of its latest entry. */
  readonly entryCount: number
}

/** What the rules read and write of an API key. */
export interface ApiKeyRow {
  readonly id: string
  readonly accountId: string
  readonly disabled: boolean
  readonly deleted: boolean
  readonly expiresAtMs: number | null
  readonly creditLimitMicros: Micros | null
  /** Charges and corrections of its requests. */
  readonly spendMicros: Micros
  readonly heldMicros: Micros
  readonly openHolds: number
  /** Admitted requests by second; see `request-window.ts`. */
  readonly requestWindow: string
}

/** A request whose hold was opened. */
export interface RequestRow {
  readonly id: string
  readonly accountId: string
  readonly apiKeyId: string
  readonly instanceId: string
  /** The name of the format that it came in. */
  readonly endpoint: string
  readonly modelId: string
  readonly stream: boolean
  readonly state: RequestState
  /**
   * Unresolved before its attempt has ended, because its instance was found gone or its client has left:
   * the settle of that attempt still counts.
   */
  readonly swept: boolean
  /** What the hold was granted from each purse. */
  readonly backedGrantedMicros: Micros
  readonly freeGrantedMicros: Micros
  /** What is still reserved of it. */
  readonly backedHeldMicros: Micros
  readonly freeHeldMicros: Micros
  /** What was charged, corrections included. */
  readonly backedChargeMicros: Micros
  readonly freeChargeMicros: Micros
  /** Of the free charge, what the purse could not pay. */
  readonly writtenOffMicros: Micros
  /** The provider's cost behind the charge, exact decimal text; null where the charge is an estimate. */
  readonly costUsd: string | null
  /** The last cost learned after the hold was released, never charged; null: none. */
  readonly lateCostUsd: string | null
  readonly lateReports: number
  readonly priceSnapshotId: string
  readonly httpStatus: number | null
  readonly errorCode: string | null
  readonly generationId: string | null
  readonly usage: TokenUsage | null
  readonly openedAtMs: number
  readonly firstByteAtMs: number | null
  readonly endedAtMs: number | null
  readonly settledAtMs: number | null
}

/** What the requests of an API key that are in Activity no more came to. */
export interface PrunedRequestsRow {
  readonly apiKeyId: string
  readonly accountId: string
  readonly backedChargeMicros: Micros
  readonly freeChargeMicros: Micros
  readonly writtenOffMicros: Micros
}

/** A code that is worth backed credit, once. */
export interface CreditCodeRow {
  readonly id: string
  readonly hash: string
  /** The last characters of the code's text. */
  readonly displaySuffix: string
  readonly amountMicros: Micros
  readonly createdAtMs: number
  /** Null: it does not expire. */
  readonly expiresAtMs: number | null
  readonly revokedAtMs: number | null
  readonly redeemedAtMs: number | null
  /** The account that has its credit; null until then. */
  readonly redeemedBy: string | null
}
