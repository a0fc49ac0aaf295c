import { type Call, TOOL_STEPS_DEFAULT } from '../../vocabulary/call.ts'
import { answerTokensMax, CONTEXT_TOKENS_UNKNOWN, type Offer } from '../../vocabulary/offer.ts'
import { type Outcome, promptTokensOf, type TokenUsage } from '../../vocabulary/outcome.ts'
import { sizePrompt } from '../hold-size/token-size.ts'

/** A step may search for several things at once. */
const SEARCHES_A_STEP_MAX = 10

/** A server may put an instruction of its own before each of many short texts to embed. */
const INSTRUCTION_TIMES = 16

interface Counted {
  readonly call: Call
  readonly offer: Offer
}

/**
 * The outcome of an attempt, without its counts if they are its cost and the call can't have used so many tokens: a
 * provider that counts wrong would otherwise charge thousands of dollars to an account that has cents.
 */
export function withPossibleCounts(outcome: Outcome, counted: Counted): Outcome {
  if (outcome.kind === 'neverOpened') return outcome
  const { usage, countsAreCost } = outcome.reported
  if (countsAreCost !== true || usage === null || isPossible(usage, counted)) return outcome
  const { countsAreCost: _, ...reported } = outcome.reported
  return { ...outcome, reported: { ...reported, usage: null } }
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
    outputTokens <= readings * (answerTokens + call.thinkingTokens) &&
    searches <= call.completions * TOOL_STEPS_DEFAULT * SEARCHES_A_STEP_MAX
  )
}
