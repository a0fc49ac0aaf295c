import { assertNever } from '../../vocabulary/assert-never.ts'
import type { Call } from '../../vocabulary/call.ts'
import { CONTEXT_TOKENS_UNKNOWN, type Offer } from '../../vocabulary/offer.ts'
import { Problem } from '../../vocabulary/problem.ts'

/** The cap that is held where a chat or legacy completion sets none, if the model allows as much. */
const DEFAULT_CAP_TOKENS_MAX = 32_768

/** What such a cap is never lowered below. */
const LOWERED_CAP_TOKENS_MIN = 16

/** The output that a call is held for, a completion. */
export interface OutputSize {
  readonly heldTokens: number
  /** The least it could be held for; equal to `heldTokens` where the cap is not ours to lower. */
  readonly leastTokens: number
  /** The cap to send where all of it is held; null: the body keeps what it has. */
  readonly sentTokens: number | null
}

/**
 * A cap of the client is held in full, above the model's listed maximum too, because it goes upstream
 * as it is; messages alone is held up to that maximum. A budget for reasoning that is larger than the
 * cap is held in its place. Throws Problem `output_cap_required` where neither the call nor the model
 * says how long an answer gets.
 */
export function sizeOutput(call: Call, offer: Offer): OutputSize {
  const { heldTokens, leastTokens, sentTokens } = sizeCap(call, offer)
  const reasoningTokens = withinWindow(call.reasoningTokens, offer)
  return {
    heldTokens: Math.max(heldTokens, reasoningTokens),
    leastTokens: Math.max(leastTokens, reasoningTokens),
    sentTokens,
  }
}

function sizeCap(call: Call, offer: Offer): OutputSize {
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

function fixed(heldTokens: number): OutputSize {
  return { heldTokens, leastTokens: heldTokens, sentTokens: null }
}

function loweredCap(call: Call, offer: Offer): OutputSize {
  const takesCap =
    offer.supportedParameters.has('max_tokens') ||
    offer.supportedParameters.has('max_completion_tokens')
  const ownTokens = withinWindow(call.outputCapTokens ?? 0, offer)
  // A cap that the model ignores, the client's as well as ours, does not bound its answer.
  if (!takesCap) return fixed(Math.max(ownTokens, modelMax(offer) ?? CONTEXT_TOKENS_UNKNOWN))
  if (call.outputCapTokens !== null) return fixed(ownTokens)
  const heldTokens = withinModel(DEFAULT_CAP_TOKENS_MAX, offer)
  // What a search brings back, or a summary, may call for more than a lowered cap leaves: such a call
  // runs whole.
  const leastTokens =
    call.tools.serverTools || call.compacts
      ? heldTokens
      : Math.min(LOWERED_CAP_TOKENS_MIN, heldTokens)
  return { heldTokens, leastTokens, sentTokens: heldTokens }
}

/** The cap that the client set, or the model's whole maximum; the client's is never lowered. */
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

// A model that lists a longer answer than its window is taken at its word.
function withinWindow(tokens: number, { contextTokens, outputTokensMax }: Offer): number {
  if (contextTokens === null) return tokens
  return Math.min(tokens, Math.max(contextTokens, outputTokensMax ?? 0))
}

/** The longest answer that the model gives; null where the catalog does not know. */
function modelMax(offer: Offer): number | null {
  return offer.outputTokensMax ?? offer.contextTokens
}
