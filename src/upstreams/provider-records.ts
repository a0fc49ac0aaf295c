import { type RefusedFor, refusedForOf } from '../formats/provider-error.ts'
import type { Decimal } from '../vocabulary/money.ts'
import type { TokenUsage } from '../vocabulary/outcome.ts'

/** The result of a look-up. */
export type GenerationAnswer =
  | {
      readonly kind: 'found'
      /** In dollars, exactly as sent. */
      readonly costUsd: Decimal
      /** As billed, without cache writes and searches; null if the record has no counts. */
      readonly usage: TokenUsage | null
    }
  /** The record does not exist, or not yet, or has no cost. */
  | { readonly kind: 'unknown' }
  /** The record is that of another generation. */
  | { readonly kind: 'otherGeneration' }
  /** The upstream has no look-ups. */
  | { readonly kind: 'noEndpoint' }
  /** No answer; worth another try. */
  | { readonly kind: 'unavailable'; readonly cause: unknown }

/** The usage of our key so far. */
export type KeyUsageAnswer =
  | {
      readonly kind: 'found'
      /** In dollars since the key was made, exactly as sent. */
      readonly usageUsd: Decimal
      /** The rest of the key's limit, in dollars; null: it has no limit, or the upstream does not report it. */
      readonly leftUsd: Decimal | null
    }
  /** The upstream does not know the key, does not allow it, or has no credit behind it. */
  | { readonly kind: 'refused'; readonly cause: UpstreamRefusesAccount }
  /** The upstream has no such figure. */
  | { readonly kind: 'noFigure' }
  /** No answer; worth another try. */
  | { readonly kind: 'unavailable'; readonly cause: unknown }

/** The upstream refuses our account: the key is wrong, or the credit is used up. */
export class UpstreamRefusesAccount extends Error {
  override readonly name = 'UpstreamRefusesAccount'
  readonly refusedFor: RefusedFor

  constructor(httpStatus: number) {
    super(`the upstream answers ${httpStatus}: ${REFUSALS[httpStatus] ?? UNKNOWN_KEY}`)
    this.refusedFor = refusedForOf(httpStatus)
  }
}

export interface FetchGenerationInput {
  readonly generationId: string
  /** Aborts the look-up, which then is `unavailable`. */
  readonly signal?: AbortSignal
}

const UNKNOWN_KEY = 'it does not know the API key'
const REFUSALS: Readonly<Record<number, string>> = {
  402: "the provider's account has no credit left",
  403: 'the provider does not allow this key',
}
