import { assertNever } from '../../vocabulary/assert-never.ts'
import type { Call } from '../../vocabulary/call.ts'
import { chargeForSaidCost, type Micros, maxMicros, ZERO_MICROS } from '../../vocabulary/money.ts'
import type { Offer } from '../../vocabulary/offer.ts'
import type { Outcome, Reported, Resolution, TokenUsage } from '../../vocabulary/outcome.ts'
import { pricesAtTier } from '../hold-size/token-prices.ts'
import { chargeForUsage, estimateUsage } from './usage-charge.ts'

/** What ran, at which model's prices. */
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
 * What an ended attempt means for its hold: the one rule for money, a pure function of how the attempt
 * ended, what the answer reported and whether it was a stream.
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
      // A stream before its headers has cost nothing that anybody was given.
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

// A guess is never above the hold, which bounds the charge: it may have been granted less than the call
// could come to, with the cap lowered to it, and text is guessed longer than it is.
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

// Most providers run a stream on whose client has left, and bill it: what can be looked up is.
function resolveLeftEarly(reported: Reported, ran: Ran): Resolution {
  const { generationId, usage } = reported
  const charged = chargeReported(reported)
  if (charged !== null) return charged
  if (generationId !== null || usage === null) return { kind: 'unresolved', generationId }
  return estimated(reported, { usage, generationId, ...ran })
}

// What the provider counted, and what passed after it did: messages counts its input first, so that a
// client who left before the end would else have had its output for nothing.
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

// Nothing but what the provider says it cost, which is usually nothing.
function resolveFailure(reported: Reported): Resolution {
  const { costUsd } = reported
  if (costUsd === null || costUsd.digits === 0n) return { kind: 'released' }
  return chargeReported(reported) ?? { kind: 'released' }
}

// Reported cost, else counts that can be looked up later, else nothing.
function resolveBrokenStream(reported: Reported, ran: Ran): Resolution {
  const { generationId, usage } = reported
  const charged = chargeReported(reported)
  if (charged !== null) return charged
  if (generationId === null) return { kind: 'released' }
  if (usage === null) return { kind: 'released', billedAs: generationId }
  return estimated(reported, { usage, generationId, ...ran })
}

// Null where no cost was reported, or one that no real amount comes to.
function chargeReported({ costUsd, generationId }: Reported): Resolution | null {
  if (costUsd === null) return null
  const chargeMicros = chargeForSaidCost(costUsd)
  if (chargeMicros === null) return null
  if (generationId === null) return { kind: 'final', chargeMicros, costUsd }
  return { kind: 'provisional', chargeMicros, costUsd, generationId }
}

// At the tier that was asked for, unless the answer says that it was served at another.
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
