import type { Call } from '../../vocabulary/call.ts'
import { CONTEXT_TOKENS_UNKNOWN, type Offer } from '../../vocabulary/offer.ts'
import type { PromptSize } from './prompt-size.ts'

/** Searches after which results are no longer held as often as they are read again. */
const GROWING_STEPS_MAX = 7

/** What the steps of provider-run tools add to a prompt, beside reading it again. */
interface StepGrowth {
  /** Tokens of search results, each time that a step reads them; all steps together. */
  readonly resultTokens: number
  /** The longest prompt that is held: the size that price tiers go by. */
  readonly promptTokens: number
}

/**
 * How a prompt grows from step to step: each search puts its results into it, and every later step
 * reads them all again, up to the context window.
 *
 * Thirty searches in a row would read the first results thirty times: a hold of a whole window at every
 * step, which few accounts could pay and hardly any request comes to. So results are held as often as
 * they are read in the first seven steps, or once for each step where that is more. A call that may take
 * no more than seven steps is thereby held at its bound. One that may take thirty is covered beyond its
 * seventh search by what the searches that it does not make are held at; past that it is an overrun.
 * What the steps write is taken to be within the output cap, which is held once.
 */
export function sizeStepGrowth(
  { tools }: Call,
  { offer, prompt }: { readonly offer: Offer; readonly prompt: PromptSize },
): StepGrowth {
  const { promptTokens } = prompt
  if (!tools.serverTools) return { resultTokens: 0, promptTokens }
  const { steps, searchResultTokens } = tools
  // Images that are billed by the image may leave results the room that their tokens would take.
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
