import type { Call } from '../../vocabulary/call.ts'
import {
  addMicros,
  type Micros,
  microsCeil,
  microsCeilWithFee,
  type Picos,
  picosWithinFee,
} from '../../vocabulary/money.ts'
import type { Offer, PriceTable } from '../../vocabulary/offer.ts'
import { type OutputSize, sizeOutput } from './output-size.ts'
import { type PromptSize, sizePrompt } from './prompt-size.ts'
import { dearest, pricesAtTier, type TokenPrices, tokenPricesAt } from './token-prices.ts'
import { sizeStepGrowth } from './tool-steps.ts'

/** What a call is held at, and what is needed to turn a smaller grant into a lower output cap. */
export interface HoldSize {
  /** What the whole call may come to. */
  readonly neededMicros: Micros
  /** The least it can run on; equal to `neededMicros` where its output cap is not to be lowered. */
  readonly leastMicros: Micros
  /** The output cap to send where the whole need is granted; null: none is sent. */
  readonly capTokens: number | null
  /** Ways in which the call may be billed: what it comes to is the dearest of them. */
  readonly readings: readonly HoldReading[]
}

/** One way in which a call may be billed, without the fee. */
interface HoldReading {
  /** Before any output under the cap. */
  readonly fixedPicos: Picos
  /** What one token of the cap adds, all completions together. */
  readonly capTokenPicos: Picos
}

/**
 * How much to hold for a call: an upper bound of its charge.
 *
 * - The prompt at its estimate, at the dearest price that a token of it can have: read from a cache,
 *   or written to one where the body marks anything for it or the model may do so by itself. Where the
 *   provider may summarize the conversation first, the prompt twice and the summary.
 * - The output cap for each completion, at the dearest price that a token of the answer can have, and
 *   what the body predicts of it. Where images may come with it, each completion has one.
 * - The prices of that prompt size, and of the tier that the body asks for ({@link pricesAtTier}).
 * - Where the provider runs tools: for each step a search, the whole prompt again, and what searches
 *   put into it ({@link sizeStepGrowth}).
 * - Five per cent on it all. The images endpoint is held at a figure of its own, which has no fee on it.
 *
 * Throws Problem `output_cap_required` where nothing bounds the answer.
 */
export function sizeHold(call: Call, listed: Offer): HoldSize {
  const offer = { ...listed, prices: pricesAtTier(listed, call) }
  const prompt = sizePrompt(call, offer)
  if (call.rules.heldBy === 'images') return sizeImageHold(call, { offer, prompt })
  const output = sizeOutput(call, offer)
  const readings = readingsOf(call, { offer, prompt, output })
  return {
    neededMicros: microsFor(readings, output.heldTokens),
    leastMicros: microsFor(readings, output.leastTokens),
    capTokens: output.sentTokens,
    readings,
  }
}

/** A hold that would do with a lower cap. */
interface ListedMaxHold {
  readonly outputTokensMax: number
  readonly neededMicros: Micros
}

/** What a call would be held at under a cap of the model's listed maximum; null: its cap is not above it. */
export function sizeHoldAtListedMax(call: Call, offer: Offer): ListedMaxHold | null {
  const { outputTokensMax } = offer
  if (outputTokensMax === null || (call.outputCapTokens ?? 0) <= outputTokensMax) return null
  const { neededMicros } = sizeHold({ ...call, outputCapTokens: outputTokensMax }, offer)
  return { outputTokensMax, neededMicros }
}

function microsFor(readings: readonly HoldReading[], capTokens: number): Micros {
  return microsCeilWithFee(
    dearest(
      ...readings.map(
        ({ fixedPicos, capTokenPicos }) => fixedPicos + capTokenPicos * BigInt(capTokens),
      ),
    ),
  )
}

/**
 * The output cap that a grant pays for: all of it where the grant is what was needed, else the largest
 * that fits. Null where the body keeps its own cap. Throws RangeError for a grant that does not pay
 * for the least, which no ledger makes.
 */
