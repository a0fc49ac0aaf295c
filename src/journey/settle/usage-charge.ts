import type { Call } from '../../vocabulary/call.ts'
import { chargeForCost, decimalOfPicos, type Micros } from '../../vocabulary/money.ts'
import type { Offer, PriceTable } from '../../vocabulary/offer.ts'
import type { TokenUsage } from '../../vocabulary/outcome.ts'
import { IMAGE_TOKENS_MIN } from '../hold-size/image-tokens.ts'
import { sizeOutput } from '../hold-size/output-size.ts'
import { sizePrompt } from '../hold-size/prompt-size.ts'
import { tokenPricesAt } from '../hold-size/token-prices.ts'

/** Token counts, and the prices that they are billed at. */
interface UsageAtPrices {
  readonly usage: TokenUsage
  /** Those of the tier that served it. */
  readonly prices: PriceTable
}

/**
 * What token counts come to at these prices, with the fee, rounded half up once: a provisional
 * charge. Null where they come to more than any real amount, which is as good as no count.
 *
 * Reasoning and image tokens are part of the output, at their own prices where the model lists them.
 */
export function chargeForUsage({ usage, prices }: UsageAtPrices): Micros | null {
  const promptTokens =
    usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.cacheWriteLongTokens
  // A provider that searches reads the prompt again after each search, and counts all of them together.
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
  return chargeForCost(decimalOfPicos(tokenPicos + otherPicos))
}

/** A call whose stream was left before anything was counted, and what had passed of its answer. */
interface UncountedCall {
  readonly call: Call
  readonly offer: Offer
  /** Output tokens in the text that was relayed, estimated. */
  readonly relayedTokens: number
}

/**
 * What an uncounted call most likely comes to: the text of its prompt as held, an ordinary image for
 * each of its images, and the text relayed. Files and videos are left to the provider's own record.
 */
export function estimateUsage({ call, offer, relayedTokens }: UncountedCall): TokenUsage {
  const images = call.media.imagesInline + call.media.imagesByUrl
  const inputTokens = sizePrompt(call, offer).textTokens + images * IMAGE_TOKENS_MIN
  const outputTokensMax = sizeOutput(call, offer).heldTokens * call.completions
  return {
    inputTokens: Math.min(inputTokens, offer.contextTokens ?? inputTokens),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    cacheWriteLongTokens: 0,
    // The estimate of a text may be above the cap that it was made under.
    outputTokens: Math.min(relayedTokens, outputTokensMax),
    reasoningTokens: 0,
    imageOutputTokens: 0,
    searches: 0,
  }
}
