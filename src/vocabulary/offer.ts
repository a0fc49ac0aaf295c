import type { Picos } from './money.ts'

/** The context window of a model whose own is not known. */
export const CONTEXT_TOKENS_UNKNOWN = 1_000_000

/** The most tokens that surround the text of a prompt. */
export interface PromptAdditions {
  /** Tokens of the chat template, and of the vendor's or the model's own system prompt. */
  readonly templateTokens: number
  /** Tokens of the instructions for calling tools, without the definitions of the tools. */
  readonly toolTokens: number
}

/** One model at its price: the catalog's result for a model name. */
export interface Offer {
  /** The name of the upstream that runs it. */
  readonly upstream: string
  /** The catalog id, which clients name. */
  readonly modelId: string
  /** The id that goes upstream. */
  readonly upstreamModelId: string
  /**
   * The model's author, a slash and its name there, as far as the dialect shows them: by it the tokens of images are
   * bounded. Null: whose model it is is not known, for the operator chose its id.
   */
  readonly authoredId: string | null
  /** The formats in which it is answered, by name; once the catalog offers it, at this upstream or at another one. */
  readonly endpoints: readonly string[]
  /** The tokens that its vendor adds to a prompt, if documented. Left out: not known. */
  readonly promptAdditions?: PromptAdditions
  /**
   * Whether the text after the last mark of a body of messages is not written to a cache, as its vendor
   * documents. Left out: not known.
   */
  readonly cachesOnlyMarked?: true
  /** Whether its server may mark bodies itself, for any lifetime, beside a client's marks too. Left out: it does not. */
  readonly marksUnmarked?: true
  readonly inputModalities: ReadonlySet<string>
  readonly outputModalities: ReadonlySet<string>
  readonly supportedParameters: ReadonlySet<string>
  /** Tokens; null if unknown. */
  readonly contextTokens: number | null
  /** The most output tokens that the model lists; null if it lists none. */
  readonly outputTokensMax: number | null
  /** The most tokens of thinking that its server does not count in a cap. Left out: it counts all of them. */
  readonly uncappedThinkingTokens?: number
  /** Whether its weights are open, so that free credit may pay for its text. */
  readonly openWeights: boolean
  /** Whether it bills per search, which no endpoint accepts. */
  readonly billsPerSearch: boolean
  readonly prices: PriceTable
  /** Prices of the model's faster tier, where the catalog lists it as `<id>-fast`; null: it does not. */
  readonly fastPrices: PriceTable | null
  /**
   * Prices of answers that were computed within one region, where the vendor bills them higher and its account may
   * choose a region. Left out: the same prices, or those that the operator has written.
   */
  readonly regionalPrices?: PriceTable
  /** Names the exact prices a charge was computed with; equal prices have equal ids. */
  readonly priceSnapshotId: string
  /** The platform fee on the provider's cost, in hundredths of a percent. */
  readonly feeBasisPoints: number
}

/** The operator's platform fees, in hundredths of a percent of the provider's cost. */
export interface Fees {
  /** The fee of models without their own fee. */
  readonly everyModel: number
  /** By the id of a model, or of all models of an author as `<author>/*`, in lower case. */
  readonly models: ReadonlyMap<string, number>
}

/** The offer to an account: at the account's own fee, which outranks the model's; null: it has none. */
export function offerAtFee(offer: Offer, feeBasisPoints: number | null): Offer {
  if (feeBasisPoints === null || feeBasisPoints === offer.feeBasisPoints) return offer
  return { ...offer, feeBasisPoints }
}

/**
 * The longest answer that any cap allows, in tokens: the window, or the listed maximum where that is above it. Null
 * where the window is not known.
 */
export function answerTokensMax({
  contextTokens,
  outputTokensMax,
}: Pick<Offer, 'contextTokens' | 'outputTokensMax'>): number | null {
  return contextTokens === null ? null : Math.max(contextTokens, outputTokensMax ?? 0)
}

/**
 * Prices in pico-dollars a unit. Absent prices are zero, except cache reads and writes, which fall
 * back to the input price (writes of the one-hour class to the price of other writes). Where a price
 * changes by time of day, this is the highest.
 */
export interface PriceTable {
  readonly input: Picos
  readonly output: Picos
  readonly cacheRead: Picos
  readonly cacheWrite: Picos
  readonly cacheWriteLong: Picos
  readonly reasoning: Picos
  /** Per generated-image token. */
  readonly imageOutput: Picos
  readonly audioOutput: Picos
  /** Per input image. */
  readonly imageInput: Picos
  /** Per token of an input image; zero where it is any input token. */
  readonly imageInputToken: Picos
  /** Per token of audio that is put in, as a video has it; zero where it is any input token. */
  readonly audioInput: Picos
  readonly search: Picos
  readonly request: Picos
  /** The highest flat price of one generated image; zero where the model lists none. */
  readonly imageFlat: Picos
  /** Prices for longer prompts, by ascending threshold. */
  readonly tiers: readonly PriceTier[]
}

/**
 * Token prices that hold for the whole request once its prompt is longer than the threshold. None is
 * below the same price of a shorter prompt: a hold is sized at an estimate that may be past a
 * threshold which the prompt itself does not reach.
 */
export interface PriceTier {
  readonly inputTokensAbove: number
  readonly input: Picos
  readonly output: Picos
  readonly cacheRead: Picos
  readonly cacheWrite: Picos
  readonly cacheWriteLong: Picos
}