export function capForGrant(size: HoldSize, grantedMicros: Micros): number | null {
  const { capTokens, readings } = size
  if (capTokens === null) return null
  if (grantedMicros >= size.neededMicros) return capTokens
  if (grantedMicros < size.leastMicros)
    throw new RangeError('a grant below the least that was asked for')
  let fittingTokens = capTokens
  for (const { fixedPicos, capTokenPicos } of readings) {
    if (capTokenPicos === 0n) continue
    const tokens = Number((picosWithinFee(grantedMicros) - fixedPicos) / capTokenPicos)
    fittingTokens = Math.min(fittingTokens, tokens)
  }
  return fittingTokens
}

/** The dearest search of the upstream's own engines, which a call may choose over the model's. */
const SEARCH_PICOS_MIN: Picos = 30_000_000_000n

/** The least that a generated image is held at, and the tokens that it may come to: $0.20, 8,192. */
const IMAGE_PICOS_MIN: Picos = 200_000_000_000n
const IMAGE_OUTPUT_TOKENS = 8_192n

/** The least that a summary of the conversation is held at, unless the model's answers are shorter. */
const SUMMARY_TOKENS_MIN = 8_192

interface Sizing {
  readonly offer: Offer
  readonly prompt: PromptSize
}

/**
 * Tokens at the dearest price, images among them; and where images may come, text up to the cap with
 * one image for each completion beside it, whose price may be flat or its tokens outside of the cap.
 */
function readingsOf(
  call: Call,
  { output, ...sizing }: Sizing & { readonly output: OutputSize },
): readonly HoldReading[] {
  const { prices } = sizing.offer
  const completions = BigInt(call.completions)
  const inputPicos = promptPicos(call, sizing)
  const beyondCapTokens = BigInt(tokensBeyondCap(call, { offer: sizing.offer, output }))
  const reading = (tokenPicos: Picos, besidePicos: Picos): HoldReading => ({
    fixedPicos: inputPicos + beyondCapTokens * tokenPicos + completions * besidePicos,
    capTokenPicos: completions * tokenPicos,
  })
  const textPicos = outputTokenPicos(call, sizing)
  if (!makesImages(call, sizing.offer)) return [reading(textPicos, 0n)]
  const tokensAlone = reading(dearest(textPicos, prices.imageOutput), 0n)
  return [tokensAlone, reading(textPicos, imagePicos(prices))]
}

/** Output that is billed beside the answers themselves. A longer cap allows a longer summary. */
function tokensBeyondCap(
  call: Call,
  { offer, output }: { readonly offer: Offer; readonly output: OutputSize },
): number {
  const predicted = call.predictionTokens * call.completions
  if (!call.compacts) return predicted
  const shortest = Math.min(SUMMARY_TOKENS_MIN, offer.outputTokensMax ?? SUMMARY_TOKENS_MIN)
  return predicted + Math.max(output.heldTokens, shortest)
}

/** Everything but output: prompts, searches, and the price of the request itself. */
function promptPicos(call: Call, { offer, prompt }: Sizing): Picos {
  const { prices } = offer
  const { tools } = call
  const steps = tools.serverTools ? BigInt(tools.steps) : 0n
  const tokenPicos = inputTokenPicos(call, pricesOf(call, { offer, prompt }))
  const once = promptTokenPicos(call, { offer, prompt, tokenPicos })
  const { resultTokens } = sizeStepGrowth(call, { offer, prompt })
  const beforeSteps = once + prices.request
  return (
    (call.compacts ? 2n : 1n) * beforeSteps +
    steps * (dearest(prices.search, SEARCH_PICOS_MIN) + beforeSteps) +
    BigInt(resultTokens) * tokenPicos
  )
}

/** One prompt. Of images the dearer reading counts: by their tokens or by the image. */
function promptTokenPicos(
  call: Call,
  { offer, prompt, tokenPicos }: Sizing & { readonly tokenPicos: Picos },
): Picos {
  const { media } = call
  const { imageInput } = offer.prices
  const imageTokenPicos = imageInputTokenPicos({ offer, tokenPicos })
  const videoTokenPicos = videoInputTokenPicos({ offer, tokenPicos })
  const mediumTokens = BigInt(prompt.mediumTokens)
  // An inline video is within the text, which it fills the window with.
  const textTokenPicos = media.videosInline > 0 ? videoTokenPicos : tokenPicos
  return (
    BigInt(prompt.textTokens) * textTokenPicos +
    inlineImagePicos(prompt, { imageTokenPicos, imageInput }) +
    BigInt(media.imagesByUrl) * dearest(mediumTokens * imageTokenPicos, imageInput) +
    BigInt(media.files) * mediumTokens * imageTokenPicos +
    BigInt(media.videosByUrl) * mediumTokens * videoTokenPicos
  )
}

