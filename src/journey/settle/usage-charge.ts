import { tokenPricesAt } from '../../upstreams/listing/price-table.ts'
import type { Call } from '../../vocabulary/call.ts'
import { type Decimal, decimalOfPicos } from '../../vocabulary/money.ts'
import type { Offer, PriceTable } from '../../vocabulary/offer.ts'
import type { TokenUsage } from '../../vocabulary/outcome.ts'
import { sizeOutput } from '../hold-size/output-size.ts'
import { IMAGE_TOKENS_MIN } from '../hold-size/prompt-size.ts'

/**
 * What token counts cost, in dollars, at the prices of the tier that served them, without the fee.
 *
 * Reasoning and image tokens are part of the output, at their own prices if the model lists them.
 */
export function costOfUsage({
  usage,
  prices,
}: {
  readonly usage: TokenUsage
  readonly prices: PriceTable
}): Decimal {
  const promptTokens =
    usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.cacheWriteLongTokens
  // After each search the provider reads the prompt again, and it counts all readings together.
  const at = tokenPricesAt(prices, promptTokens / (1 + usage.searches))
  const reasoningTokens = Math.min(usage.reasoningTokens, usage.outputTokens)
  const imageTokens = Math.min(usage.imageOutputTokens, usage.outputTokens - reasoningTokens)
  const textTokens = usage.outputTokens - reasoningTokens - imageTokens
  const tokenPicos =
    BigInt(usage.inputTokens) * at.input +
    BigInt(usage.cacheReadTokens) * at.cacheRead +
    BigInt(usage.cacheWriteTokens) * at.cacheWrite +
    BigInt(usage.cacheWriteLongTokens) * at.cacheWriteLong +
    BigInt(textTokens) * at.output +
    BigInt(reasoningTokens) * (prices.reasoning || at.output) +
    BigInt(imageTokens) * (prices.imageOutput || at.output)
  const otherPicos = BigInt(usage.searches) * prices.search + prices.request
  return decimalOfPicos(tokenPicos + otherPicos)
}

/**
 * The likely usage of a call that the provider did not count: the text of its body, without what a hold adds for the
 * provider's templates, an ordinary image for each of its images, and the estimated tokens of the relayed text. Files
 * and videos are left to the provider's own record.
 */
export function estimateUsage({
  call,
  offer,
  relayedTokens,
}: {
  readonly call: Call
  readonly offer: Offer
  readonly relayedTokens: number
}): TokenUsage {
  const images = call.media.imagesInline + call.media.imagesByUrl
  const inputTokens = call.textTokens + images * IMAGE_TOKENS_MIN
  const { heldTokens, besideTokens } = sizeOutput(call, offer)
  const outputTokensMax = (heldTokens + besideTokens) * call.completions
  return {
    inputTokens: Math.min(inputTokens, offer.contextTokens ?? inputTokens),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    cacheWriteLongTokens: 0,
    // The estimate of a text may be above the cap that limited it.
    outputTokens: Math.min(relayedTokens, outputTokensMax),
    reasoningTokens: 0,
    imageOutputTokens: 0,
    searches: 0,
  }
}
