import { dearestTable } from '../../upstreams/listing/price-table.ts'
import type { Call } from '../../vocabulary/call.ts'
import type { Picos } from '../../vocabulary/money.ts'
import type { Offer, PriceTable } from '../../vocabulary/offer.ts'

/** The prices of a prompt's tokens and of text output, at one prompt size; pico-dollars a token. */
export interface TokenPrices {
  readonly input: Picos
  readonly output: Picos
  readonly cacheRead: Picos
  readonly cacheWrite: Picos
  readonly cacheWriteLong: Picos
}

/** The prices that hold for a whole request whose prompt has this many tokens, cached ones within. */
export function tokenPricesAt(prices: PriceTable, promptTokens: number): TokenPrices {
  let reached: TokenPrices = prices
  for (const tier of prices.tiers) if (promptTokens > tier.inputTokensAbove) reached = tier
  return reached
}

/** The dearest of some prices; zero of none. */
export function dearest(...prices: readonly Picos[]): Picos {
  let most: Picos = 0n
  for (const price of prices) if (price > most) most = price
  return most
}

/** What the tokens of a dearer tier cost where the catalog lists no prices of it, against the model's own. */
const TIER_FACTOR = 6n

/**
 * The prices that a call may be billed at. At a dearer tier they are those of the model's faster
 * sibling, and never below its own; where the catalog lists no sibling, six times its token prices.
 */
export function pricesAtTier(
  offer: Offer,
  { priorityTier }: Pick<Call, 'priorityTier'>,
): PriceTable {
  const { prices, fastPrices } = offer
  if (!priorityTier) return prices
  return fastPrices === null ? dearerTokens(prices) : dearestTable(prices, fastPrices)
}

function dearerTokens(prices: PriceTable): PriceTable {
  return {
    ...prices,
    ...dearerTextTokens(prices),
    reasoning: prices.reasoning * TIER_FACTOR,
    imageOutput: prices.imageOutput * TIER_FACTOR,
    audioOutput: prices.audioOutput * TIER_FACTOR,
    imageInputToken: prices.imageInputToken * TIER_FACTOR,
    audioInput: prices.audioInput * TIER_FACTOR,
    tiers: prices.tiers.map((tier) => ({ ...tier, ...dearerTextTokens(tier) })),
  }
}

function dearerTextTokens(prices: TokenPrices): TokenPrices {
  return {
    input: prices.input * TIER_FACTOR,
    output: prices.output * TIER_FACTOR,
    cacheRead: prices.cacheRead * TIER_FACTOR,
    cacheWrite: prices.cacheWrite * TIER_FACTOR,
    cacheWriteLong: prices.cacheWriteLong * TIER_FACTOR,
  }
}
