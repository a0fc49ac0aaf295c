import {
  highest,
  pricesAtTier,
  type TokenPrices,
  tokenPricesAt,
} from '../../upstreams/listing/price-table.ts'
import { assertNever } from '../../vocabulary/assert-never.ts'
import type { Call } from '../../vocabulary/call.ts'
import {
  addMicros,
  type Micros,
  microsCeilAboveFee,
  microsCeilWithFee,
  type Picos,
  picosWithinFee,
} from '../../vocabulary/money.ts'
import { CONTEXT_TOKENS_UNKNOWN, type Offer, type PriceTable } from '../../vocabulary/offer.ts'
import { type OutputSize, type PromptSize, sizeOutput, sizePrompt } from './token-size.ts'

/** The hold of a call, with the figures that turn a smaller grant into a lower output cap. */
export interface HoldSize {
  /** The most that the whole call can cost. */
  readonly neededMicros: Micros
  /** The least that it can run on; equal to `neededMicros` if its output cap must not be lowered. */
  readonly leastMicros: Micros
  /** The output cap to send if the whole need is granted; null: none is sent. */
  readonly capTokens: number | null
  /** The most tokens that the whole call can count, prompts of steps left out. */
  readonly tokens: number
  /** Ways in which the call may be billed; the most expensive counts. */
  readonly readings: readonly HoldReading[]
  /** The platform fee in the hold, in hundredths of a percent of the cost. */
  readonly feeBasisPoints: number
}

/** One way in which a call may be billed, without the fee. */
interface HoldReading {
  /** Everything but output under the cap. */
  readonly fixedPicos: Picos
  /** The price of one token of the cap, for all completions together. */
  readonly capTokenPicos: Picos
}

/**
 * How much to hold for a call: an upper bound of its charge.
 *
 * - The prompt at its estimate, at the highest price that its tokens can have: read from a cache, or written to
 *   one, at the longest lifetime that the body asks for, if it marks anything for it or the model may do so unasked.
 *   Text after the last mark is not written if the vendor documents this.
 *   If the provider may summarize the conversation first, the prompt twice and the summary.
 * - The output cap for each completion, at the highest price that a token of the answer can have, the prediction in the
 *   body, and thoughts that a server may count in addition to the cap. If images may come with the answer, one for each
 *   completion.
 * - Prices are those of the prompt's size, of a region and of the requested tier ({@link pricesAtTier}).
 * - If the provider runs tools: for each step a search, the whole prompt again, and the search results in it
 *   ({@link sizeStepGrowth}).
 * - The fee on all of it. The images endpoint has a fixed amount without a fee, which grows if the fee is above the
 *   usual one.
 *
 * Throws Problem `output_cap_required` if nothing bounds the answer.
 */
export function sizeHold(call: Call, listed: Offer): HoldSize {
  const { priorityTier } = call
  const offer = { ...listed, prices: pricesAtTier(listed, { priorityTier, isRegional: true }) }
  const prompt = sizePrompt(call, offer)
  if (call.rules.heldBy === 'images') return sizeImageHold(call, { offer, prompt })
  const output = sizeOutput(call, offer)
  const { feeBasisPoints } = offer
  const readings = readingsOf(call, { offer, prompt, output })
  return {
    neededMicros: microsFor(readings, { capTokens: output.heldTokens, feeBasisPoints }),
    leastMicros: microsFor(readings, { capTokens: output.leastTokens, feeBasisPoints }),
    capTokens: output.sentTokens,
    tokens: wholeTokens(
      prompt.promptTokens +
        call.completions * (output.heldTokens + output.uncappedTokens) +
        call.predictionTokens,
    ),
    readings,
    feeBasisPoints,
  }
}

/** The largest possible window of a whole body, as a count that a store can keep. */
function wholeTokens(tokens: number): number {
  return Math.min(Math.ceil(tokens), Number.MAX_SAFE_INTEGER)
}

/** The hold of a call if its cap were the model's listed maximum; null if its cap is not above that. */
export function sizeHoldAtListedMax(
  call: Call,
  offer: Offer,
): { readonly outputTokensMax: number; readonly neededMicros: Micros } | null {
  const { outputTokensMax } = offer
  if (outputTokensMax === null || (call.outputCapTokens ?? 0) <= outputTokensMax) return null
  const { neededMicros } = sizeHold({ ...call, outputCapTokens: outputTokensMax }, offer)
  return { outputTokensMax, neededMicros }
}

