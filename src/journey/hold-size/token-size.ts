import { assertNever } from '../../vocabulary/assert-never.ts'
import type { Call, InlineImage, PixelSize } from '../../vocabulary/call.ts'
import {
  answerTokensMax,
  CONTEXT_TOKENS_UNKNOWN,
  type Offer,
  type PromptAdditions,
} from '../../vocabulary/offer.ts'
import { Problem } from '../../vocabulary/problem.ts'

/** The cap of a chat or legacy completion that sets none, if the model allows this much. */
const DEFAULT_CAP_TOKENS_MAX = 32_768

/** The lowest value to which the gateway lowers a cap that it set. */
const LOWERED_CAP_TOKENS_MIN = 16

/** The output that each completion of a call is held for. */
export interface OutputSize {
  /** The output tokens that are held if the credit is there. */
  readonly heldTokens: number
  /** The least that it could be held for; equal to `heldTokens` if the cap must not be lowered. */
  readonly leastTokens: number
  /** The cap to send if all of it is held; null: the body keeps its own. */
  readonly sentTokens: number | null
  /** Thoughts that a server may count in addition to the cap, which a lower cap does not reduce. */
  readonly uncappedTokens: number
}

/**
 * Sizes the output. A client's cap is held in full, even above the model's listed maximum, because it goes
 * upstream unchanged; only messages are held up to that maximum. A reasoning budget above the cap is held in its
 * place, and one that a server may count in addition to the cap is held too. Throws Problem `output_cap_required` if
 * neither the call nor the model bounds the answer.
 */
export function sizeOutput(call: Call, offer: Offer): OutputSize {
  const { heldTokens, leastTokens, sentTokens } = sizeCap(call, offer)
  const uncappedTokens = uncappedTokensOf(call, offer)
  const reasoningTokens = withinWindow(call.reasoningTokens, offer) - uncappedTokens
  return {
    heldTokens: Math.max(heldTokens, reasoningTokens),
    leastTokens: Math.max(leastTokens, reasoningTokens),
    sentTokens,
    uncappedTokens,
  }
}

/** The tokens of thinking beside the cap: some servers end it at the budget of the call, and others only at their own. */
export function uncappedTokensOf(call: Call, { uncappedThinkingTokens = 0 }: Offer): number {
  if (call.rules.output.cap === 'none') return 0
  return Math.max(call.thinkingTokens, uncappedThinkingTokens)
}

type CapSize = Omit<OutputSize, 'uncappedTokens'>

function sizeCap(call: Call, offer: Offer): CapSize {
  const { output } = call.rules
  switch (output.cap) {
    case 'none':
      return fixed(0)
    case 'ours':
      return loweredCap(call, offer)
    case 'clients': {
      const capTokens = ownCap(call, offer, output.param)
      const isListed = output.heldUpTo === 'modelMaximum'
      return fixed(isListed ? withinModel(capTokens, offer) : withinWindow(capTokens, offer))
    }
    default:
      return assertNever(output)
  }
}

function fixed(heldTokens: number): CapSize {
  return { heldTokens, leastTokens: heldTokens, sentTokens: null }
}

function loweredCap(call: Call, offer: Offer): CapSize {
  const takesCap =
    offer.supportedParameters.has('max_tokens') ||
    offer.supportedParameters.has('max_completion_tokens')
  const ownTokens = withinWindow(call.outputCapTokens ?? 0, offer)
  // A cap that the model ignores does not bound its answer, whether it is the client's or the gateway's.
  if (!takesCap) return fixed(Math.max(ownTokens, modelMax(offer) ?? CONTEXT_TOKENS_UNKNOWN))
  if (call.outputCapTokens !== null) return fixed(ownTokens)
  const heldTokens = withinModel(DEFAULT_CAP_TOKENS_MAX, offer)
  // Search results or a summary may need more than a lowered cap leaves: such a call keeps its whole cap.
  const leastTokens =
    call.tools.serverTools || call.compacts
      ? heldTokens
      : Math.min(LOWERED_CAP_TOKENS_MIN, heldTokens)
  return { heldTokens, leastTokens, sentTokens: heldTokens }
}

/** The client's cap, which is never lowered, or the model's whole maximum. */
function ownCap(call: Call, offer: Offer, param: string): number {
  if (call.outputCapTokens !== null) return call.outputCapTokens
  if (offer.outputTokensMax !== null) return offer.outputTokensMax
  throw new Problem('output_cap_required', {
    message: `This model lists no maximum output: set \`${param}\`.`,
    param,
  })
}