/** The dearer reading of each image. */
function inlineImagePicos(
  { imageTokens }: PromptSize,
  prices: { readonly imageTokenPicos: Picos; readonly imageInput: Picos },
): Picos {
  return imageTokens.reduce(
    (sum, tokens) => sum + dearest(BigInt(tokens) * prices.imageTokenPicos, prices.imageInput),
    0n,
  )
}

interface TokenPricing {
  readonly offer: Offer
  /** Of an input token of text. */
  readonly tokenPicos: Picos
}

/** Of images, and of files, whose pages a model may look at. */
function imageInputTokenPicos({ offer, tokenPicos }: TokenPricing): Picos {
  return dearest(tokenPicos, offer.prices.imageInputToken)
}

/** Of videos, which are pictures and sound. */
function videoInputTokenPicos({ offer, tokenPicos }: TokenPricing): Picos {
  return dearest(imageInputTokenPicos({ offer, tokenPicos }), offer.prices.audioInput)
}

function pricesOf(call: Call, { offer, prompt }: Sizing): TokenPrices {
  const { promptTokens } = sizeStepGrowth(call, { offer, prompt })
  // What is counted of a prompt that was read twice does not say so.
  return tokenPricesAt(offer.prices, call.compacts ? 2 * promptTokens : promptTokens)
}

/** The dearest that a token of the prompt can be. */
function inputTokenPicos(call: Call, prices: TokenPrices): Picos {
  const unmarked = dearest(prices.input, prices.cacheRead)
  return call.cacheWrites
    ? dearest(unmarked, prices.cacheWrite, prices.cacheWriteLong)
    : dearest(unmarked, unmarkedWritePicos(prices))
}

// A model whose writes are priced by lifetime writes what the body marks, since the mark has the
// lifetime. Others may write caches by themselves, and bill it.
function unmarkedWritePicos({ cacheWrite, cacheWriteLong }: TokenPrices): Picos {
  return cacheWrite === cacheWriteLong ? cacheWrite : 0n
}

/** The dearest that a token of the answer can be, those of images apart. */
function outputTokenPicos(call: Call, { offer, prompt }: Sizing): Picos {
  const { prices, outputModalities } = offer
  const hasAudio = call.outputKinds.audio || outputModalities.has('audio')
  return dearest(
    pricesOf(call, { offer, prompt }).output,
    prices.reasoning,
    hasAudio ? prices.audioOutput : 0n,
  )
}

/** Whether images may come with the answer. A model that makes images may make them unasked. */
function makesImages(call: Call, { outputModalities }: Offer): boolean {
  return call.outputKinds.image || outputModalities.has('image')
}

/** The most that a generated image is held at. */
function imagePicos(prices: PriceTable): Picos {
  const figure = dearest(
    IMAGE_PICOS_MIN,
    prices.imageInput,
    prices.imageFlat,
    IMAGE_OUTPUT_TOKENS * prices.imageOutput,
  )
  return figure + prices.request
}

/** For each image the dearest figure that it may cost; for files and media by URL, their tokens. */
function sizeImageHold(call: Call, { offer, prompt }: Sizing): HoldSize {
  const { files, imagesByUrl, videosByUrl } = call.media
  const tokenPicos = inputTokenPicos(call, pricesOf(call, { offer, prompt }))
  const mediaTokenPicos =
    BigInt(files + imagesByUrl) * imageInputTokenPicos({ offer, tokenPicos }) +
    BigInt(videosByUrl) * videoInputTokenPicos({ offer, tokenPicos })
  const mediaPicos = BigInt(prompt.mediumTokens) * mediaTokenPicos
  const neededMicros = addMicros(
    microsCeil(BigInt(call.completions) * imagePicos(offer.prices)),
    microsCeilWithFee(mediaPicos),
  )
  return {
    neededMicros,
    leastMicros: neededMicros,
    capTokens: null,
    readings: [],
  }
}
