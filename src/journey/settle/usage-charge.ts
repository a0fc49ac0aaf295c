import { SIXTIETHS } from '../../tokens/guess.ts'
import { tokenPricesAt } from '../../upstreams/listing/price-table.ts'
import type { Call, PixelSize } from '../../vocabulary/call.ts'
import { type Decimal, decimalOfPicos } from '../../vocabulary/money.ts'
import type { Offer, PriceTable } from '../../vocabulary/offer.ts'
import type { TokenUsage } from '../../vocabulary/outcome.ts'
import { sizeOutput } from '../hold-size/output-size.ts'

/**
 * The cost of token counts, in dollars, at the prices of the tier that served them, without the fee.
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

/** An image has a token for each 28 by 28 pixels, up to a maximum. Files and images of unknown size have 1,000. */
const PIXELS_PER_TOKEN = 28 * 28
const PICTURE_TOKENS_MAX = 4_096
const PART_TOKENS = 1_000

function likelyPartTokens({ media, inlineImages }: Call): number {
  const { files, imagesInline, imagesByUrl, videosInline, videosByUrl } = media
  const parts = files + imagesByUrl + videosInline + videosByUrl
  const unsized = Math.max(0, imagesInline - inlineImages.length)
  return inlineImages.reduce(
    (sum, { pixels }) => sum + (pixels === null ? PART_TOKENS : pictureTokens(pixels)),
    (parts + unsized) * PART_TOKENS,
  )
}

function pictureTokens({ width, height }: PixelSize): number {
  return Math.min(Math.ceil((width * height) / PIXELS_PER_TOKEN), PICTURE_TOKENS_MAX)
}

/**
 * The likely usage of a call that the provider did not count: the texts that its model reads, its images and files,
 * and the text of the answer. `tokenFactor` is the ratio of the model's tokens to the estimate.
 */
export function estimateUsage({
  call,
  offer,
  tokenFactor,
  outputTokens,
}: {
  readonly call: Call
  readonly offer: Offer
  readonly tokenFactor: number
  readonly outputTokens: number
}): TokenUsage {
  const textTokens = Math.ceil((call.promptGuess / SIXTIETHS) * tokenFactor)
  const inputTokens = textTokens + likelyPartTokens(call)
  const { heldTokens, besideTokens } = sizeOutput(call, offer)
  const outputTokensMax = (heldTokens + besideTokens) * call.completions
  return {
    inputTokens: Math.min(inputTokens, offer.contextTokens ?? inputTokens),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    cacheWriteLongTokens: 0,
    // The estimate of a text may be above the cap that limited it.
    outputTokens: Math.min(outputTokens, outputTokensMax),
    reasoningTokens: 0,
    imageOutputTokens: 0,
    searches: 0,
  }
}