function microsFor(
  readings: readonly HoldReading[],
  { capTokens, feeBasisPoints }: { readonly capTokens: number; readonly feeBasisPoints: number },
): Micros {
  const picos = highest(
    ...readings.map(
      ({ fixedPicos, capTokenPicos }) => fixedPicos + capTokenPicos * BigInt(capTokens),
    ),
  )
  return microsCeilWithFee(picos, feeBasisPoints)
}

/**
 * The output cap that a grant pays for: the whole cap if the grant is what was needed, else the largest that
 * fits. Null if the body keeps its own cap. Throws RangeError for a grant below the least, which is a bug.
 */
export function capForGrant(size: HoldSize, grantedMicros: Micros): number | null {
  const { capTokens } = size
  if (capTokens === null) return null
  if (grantedMicros >= size.neededMicros) return capTokens
  if (grantedMicros < size.leastMicros)
    throw new RangeError('the grant is below the requested minimum')
  return Math.min(capTokens, paidTokens(size, grantedMicros))
}

/**
 * The tokens of output that an amount pays for after everything else; below zero if it does not even pay for
 * everything else.
 */
function paidTokens({ readings, feeBasisPoints }: HoldSize, amountMicros: Micros): number {
  const paidPicos = picosWithinFee(amountMicros, feeBasisPoints)
  return Math.min(
    ...readings
      .filter(({ capTokenPicos }) => capTokenPicos > 0n)
      .map(({ fixedPicos, capTokenPicos }) => Number((paidPicos - fixedPicos) / capTokenPicos)),
  )
}

/** A cap below this does not help: hardly any answer fits, and some providers refuse it. */
const HELPFUL_CAP_TOKENS_MIN = 16

/** An output cap that the client could set, at which the call's hold is within an amount; null: none that helps. */
export function capThatFits(
  call: Call,
  {
    offer,
    size,
    availableMicros,
  }: { readonly offer: Offer; readonly size: HoldSize; readonly availableMicros: Micros },
): number | null {
  // Another limit refuses a call that fits, and no lower cap helps.
  if (size.neededMicros <= availableMicros) return null
  const capTokens = Math.min(
    paidTokens(size, availableMicros),
    offer.outputTokensMax ?? Number.MAX_SAFE_INTEGER,
  )
  if (capTokens < HELPFUL_CAP_TOKENS_MIN || capTokens <= call.reasoningTokens) return null
  // A model that ignores caps, or a call without one, costs the same under a lower one.
  const { neededMicros } = sizeHold({ ...call, outputCapTokens: capTokens }, offer)
  return neededMicros <= availableMicros ? capTokens : null
}

/** The most expensive search of the upstream's own engines, which a call may choose. */
const SEARCH_PICOS_MIN: Picos = 30_000_000_000n

/** The least hold for a generated image, $0.20, and the most tokens that it may count as. */
const IMAGE_PICOS_MIN: Picos = 200_000_000_000n
const IMAGE_OUTPUT_TOKENS = 8_192n

/** The least hold for a summary of the conversation, unless the model's answers are shorter. */
const SUMMARY_TOKENS_MIN = 8_192

interface Sizing {
  readonly offer: Offer
  readonly prompt: PromptSize
}

/**
 * One reading has all tokens, of images too, at the highest price. If images may come with the answer, another
 * has text up to the cap and one image for each completion, whose price may be flat or not count in the cap.
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
  const tokensAlone = reading(highest(textPicos, prices.imageOutput), 0n)
  return [tokensAlone, reading(textPicos, imagePicos(prices))]
}

/** Output that is billed in addition to the answers. A longer cap allows a longer summary. */
function tokensBeyondCap(
  call: Call,
  { offer, output }: { readonly offer: Offer; readonly output: OutputSize },
): number {
  const extraTokens = (call.predictionTokens + output.uncappedTokens) * call.completions
  if (!call.compacts) return extraTokens
  const shortest = Math.min(SUMMARY_TOKENS_MIN, offer.outputTokensMax ?? SUMMARY_TOKENS_MIN)
  return extraTokens + Math.max(output.heldTokens, shortest)
}

