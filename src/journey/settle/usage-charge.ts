import { SIXTIETHS } from '../../formats/token-guess.ts'
import { tokenPricesAt } from '../../upstreams/listing/price-table.ts'
import { type Call, type PixelSize, partCount, TOOL_STEPS_DEFAULT } from '../../vocabulary/call.ts'
import {
  chargeForStatedCost,
  type Decimal,
  decimalOfPicos,
  type Picos,
} from '../../vocabulary/money.ts'
import {
  answerTokensMax,
  CONTEXT_TOKENS_UNKNOWN,
  type Offer,
  type PriceTable,
} from '../../vocabulary/offer.ts'
import {
  type Outcome,
  promptTokensOf,
  type Reported,
  type TokenUsage,
} from '../../vocabulary/outcome.ts'
import { sizeOutput, sizePrompt, uncappedTokensOf } from '../hold-size/token-size.ts'

/** Counts, and the prices that they are billed at. */
interface UsageAtPrices {
  readonly usage: TokenUsage
  readonly prices: PriceTable
}

/** The items that a request is billed for: tokens of each kind, web searches, and the request itself. */
export const BILLED_KINDS = [
  ...(['input', 'cache_read', 'cache_write', 'cache_write_long'] as const),
  ...(['output', 'reasoning', 'image_output', 'search', 'request'] as const),
] as const

/** A part of the cost of a request: so many tokens, or searches, at one price. */
interface BilledPart {
  readonly kind: (typeof BILLED_KINDS)[number]
  readonly quantity: number
  /** For one. */
  readonly price: Picos
}

/** The cost of token counts, in dollars, without the fee: the sum of its parts. */
export function costOfUsage(billed: UsageAtPrices): Decimal {
  let picos = 0n
  for (const { quantity, price } of billedParts(billed)) picos += BigInt(quantity) * price
  return decimalOfPicos(picos)
}

/**
 * The parts of the cost of token counts, without the fee, at the prices of the tier that served them; none that is zero.
 *
 * Reasoning and image tokens are part of the output, at their own prices if the model lists them.
 */
export function billedParts({ usage, prices }: UsageAtPrices): readonly BilledPart[] {
  // After each search the provider reads the prompt again, and it counts all readings together.
  const at = tokenPricesAt(prices, promptTokensOf(usage) / (1 + usage.searches))
  const reasoningTokens = Math.min(usage.reasoningTokens, usage.outputTokens)
  const imageTokens = Math.min(usage.imageOutputTokens, usage.outputTokens - reasoningTokens)
  const reasoning = prices.reasoning || at.output
  const imageOutput = prices.imageOutput || at.output
  // Tokens at the price of the rest of the output are not a part of their own.
  const ownReasoning = reasoning === at.output ? 0 : reasoningTokens
  const ownImage = imageOutput === at.output ? 0 : imageTokens
  const parts: readonly BilledPart[] = [
    { kind: 'input', quantity: usage.inputTokens, price: at.input },
    { kind: 'cache_read', quantity: usage.cacheReadTokens, price: at.cacheRead },
    { kind: 'cache_write', quantity: usage.cacheWriteTokens, price: at.cacheWrite },
    { kind: 'cache_write_long', quantity: usage.cacheWriteLongTokens, price: at.cacheWriteLong },
    { kind: 'output', quantity: usage.outputTokens - ownReasoning - ownImage, price: at.output },
    { kind: 'reasoning', quantity: ownReasoning, price: reasoning },
    { kind: 'image_output', quantity: ownImage, price: imageOutput },
    { kind: 'search', quantity: usage.searches, price: prices.search },
    { kind: 'request', quantity: prices.request === 0n ? 0 : 1, price: prices.request },
  ]
  return parts.filter(({ quantity }) => quantity !== 0)
}

/** An image has a token for each 28 by 28 pixels, up to a maximum. Files and images of unknown size have 1,000. */
const PIXELS_PER_TOKEN = 28 * 28
const PICTURE_TOKENS_MAX = 4_096
const PART_TOKENS = 1_000

