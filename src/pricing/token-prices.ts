import type { Picos } from '../vocabulary/money.ts'
import type { PriceTable } from '../vocabulary/offer.ts'

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

/** What token prices count at a priority tier, against the catalog's: twice. */
export function tierFactor(priorityTier: boolean): bigint {
  return priorityTier ? 2n : 1n
}
