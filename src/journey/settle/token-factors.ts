import { SIXTIETHS } from '../../tokens/guess.ts'
import type { Call } from '../../vocabulary/call.ts'
import type { Offer } from '../../vocabulary/offer.ts'
import { promptTokensOf, type TokenUsage } from '../../vocabulary/outcome.ts'

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
  const { files, imagesInline, imagesByUrl, videosInline, videosByUrl } = media
  const parts = files + imagesInline + imagesByUrl + videosInline + videosByUrl
  return parts === 0 && !tools.serverTools && !compacts
}
