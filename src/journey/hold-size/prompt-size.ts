import type { Call } from '../../vocabulary/call.ts'
import { CONTEXT_TOKENS_UNKNOWN, type Offer } from '../../vocabulary/offer.ts'
import { IMAGE_TOKENS_MIN, imageTokens } from './image-tokens.ts'

/** What chat templates and default system prompts put around the messages of a request. */
const TEMPLATE_TOKENS = 400

/** What providers tell a model of how to call tools, beside their definitions. */
const TOOL_PROMPT_TOKENS = 600

/** A prompt's tokens by what they are held as. */
export interface PromptSize {
  /** Text, with everything inline that is neither a file nor an image. */
  readonly textTokens: number
  /** What each inline image counts as, beside the text. */
  readonly imageTokens: readonly number[]
  /** What each file, each image by URL and each video by URL counts as, beside the text. */
  readonly mediumTokens: number
  /** Everything together: the size that price tiers go by. */
  readonly promptTokens: number
}

/**
 * The most tokens that the prompt of a call comes to.
 *
 * Text is never below what a tokenizer makes of it: the body's structure stands for what separates
 * messages, the constants for what the provider adds. It is never more than what the model reads at
 * once, where that is known: one context window, or one for each completion where there may be several
 * prompts.
 * Embeddings take any number of inputs, each up to the window, so that theirs has no such bound.
 * An inline video fills the window, because a few bytes of it can show an hour.
 */
export function sizePrompt(call: Call, offer: Offer): PromptSize {
  const { media } = call
  const { contextTokens } = offer
  const written = call.textTokens + addedTokens(call)
  const filled =
    media.videosInline > 0 ? Math.max(written, contextTokens ?? CONTEXT_TOKENS_UNKNOWN) : written
  const textTokens = Math.min(filled, textTokensMax(call, offer))
  const mediumTokens = Math.max(textTokens, contextTokens ?? CONTEXT_TOKENS_UNKNOWN)
  const mediaByWindow = media.files + media.imagesByUrl + media.videosByUrl
  const images = inlineImageTokens(call, offer)
  return {
    textTokens,
    imageTokens: images,
    mediumTokens,
    promptTokens:
      textTokens + images.reduce((sum, tokens) => sum + tokens, 0) + mediaByWindow * mediumTokens,
  }
}

/** Images that stand where no provider looks for any are text, and count beside it as the smallest do. */
function inlineImageTokens({ media, inlineImages }: Call, offer: Offer): readonly number[] {
  const tokens = inlineImages.map((image) => imageTokens(image, offer))
  const others = Math.max(0, media.imagesInline - inlineImages.length)
  return [...tokens, ...new Array<number>(others).fill(IMAGE_TOKENS_MIN)]
}

function addedTokens(call: Call): number {
  if (!call.rules.prompt.hasTemplate) return 0
  const hasTools = call.tools.clientTools > 0 || call.tools.serverTools
  return TEMPLATE_TOKENS + (hasTools ? TOOL_PROMPT_TOKENS : 0)
}

function textTokensMax(call: Call, { contextTokens }: Offer): number {
  const { windows } = call.rules.prompt
  if (contextTokens === null || windows === 'any') return Number.MAX_SAFE_INTEGER
  const prompts = windows === 'perCompletion' ? call.completions : 1
  return Math.min(contextTokens * prompts, Number.MAX_SAFE_INTEGER)
}
