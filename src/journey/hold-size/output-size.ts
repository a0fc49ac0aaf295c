import { assertNever } from '../../vocabulary/assert-never.ts'
import type { Call } from '../../vocabulary/call.ts'
import { answerTokensMax, CONTEXT_TOKENS_UNKNOWN, type Offer } from '../../vocabulary/offer.ts'
import { Problem } from '../../vocabulary/problem.ts'

/** The cap of a chat or legacy completion that sets none, if the model allows this much. */
const DEFAULT_CAP_TOKENS_MAX = 32_768

/** Such a cap is never lowered below this. */
const LOWERED_CAP_TOKENS_MIN = 16

/** The output that each completion of a call is held for. */
export interface OutputSize {
  /** The output under the cap. */
  readonly heldTokens: number
  /** The least that it could be held for; equal to `heldTokens` if the cap must not be lowered. */
  readonly leastTokens: number
  /** The cap to send if all of it is held; null: the body keeps its own. */
  readonly sentTokens: number | null
  /** Thoughts that a server may count in addition to the cap, which a lower cap does not reduce. */
  readonly besideTokens: number
}

/**
 * Sizes the output. A client's cap is held in full, even above the model's listed maximum, because it goes
 * upstream unchanged; only messages are held up to that maximum. A reasoning budget above the cap is held in its
 * place, and one that a server may count in addition to the cap is held too. Throws Problem `output_cap_required` if
 * neither the call nor the model bounds the answer.
 */
export function sizeOutput(call: Call, offer: Offer): OutputSize {
  const { heldTokens, leastTokens, sentTokens } = sizeCap(call, offer)
  const besideTokens = call.thinkingTokens
  const reasoningTokens = withinWindow(call.reasoningTokens, offer) - besideTokens
  return {
    heldTokens: Math.max(heldTokens, reasoningTokens),
    leastTokens: Math.max(leastTokens, reasoningTokens),
    sentTokens,
    besideTokens,
  }
}

type CapSize = Omit<OutputSize, 'besideTokens'>

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