/** Everything but output: prompts, searches and the price of the request itself. */
function promptPicos(call: Call, { offer, prompt }: Sizing): Picos {
  const { prices } = offer
  const { tools } = call
  const tokenPrices = pricesOf(call, { offer, prompt })
  const steps = tools.serverTools ? BigInt(tools.steps) : 0n
  const tokenPicos = inputTokenPicos(call, { offer, prices: tokenPrices })
  const unmarkedPicos = inputTokenPicos({ cacheWrites: 'none' }, { offer, prices: tokenPrices })
  const once = promptTokenPicos(call, { offer, prompt, tokenPicos, unmarkedPicos })
  const { resultTokens } = sizeStepGrowth(call, { offer, prompt })
  const beforeSteps = once + prices.request
  return (
    (call.compacts ? 2n : 1n) * beforeSteps +
    steps * (highest(prices.search, SEARCH_PICOS_MIN) + beforeSteps) +
    BigInt(resultTokens) * tokenPicos
  )
}

interface PromptPricing extends Sizing {
  /** The highest price of a token of text. */
  readonly tokenPicos: Picos
  /** The highest price of a token of text after the last cache mark. */
  readonly unmarkedPicos: Picos
}

/** One prompt. Images count by their tokens and by the image: a provider may bill both. */
function promptTokenPicos(
  call: Call,
  { offer, prompt, tokenPicos, unmarkedPicos }: PromptPricing,
): Picos {
  const { media } = call
  const { imageInput } = offer.prices
  const imageTokenPicos = imageInputTokenPicos({ offer, tokenPicos })
  const videoTokenPicos = videoInputTokenPicos({ offer, tokenPicos })
  const mediumTokens = BigInt(prompt.mediumTokens)
  // An inline video counts as text, and fills the window.
  const textTokenPicos = media.videosInline > 0 ? videoTokenPicos : tokenPicos
  return (
    BigInt(prompt.textTokens - prompt.unmarkedTokens) * textTokenPicos +
    BigInt(prompt.unmarkedTokens) * unmarkedPicos +
    inlineImagePicos(prompt, { imageTokenPicos, imageInput }) +
    BigInt(media.imagesByUrl) * (mediumTokens * imageTokenPicos + imageInput) +
    BigInt(media.files) * mediumTokens * imageTokenPicos +
    BigInt(media.videosByUrl) * mediumTokens * videoTokenPicos
  )
}

function inlineImagePicos(
  { imageTokens }: PromptSize,
  prices: { readonly imageTokenPicos: Picos; readonly imageInput: Picos },
): Picos {
  return imageTokens.reduce(
    (sum, tokens) => sum + BigInt(tokens) * prices.imageTokenPicos + prices.imageInput,
    0n,
  )
}

interface TokenPricing {
  readonly offer: Offer
  /** The price of an input token of text. */
  readonly tokenPicos: Picos
}

/** For images, and for files, whose pages a model may read as images. */
function imageInputTokenPicos({ offer, tokenPicos }: TokenPricing): Picos {
  return highest(tokenPicos, offer.prices.imageInputToken)
}

/** For videos, which have pictures and sound. */
function videoInputTokenPicos({ offer, tokenPicos }: TokenPricing): Picos {
  return highest(imageInputTokenPicos({ offer, tokenPicos }), offer.prices.audioInput)
}

function pricesOf(call: Call, { offer, prompt }: Sizing): TokenPrices {
  const { promptTokens } = sizeStepGrowth(call, { offer, prompt })
  // The counts of a summarized prompt are those of two prompts.
  return tokenPricesAt(offer.prices, call.compacts ? 2 * promptTokens : promptTokens)
}

/** The highest price of a token of the prompt. */
function inputTokenPicos(
  call: Pick<Call, 'cacheWrites'>,
  { offer, prices }: { readonly offer: Offer; readonly prices: TokenPrices },
): Picos {
  const unmarked = highest(prices.input, prices.cacheRead)
  const written = highest(unmarked, prices.cacheWrite, prices.cacheWriteLong)
  if (offer.marksUnmarked === true) return written
  switch (call.cacheWrites) {
    case 'none':
      // A model with a price for each lifetime writes only marked text, because the mark has the lifetime. Other models
      // may write caches unasked, and bill them.
      return prices.cacheWrite === prices.cacheWriteLong ? written : unmarked
    case 'short':
      return highest(unmarked, prices.cacheWrite)
    case 'long':
      return written
    default:
      return assertNever(call.cacheWrites)
  }
}