function withinModel(capTokens: number, offer: Offer): number {
  return Math.min(capTokens, modelMax(offer) ?? capTokens)
}

function withinWindow(tokens: number, offer: Offer): number {
  return Math.min(tokens, answerTokensMax(offer) ?? tokens)
}

/** The longest answer of the model; null if the catalog does not know it. */
function modelMax(offer: Offer): number | null {
  return offer.outputTokensMax ?? offer.contextTokens
}

/**
 * The additions for a model of which nothing is known: default system prompts of open models, and any provider's
 * instructions for tools.
 */
const UNKNOWN_ADDITIONS: PromptAdditions = { templateTokens: 400, toolTokens: 600 }

/** The least number of tokens that an image of any size counts as. */
const IMAGE_TOKENS_MIN = 2_000

/** A prompt's tokens, by how they are held. */
export interface PromptSize {
  /** Text, including inline content that is neither a file nor an image. */
  readonly textTokens: number
  /** The tokens of text after the last cache mark, which are not written to a cache; part of `textTokens`. */
  readonly unmarkedTokens: number
  /** The tokens of each inline image, in addition to the text. */
  readonly imageTokens: readonly number[]
  /** The tokens of each file, each image by URL and each video by URL, in addition to the text. */
  readonly mediumTokens: number
  /** The sum, by which price tiers apply. */
  readonly promptTokens: number
}

/**
 * The most tokens of a call's prompt.
 *
 * Text is never below a tokenizer's count: the body's structure covers the separators of messages, and the
 * constants cover the provider's additions. It is never above what the model reads at once, if that is known: one
 * context window, or one for each completion if there may be several prompts. Embeddings have no such bound: they
 * take any number of inputs, each up to the window. An inline video fills the window, because a few bytes of it
 * can show an hour.
 */
export function sizePrompt(call: Call, offer: Offer): PromptSize {
  const { media } = call
  const { contextTokens } = offer
  const written = call.textTokens + addedTokens(call, offer)
  const filled =
    media.videosInline > 0 ? Math.max(written, contextTokens ?? CONTEXT_TOKENS_UNKNOWN) : written
  const textTokens = Math.min(filled, textTokensMax(call, offer))
  const mediumTokens = Math.max(textTokens, contextTokens ?? CONTEXT_TOKENS_UNKNOWN)
  const mediaByWindow = media.files + media.imagesByUrl + media.videosByUrl
  const images = inlineImageTokens(call, offer)
  return {
    textTokens,
    unmarkedTokens: unmarkedTokens(call, { offer, written, textTokens }),
    imageTokens: images,
    mediumTokens,
    promptTokens:
      textTokens + images.reduce((sum, tokens) => sum + tokens, 0) + mediaByWindow * mediumTokens,
  }
}

/**
 * The text after the last mark, as far as the window has room for it and the rest. If the provider runs tools or
 * summarizes the conversation, it may mark their additions, and so everything before them.
 */
function unmarkedTokens(
  call: Call,
  {
    offer,
    written,
    textTokens,
  }: { readonly offer: Offer; readonly written: number; readonly textTokens: number },
): number {
  const addsMarks = call.tools.serverTools || call.compacts || call.media.videosInline > 0
  if (offer.cachesOnlyMarked !== true || addsMarks) return 0
  return Math.max(0, textTokens - (written - call.unmarkedTokens))
}

/** Images at places where no provider reads images are text, and also count as the smallest images. */
function inlineImageTokens({ media, inlineImages }: Call, offer: Offer): readonly number[] {
  const tokens = inlineImages.map((image) => imageTokens(image, offer))
  const others = Math.max(0, media.imagesInline - inlineImages.length)
  return [...tokens, ...new Array<number>(others).fill(IMAGE_TOKENS_MIN)]
}

function addedTokens(call: Call, { promptAdditions = UNKNOWN_ADDITIONS }: Offer): number {
  if (!call.rules.prompt.hasTemplate) return 0
  const hasTools = call.tools.clientTools > 0 || call.tools.serverTools
  const { templateTokens, toolTokens } = promptAdditions
  return templateTokens + (hasTools ? toolTokens : 0)
}

function textTokensMax(call: Call, { contextTokens }: Offer): number {
  const { windows } = call.rules.prompt
  if (contextTokens === null || windows === 'any') return Number.MAX_SAFE_INTEGER
  const prompts = windows === 'perCompletion' ? call.completions : 1
  return Math.min(contextTokens * prompts, Number.MAX_SAFE_INTEGER)
}

