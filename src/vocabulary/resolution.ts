import type { FailureCode } from './failure-code.ts'
import type { Decimal, Micros } from './money.ts'
import type { TokenUsage } from './usage.ts'

/** What becomes of a hold once its attempt has ended: what `settle` decides and the ledger posts. */
export type Resolution =
  /** Charged, and nothing more is to be learned. */
  | { readonly kind: 'final'; readonly chargeMicros: Micros; readonly costUsd: Decimal }
  /** Charged, to be corrected by what the provider's own record says. */
  | {
      readonly kind: 'provisional'
      readonly chargeMicros: Micros
      /** The reported cost; null where the charge is an estimate, which keeps the hold's rest reserved. */
      readonly costUsd: Decimal | null
      /** Null: it can't be looked up, and stands when its time is up. */
      readonly generationId: string | null
    }
  /** Nothing is charged. */
  | {
      readonly kind: 'released'
      /** What was billed by this id all the same is looked up and recorded, never charged. Absent: nothing. */
      readonly billedAs?: string
    }
  /** Nothing is charged yet and the hold stays reserved, its place in flight free. */
  | { readonly kind: 'unresolved'; readonly generationId: string | null }

/** What is learned of a provisional or unresolved request after its attempt has ended. */
export type Correction =
  /** The provider's own cost, from its record or from an admin. */
  | {
      readonly kind: 'final'
      readonly chargeMicros: Micros
      readonly costUsd: Decimal
      /** What the provider's record counts; left out where nobody counted. */
      readonly usage?: TokenUsage
    }
  /** Moves an unresolved request to a charge that may still be corrected. */
  | {
      readonly kind: 'provisional'
      readonly chargeMicros: Micros
      /** As on a provisional resolution. */
      readonly costUsd: Decimal | null
      /** Null: the one that was known stays. */
      readonly generationId: string | null
    }
  /** Nothing more will be learned: a provisional charge stands, an unresolved hold is released. */
  | { readonly kind: 'givenUp' }

/** What Activity shows of how a request went, beside the money. */
export interface RequestFacts {
  readonly httpStatus: number
  /** Null: it ended well. */
  readonly errorCode: FailureCode | null
  readonly usage: TokenUsage | null
  readonly generationId: string | null
  readonly firstByteAtMs: number | null
}