/** The highest price of a token of the answer, without those of images. */
function outputTokenPicos(call: Call, { offer, prompt }: Sizing): Picos {
  const { prices, outputModalities } = offer
  const hasAudio = call.outputKinds.audio || outputModalities.has('audio')
  return highest(
    pricesOf(call, { offer, prompt }).output,
    prices.reasoning,
    hasAudio ? prices.audioOutput : 0n,
  )
}

/** Whether images may come with the answer, requested or not. */
function makesImages(call: Call, { outputModalities }: Offer): boolean {
  return call.outputKinds.image || outputModalities.has('image')
}

/** The hold for a generated image. */
function imagePicos(prices: PriceTable): Picos {
  const figure = highest(
    IMAGE_PICOS_MIN,
    prices.imageInput,
    prices.imageFlat,
    IMAGE_OUTPUT_TOKENS * prices.imageOutput,
  )
  return figure + prices.request
}

/** For each image the highest price that it may have; for files and media by URL, their tokens. */
function sizeImageHold(call: Call, { offer, prompt }: Sizing): HoldSize {
  const { files, imagesByUrl, videosByUrl } = call.media
  const prices = pricesOf(call, { offer, prompt })
  const tokenPicos = inputTokenPicos(call, { offer, prices })
  const mediaTokenPicos =
    BigInt(files + imagesByUrl) * imageInputTokenPicos({ offer, tokenPicos }) +
    BigInt(videosByUrl) * videoInputTokenPicos({ offer, tokenPicos })
  const mediaPicos = BigInt(prompt.mediumTokens) * mediaTokenPicos
  const neededMicros = addMicros(
    microsCeilAboveFee(BigInt(call.completions) * imagePicos(offer.prices), offer.feeBasisPoints),
    microsCeilWithFee(mediaPicos, offer.feeBasisPoints),
  )
  return {
    neededMicros,
    leastMicros: neededMicros,
    capTokens: null,
    tokens: wholeTokens(prompt.promptTokens + call.completions * Number(IMAGE_OUTPUT_TOKENS)),
    readings: [],
    feeBasisPoints: offer.feeBasisPoints,
  }
}

/** Up to this step, the results of searches are held each time that a later step reads them again. */
const GROWING_STEPS_MAX = 7

/**
 * Sizes the additions of provider-run tools to a prompt. `resultTokens` are the tokens of search results, counted
 * each time that a step reads them; `promptTokens` is the longest prompt, by which price tiers apply.
 *
 * The prompt grows from step to step: each search adds its results, and every later step reads all of them
 * again, up to the context window.
 *
 * Thirty searches in a row would read the first results thirty times: the hold would be a whole window for each
 * step, which few accounts could pay and hardly any request costs. So results are held as often as they are
 * read in the first seven steps, or once for each step if that is more. A call of up to seven steps is thereby
 * held at its bound. A call of up to thirty is covered beyond its seventh search by the hold of the searches
 * that it does not make; past that it overruns. The output of the steps counts in the output cap, which is
 * held once.
 */
function sizeStepGrowth(
  { tools }: Call,
  { offer, prompt }: { readonly offer: Offer; readonly prompt: PromptSize },
): { readonly resultTokens: number; readonly promptTokens: number } {
  const { promptTokens } = prompt
  if (!tools.serverTools) return { resultTokens: 0, promptTokens }
  const { steps, searchResultTokens } = tools
  // The tokens of images that are billed by the image may be room for results.
  const priced = offer.prices.imageInput > 0n ? prompt.imageTokens : []
  const takenTokens = priced.reduce((rest, tokens) => rest - tokens, promptTokens)
  const room = Math.max(0, (offer.contextTokens ?? CONTEXT_TOKENS_UNKNOWN) - takenTokens)
  const growingSteps = Math.min(steps, GROWING_STEPS_MAX)
  let growth = 0
  for (let step = 1; step <= growingSteps; step++) {
    growth += Math.min(step * searchResultTokens, room)
  }
  return {
    resultTokens: Math.max(growth, steps * Math.min(searchResultTokens, room)),
    promptTokens: promptTokens + Math.min(growingSteps * searchResultTokens, room),
  }
}