function likelyPartTokens({ media, inlineImages }: Call): number {
  const parts = partCount(media) - media.imagesInline
  const unsized = Math.max(0, media.imagesInline - inlineImages.length)
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
  const { heldTokens, uncappedTokens } = sizeOutput(call, offer)
  const outputTokensMax = (heldTokens + uncappedTokens) * call.completions
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

/** The number of answers that make a factor. */
const ANSWERS = 32
/** A shorter prompt consists mostly of the provider's template. */
const GUESS_TOKENS_MIN = 100
const FACTOR_MIN = 1 / 4
const FACTOR_MAX = 4

/**
 * The ratio of counted to estimated tokens, by upstream and model: the mean of the last answers. It is in memory, and 1
 * at first.
 */
export class TokenFactors {
  readonly #answers = new Map<string, number[]>()

  factorOf(offer: Pick<Offer, 'upstream' | 'modelId'>): number {
    const answers = this.#answers.get(nameOf(offer)) ?? []
    if (answers.length === 0) return 1
    return answers.reduce((sum, each) => sum + each, 0) / answers.length
  }

  /** Adjusts the factor by the counts of a whole answer, if its prompt was only text. */
  learn(
    call: Pick<Call, 'promptGuess' | 'media' | 'tools' | 'compacts'>,
    {
      offer,
      usage,
    }: { readonly offer: Pick<Offer, 'upstream' | 'modelId'>; readonly usage: TokenUsage },
  ): void {
    const guessTokens = call.promptGuess / SIXTIETHS
    if (guessTokens < GUESS_TOKENS_MIN || !isTextAlone(call)) return
    const factor = promptTokensOf(usage) / guessTokens
    const name = nameOf(offer)
    const answers = this.#answers.get(name) ?? []
    // An answer with an absurd count stays within the bounds too.
    answers.push(Math.min(Math.max(factor, FACTOR_MIN), FACTOR_MAX))
    if (answers.length > ANSWERS) answers.shift()
    this.#answers.set(name, answers)
  }
}

function nameOf({ upstream, modelId }: Pick<Offer, 'upstream' | 'modelId'>): string {
  return `${upstream} ${modelId}`
}

// A prompt that the provider reads again for a search or a summary counts more than once.
function isTextAlone({
  media,
  tools,
  compacts,
}: Pick<Call, 'media' | 'tools' | 'compacts'>): boolean {
  return partCount(media) === 0 && !tools.serverTools && !compacts
}

/** A step may search for several things at once. */
const SEARCHES_A_STEP_MAX = 10

/** A server may put an instruction of its own before each of many short texts to embed. */
const INSTRUCTION_TIMES = 16

interface Counted {
  readonly call: Call
  readonly offer: Offer
}

/**
 * The outcome of an attempt, without its counts if the charge would follow them and the call can't have used so many
 * tokens: a provider that counts wrong would otherwise charge thousands of dollars to an account that has cents. This
 * also holds for a provider that can be asked for the cost: until it answers, the account would owe them.
 */
export function withPossibleCounts(outcome: Outcome, counted: Counted): Outcome {
  if (outcome.kind === 'neverOpened') return outcome
  const { usage } = outcome.reported
  if (usage === null || isCostStated(outcome.reported, counted)) return outcome
  if (isPossible(usage, counted)) return outcome
  const { countsAreCost: _, textTokens, ...reported } = outcome.reported
  const estimated = textTokens === undefined ? {} : { uncountedTokens: textTokens }
  return { ...outcome, reported: { ...reported, usage: null, ...estimated } }
}

/** Whether the provider states a cost that can be charged, so that no charge follows the counts. */
function isCostStated({ costUsd, countsAreCost }: Reported, { offer }: Counted): boolean {
  if (costUsd === null || countsAreCost === true) return false
  return chargeForStatedCost(costUsd, offer.feeBasisPoints) !== null
}

// The bounds are wide, because counts that are not believed are not charged: true counts must stay within them even if
// the catalog lists a window or a maximum that is too low.
function isPossible(usage: TokenUsage, { call, offer }: Counted): boolean {
  const promptTokens = promptTokensOf(usage)
  const { outputTokens, searches } = usage
  const windowTokens = offer.contextTokens ?? CONTEXT_TOKENS_UNKNOWN
  if (searches === 0 && promptTokens + outputTokens <= windowTokens) return true
  // A figure for each image bounds what images cost, whatever their tokens.
  if (call.rules.heldBy === 'images') return true
  const { serverTools, steps } = call.tools
  const readings = call.completions * (1 + (serverTools ? steps : 0) + (call.compacts ? 1 : 0))
  const written = sizePrompt(call, { ...offer, contextTokens: null })
  const times = call.rules.prompt.windows === 'any' ? INSTRUCTION_TIMES : 1
  const answerTokens = Math.max(
    answerTokensMax(offer) ?? windowTokens,
    call.outputCapTokens ?? 0,
    call.reasoningTokens,
  )
  return (
    promptTokens <= readings * Math.max(windowTokens, times * written.promptTokens) &&
    outputTokens <= readings * (answerTokens + uncappedTokensOf(call, offer)) &&
    searches <= call.completions * TOOL_STEPS_DEFAULT * SEARCHES_A_STEP_MAX
  )
}
