import { pricesAtTier } from '../../upstreams/listing/price-table.ts'
import { assertNever } from '../../vocabulary/assert-never.ts'
import type { Call } from '../../vocabulary/call.ts'
import { chargeForSaidCost, type Micros, maxMicros, ZERO_MICROS } from '../../vocabulary/money.ts'
import type { Offer } from '../../vocabulary/offer.ts'
import type { Outcome, Reported, Resolution, TokenUsage } from '../../vocabulary/outcome.ts'
import { chargeForUsage, estimateUsage } from './usage-charge.ts'

/** The call that ran, and the model with its prices. */
interface Ran {
  readonly call: Call
  readonly offer: Offer
}

interface ResolveInput extends Ran {
  readonly outcome: Outcome
  /** The hold. */
  readonly grantedMicros: Micros
}

/**
 * Decides how an ended attempt's hold is settled. This is the one money rule: a pure function of the attempt's
 * ending, the answer's report and whether it was a stream.
 */
export function resolveOutcome({ outcome, call, offer, grantedMicros }: ResolveInput): Resolution {
  switch (outcome.kind) {
    case 'completed':
      return resolveSuccess(outcome.reported, { call, offer })
    case 'failed':
      return resolveFailure(outcome.reported)
    case 'neverOpened':
      return { kind: 'released' }
    case 'lost':
    case 'timedOut': {
      const { stage, reported } = outcome
      if (!call.stream) return { kind: 'unresolved', generationId: reported.generationId }
      // Before its headers, a stream has given the client nothing to pay for.
      return stage === 'beforeHeaders'
        ? { kind: 'released' }
        : resolveBrokenStream(reported, { call, offer })
    }
    case 'unreadable': {
      const { usage, generationId } = outcome.reported
      const isWaitedFor = usage === null && (generationId !== null || !call.stream)
      if (isWaitedFor) return { kind: 'unresolved', generationId }
      return resolveBrokenStream(outcome.reported, { call, offer })
    }
    case 'clientGone':
      return resolveLeftStream(outcome, { call, offer, grantedMicros })
    case 'leftEarly':
      return resolveLeftEarly(outcome.reported, { call, offer })
    default:
      return assertNever(outcome)
  }
}

// An estimate is never above the hold, which bounds the charge: the grant may be less than the call could cost,
// with the cap lowered to it, and estimates of text are too high.
function resolveLeftStream(
  { reported, relayedTokens }: Extract<Outcome, { kind: 'clientGone' }>,
  { grantedMicros, ...ran }: Ran & Pick<ResolveInput, 'grantedMicros'>,
): Resolution {
  const usage = usageWhenClientLeft({ counted: reported.usage, relayedTokens, ...ran })
  const guessed = resolveBrokenStream({ ...reported, usage }, ran)
  if (guessed.kind !== 'provisional' || guessed.costUsd !== null) return guessed
  if (guessed.chargeMicros <= grantedMicros) return guessed
  const counted = resolveBrokenStream(reported, ran)
  const countedMicros = counted.kind === 'provisional' ? counted.chargeMicros : ZERO_MICROS
  return { ...guessed, chargeMicros: maxMicros(grantedMicros, countedMicros) }
}

// Most providers continue a stream whose client has left, and bill it: it is looked up if it can be.
function resolveLeftEarly(reported: Reported, ran: Ran): Resolution {
  const { generationId, usage } = reported
  const charged = chargeReported(reported)
  if (charged !== null) return charged
  if (generationId !== null || usage === null) return { kind: 'unresolved', generationId }
  return estimated(reported, { usage, generationId, ...ran })
}

// The provider's counts, and the text after them: messages counts its input first, so that a client that left
// before the end would otherwise get its output for free.
function usageWhenClientLeft({
  counted,
  relayedTokens,
  call,
  offer,
}: {
  readonly counted: TokenUsage | null
  readonly relayedTokens: number
  readonly call: Call
  readonly offer: Offer
}): TokenUsage {
  if (counted === null) return estimateUsage({ call, offer, relayedTokens })
  const seenTokens = counted.outputTokens + relayedTokens
  const { outputTokens } = estimateUsage({ call, offer, relayedTokens: seenTokens })
  return { ...counted, outputTokens: Math.max(counted.outputTokens, outputTokens) }
}

function resolveSuccess(reported: Reported, ran: Ran): Resolution {
  const { generationId, usage } = reported
  const charged = chargeReported(reported)
  if (charged !== null) return charged
  if (generationId === null || usage === null) return { kind: 'unresolved', generationId }
  return estimated(reported, { usage, generationId, ...ran })
}

// A failure is charged only the cost that the provider reports, which is usually zero.
function resolveFailure(reported: Reported): Resolution {
  const { costUsd } = reported
  if (costUsd === null || costUsd.digits === 0n) return { kind: 'released' }
  return chargeReported(reported) ?? { kind: 'released' }
}

// The reported cost; else counts, if they can be looked up later; else nothing.
function resolveBrokenStream(reported: Reported, ran: Ran): Resolution {
  const { generationId, usage } = reported
  const charged = chargeReported(reported)
  if (charged !== null) return charged
  if (generationId === null) return { kind: 'released' }
  if (usage === null) return { kind: 'released', billedAs: generationId }
  return estimated(reported, { usage, generationId, ...ran })
}

// Null if no cost was reported, or one above any real amount.
function chargeReported({ costUsd, generationId }: Reported): Resolution | null {
  if (costUsd === null) return null
  const chargeMicros = chargeForSaidCost(costUsd)
  if (chargeMicros === null) return null
  if (generationId === null) return { kind: 'final', chargeMicros, costUsd }
  return { kind: 'provisional', chargeMicros, costUsd, generationId }
}

// At the requested tier, unless the answer names another.
function estimated(
  { servedTier }: Reported,
  {
    usage,
    generationId,
    call,
    offer,
  }: Ran & { readonly usage: TokenUsage; readonly generationId: string | null },
): Resolution {
  const priorityTier = call.priorityTier && servedTier !== 'standard'
  const prices = pricesAtTier(offer, { priorityTier })
  const chargeMicros = chargeForUsage({ usage, prices })
  if (chargeMicros === null) return { kind: 'unresolved', generationId }
  return { kind: 'provisional', chargeMicros, costUsd: null, generationId }
}
