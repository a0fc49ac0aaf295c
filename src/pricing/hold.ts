import type { Call } from '../vocabulary/call.ts'
import {
  addMicros,
  type Micros,
  microsCeil,
  microsCeilWithFee,
  type Picos,
  picosWithinFee,
} from '../vocabulary/money.ts'
import type { Offer } from '../vocabulary/offer.ts'
import { type OutputSize, sizeOutput } from './output-size.ts'
import { type PromptSize, sizePrompt } from './prompt-size.ts'
import { dearest, type TokenPrices, tierFactor, tokenPricesAt } from './token-prices.ts'
import { sizeStepGrowth } from './tool-steps.ts'

/** What a call is held at, and what is needed to turn a smaller grant into a lower output cap. */
export interface HoldSize {
  /** What the whole call may come to. */
  readonly neededMicros: Micros
  /** The least it can run on; equal to `neededMicros` where its output cap is not to be lowered. */
  readonly leastMicros: Micros
  /** The output cap to send where the whole need is granted; null: none is sent. */
  readonly capTokens: number | null
  /** What the call may come to before any output, without the fee. */
  readonly fixedPicos: Picos
  /** What one token of the cap adds, all completions together, without the fee. */
  readonly capTokenPicos: Picos
}

/**
 * How much to hold for a call: an upper bound of its charge.
 *
 * - The prompt at its estimate, at the dearest price that a token of it can have: read from a cache,
 *   or written to one where the body marks anything for it or the model may do so by itself.
 * - The output cap for each completion, at the dearest price that a token of the answer can have.
 * - The prices of that prompt size; of a priority tier, twice over.
 * - Where the provider runs tools: for each step a search, the whole prompt again, and what searches
 *   put into it ({@link sizeStepGrowth}).
 * - Five per cent on it all. Generated images are held at their own figure, which has no fee on it.
 *
 * Throws Problem `output_cap_required` where nothing bounds the answer.
 */
export function sizeHold(call: Call, offer: Offer): HoldSize {
  const prompt = sizePrompt(call, offer)
  if (call.endpoint === 'images') return sizeImageHold(call, { offer, prompt })
  const output = sizeOutput(call, offer)
  const fixedPicos = promptPicos(call, { offer, prompt })
  const capTokenPicos = outputTokenPicos(call, { offer, prompt }) * BigInt(call.completions)
  const micros = (tokens: number): Micros =>
    microsCeilWithFee(fixedPicos + capTokenPicos * BigInt(tokens))
  return {
    neededMicros: micros(output.heldTokens),
    leastMicros: micros(output.leastTokens),
    capTokens: capToSend(output),
    fixedPicos,
    capTokenPicos,
  }
}

/**
 * The output cap that a grant pays for: all of it where the grant is what was needed, else the largest
 * that fits. Null where the body keeps its own cap. Throws RangeError for a grant that does not pay
 * for the least, which no ledger makes.
 */
export function capForGrant(size: HoldSize, grantedMicros: Micros): number | null {
  const { capTokens, fixedPicos, capTokenPicos } = size
  if (capTokens === null) return null
  if (grantedMicros >= size.neededMicros) return capTokens
  if (grantedMicros < size.leastMicros)
    throw new RangeError('a grant below the least that was asked for')
  return Number((picosWithinFee(grantedMicros) - fixedPicos) / capTokenPicos)
}

/** The dearest search of the upstream's own engines, which a call may choose over the model's. */
const SEARCH_PICOS_MIN: Picos = 30_000_000_000n

/** The least that a generated image is held at, and the tokens that it may come to: $0.20, 8,192. */
const IMAGE_PICOS_MIN: Picos = 200_000_000_000n
const IMAGE_OUTPUT_TOKENS = 8_192n

interface Sizing {
  readonly offer: Offer
  readonly prompt: PromptSize
}