/** The most tokens that an author's models make of an image, at the highest detail. */
type TokensOfPixels = (size: PixelSize) => number

/**
 * By the start of a model's {@link Offer.authoredId}; the longest match counts. Documented figures are averages or differ
 * between models: each row is above all known figures of its author.
 */
const TOKENS_BY_ID_START: readonly (readonly [string, TokensOfPixels])[] = [
  // platform.claude.com/docs/en/build-with-claude/vision, November 2026: a token for each 28 by 28
  // pixels, at most 4,784 (1,568 up to version 4.6); before that, width × height / 750.
  ['anthropic/', (size) => Math.min(Math.max(patches(size, 28), area(size) / 750), 4_784)],
  // ai.google.dev/gemini-api/docs/tokens and /media-resolution, November 2026: Gemini 3 at most 2,240
  // (ultra high), earlier ones 258 for each tile, whose side is two thirds of the shorter edge, from 256
  // to 768 pixels.
  ['google/', (size) => Math.max(2_240, 258 * patches(size, geminiTilePixels(size)))],
  // developers.openai.com/api/docs/guides/images-vision, November 2026, with the factors that are billed
  // (community.openai.com/t/1377015): 1.2 tokens for each 32 by 32 pixels, since GPT-6 without a limit;
  // up to 2.46 in small models, limited to 1,536 patches. Models with tiles stay below 1,500.
  [
    'openai/',
    (size) => Math.max(1.2 * patches(size, 32), 2.46 * Math.min(patches(size, 32), 1_536)),
  ],
  // That page too: 2,833 tokens and 5,667 for each tile of 512 pixels, of which there are at most eight
  // once the image fits 2,048 by 768.
  ['openai/gpt-4o-mini', (size) => 2_833 + 5_667 * Math.min(patches(size, 512), 8)],
  // docs.x.ai, image understanding, November 2026: 256 tokens for each tile of 448 pixels and for one more.
  ['x-ai/', (size) => 256 * (patches(size, 448) + 1)],
  // docs.mistral.ai, vision, and mistral-common 1.8: a token for each 16 by 16 pixels of at most 1,024 by
  // 1,024, and one for each row; later models merge patches, and make fewer.
  ['mistralai/', (size) => Math.min(patches(size, 16) + Math.ceil(size.height / 16), 4_160)],
  // qwen-vl-utils 0.0.14: a token for each 28 by 28 pixels, at most 16,384, and two around them.
  ['qwen/', (size) => Math.min(patches(size, 28), 16_384) + 2],
  // Llama 3.2 Vision's processor: 1,601 tokens for each of at most four tiles; Llama 4: 145 for each of 17.
  ['meta-llama/', () => 4 * 1_601],
]

/** In place of an unknown size: the largest image that the providers above accept. */
const LARGEST: PixelSize = { width: 8_000, height: 8_000 }

/**
 * The most tokens of one inline image. An unknown author or size counts as the most expensive row. A model that takes no
 * images may get its base64 as text, at a token for each byte at most. The result is at least
 * {@link IMAGE_TOKENS_MIN}, and above that at most the window.
 */
function imageTokens(image: InlineImage, offer: Offer): number {
  const { pixels } = image
  const size = pixels ?? LARGEST
  const row = pixels === null ? undefined : rowOf(offer.authoredId)
  const ofPixels =
    row === undefined
      ? Math.max(...TOKENS_BY_ID_START.map(([, tokensOf]) => tokensOf(size)))
      : row(size)
  const ofText = offer.inputModalities.has('image') ? image.textTokens : image.leftOutBytes
  const tokens = Math.max(Math.ceil(ofPixels), ofText)
  return Math.max(IMAGE_TOKENS_MIN, Math.min(tokens, offer.contextTokens ?? tokens))
}

function rowOf(modelId: string | null): TokensOfPixels | undefined {
  if (modelId === null) return undefined
  let longest = ''
  let row: TokensOfPixels | undefined
  for (const [start, tokensOf] of TOKENS_BY_ID_START) {
    if (!modelId.startsWith(start) || start.length < longest.length) continue
    longest = start
    row = tokensOf
  }
  return row
}

function patches({ width, height }: PixelSize, sidePixels: number): number {
  return Math.ceil(width / sidePixels) * Math.ceil(height / sidePixels)
}

function area({ width, height }: PixelSize): number {
  return width * height
}

function geminiTilePixels({ width, height }: PixelSize): number {
  return Math.min(Math.max(Math.floor(Math.min(width, height) / 1.5), 256), 768)
}