/** Everything but output: prompts, searches, and the price of the request itself. */
function promptPicos(call: Call, { offer, prompt }: Sizing): Picos {
  const { prices } = offer
  const { tools } = call
  const steps = tools.serverTools ? BigInt(tools.steps) : 0n
  const tokenPicos = inputTokenPicos(call, pricesOf(call, { offer, prompt }))
  const once = promptTokenPicos(call, { offer, prompt, tokenPicos })
  const { resultTokens } = sizeStepGrowth(call, { offer, prompt })
  return (
    once +
    prices.request +
    steps * (dearest(prices.search, SEARCH_PICOS_MIN) + once + prices.request) +
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
  const imageTokenPicos = imageInputTokenPicos(call, { offer, tokenPicos })
  const videoTokenPicos = videoInputTokenPicos(call, { offer, tokenPicos })
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
function imageInputTokenPicos(call: Call, { offer, tokenPicos }: TokenPricing): Picos {
  return dearest(tokenPicos, offer.prices.imageInputToken * tierFactor(call.priorityTier))
}

/** Of videos, which are pictures and sound. */
function videoInputTokenPicos(call: Call, { offer, tokenPicos }: TokenPricing): Picos {
  return dearest(
    imageInputTokenPicos(call, { offer, tokenPicos }),
    offer.prices.audioInput * tierFactor(call.priorityTier),
  )
}

function pricesOf(call: Call, { offer, prompt }: Sizing): TokenPrices {
  const { promptTokens } = sizeStepGrowth(call, { offer, prompt })
  return tokenPricesAt(offer.prices, promptTokens)
}

/** The dearest that a token of the prompt can be. */
function inputTokenPicos(call: Call, prices: TokenPrices): Picos {
  const unmarked = dearest(prices.input, prices.cacheRead)
  const picos = call.cacheWrites
    ? dearest(unmarked, prices.cacheWrite, prices.cacheWriteLong)
    : dearest(unmarked, unmarkedWritePicos(prices))
  return picos * tierFactor(call.priorityTier)
}

// A model whose writes are priced by lifetime writes what the body marks, since the mark has the
// lifetime. Others may write caches by themselves, and bill it.
function unmarkedWritePicos({ cacheWrite, cacheWriteLong }: TokenPrices): Picos {
  return cacheWrite === cacheWriteLong ? cacheWrite : 0n
}

/** The dearest that a token of the answer can be. A model that makes images may make them unasked. */
function outputTokenPicos(call: Call, { offer, prompt }: Sizing): Picos {
  const { prices, outputModalities } = offer
  const hasImages = call.outputKinds.image || outputModalities.has('image')
  const hasAudio = call.outputKinds.audio || outputModalities.has('audio')
  const picos = dearest(
    pricesOf(call, { offer, prompt }).output,
    prices.reasoning,
    hasImages ? prices.imageOutput : 0n,
    hasAudio ? prices.audioOutput : 0n,
  )
  return picos * tierFactor(call.priorityTier)
}

/** For each image the dearest figure that it may cost; for files and media by URL, their tokens. */
function sizeImageHold(call: Call, { offer, prompt }: Sizing): HoldSize {
  const { prices } = offer
  const imagePicos = dearest(
    IMAGE_PICOS_MIN,
    prices.imageInput,
    prices.imageFlat,
    IMAGE_OUTPUT_TOKENS * prices.imageOutput * tierFactor(call.priorityTier),
  )
  const { files, imagesByUrl, videosByUrl } = call.media
  const tokenPicos = inputTokenPicos(call, pricesOf(call, { offer, prompt }))
  const mediaTokenPicos =
    BigInt(files + imagesByUrl) * imageInputTokenPicos(call, { offer, tokenPicos }) +
    BigInt(videosByUrl) * videoInputTokenPicos(call, { offer, tokenPicos })
  const mediaPicos = BigInt(prompt.mediumTokens) * mediaTokenPicos
  const neededMicros = addMicros(
    microsCeil(BigInt(call.completions) * (imagePicos + prices.request)),
    microsCeilWithFee(mediaPicos),
  )
  return {
    neededMicros,
    leastMicros: neededMicros,
    capTokens: null,
    fixedPicos: 0n,
    capTokenPicos: 0n,
  }
}

function capToSend(output: OutputSize): number | null {
  return output.isSent ? output.heldTokens : null
}
