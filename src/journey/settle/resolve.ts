import { pricesAtTier } from '../../upstreams/listing/price-table.ts'
import { assertNever } from '../../vocabulary/assert-never.ts'
import type { Call } from '../../vocabulary/call.ts'
import {
  chargeForCost,
  chargeForStatedCost,
  type Decimal,
  type Micros,
  maxMicros,
  minMicros,
  ZERO_MICROS,
} from '../../vocabulary/money.ts'
import type { Offer } from '../../vocabulary/offer.ts'
import type { Outcome, Reported, Resolution, TokenUsage } from '../../vocabulary/outcome.ts'
import type { FailureCode, ProblemCode } from '../../vocabulary/problem.ts'
import { costOfUsage, estimateUsage } from './usage-charge.ts'

/** A call, and the model with its prices. */
interface Priced {
  readonly call: Call
  readonly offer: Offer
}

/** A call that the provider ran, with the inputs of its estimate. */
interface Ran extends Priced {
  /** The ratio of the model's tokens to the estimate of a text. */
  readonly tokenFactor: number
}

interface RanOnHold extends Ran {
  /** The amount of the hold, which no estimate exceeds. */
  readonly grantedMicros: Micros
}

/**
 * Decides how an ended attempt's hold is settled. This is the one money rule: a pure function of the attempt's
 * ending, the answer's report and whether it was a stream.
 */
export function resolveOutcome(
  input: RanOnHold & {
    readonly outcome: Outcome
    /** Whether the provider can be asked for the cost of a request that has ended. */
    readonly hasLookUps: boolean
  },
): Resolution {
  const { outcome, call, offer, tokenFactor, grantedMicros, hasLookUps } = input
  const ran = { call, offer, tokenFactor }
  switch (outcome.kind) {
    case 'completed':
      return resolveSuccess(outcome.reported, { ...ran, grantedMicros })
    case 'failed':
      return resolveFailure(outcome.reported, ran)
    case 'neverOpened':
      return { kind: 'released' }
    case 'lost':
    case 'timedOut': {
      const { stage, reported } = outcome
      if (!call.stream) return { kind: 'unresolved', generationId: reported.generationId }
      // A stream that ended before its headers has given the client nothing to pay for.
      if (stage === 'beforeHeaders') return { kind: 'released' }
      return resolveBrokenStream(reported, ran)
    }
    case 'unreadable': {
      const { reported, relayedTokens } = outcome
      const { usage, generationId } = reported
      if (!hasLookUps) {
        return relayedTokens === undefined
          ? resolveUncounted(reported, ran)
          : resolveLeftUncounted({ reported, relayedTokens }, { ...ran, grantedMicros })
      }
      const canBecomeKnown = usage === null && (generationId !== null || !call.stream)
      if (canBecomeKnown) return { kind: 'unresolved', generationId }
      return resolveBrokenStream(reported, ran)
    }
    case 'clientGone':
      if (outcome.stage === 'notWritten') return { kind: 'released' }
      return hasLookUps
        ? resolveLeftStream(outcome, { ...ran, grantedMicros })
        : resolveLeftUncounted(outcome, { ...ran, grantedMicros })
    case 'leftEarly':
      return resolveLeftEarly(outcome.reported, { ...ran, grantedMicros })
    default:
      return assertNever(outcome)
  }
}

// An estimate is never above the hold, which bounds the charge: the grant may be less than the call could cost,
// with the cap lowered to it, and estimates of text are too high.
function resolveLeftStream(
  { reported, relayedTokens }: Extract<Outcome, { kind: 'clientGone' }>,
  { grantedMicros, ...ran }: RanOnHold,
): Resolution {
  const outputTokens = textTokensOf(relayedTokens, ran)
  const usage = usageWithText({ counted: reported.usage, outputTokens, ...ran })
  const guessed = resolveBrokenStream({ ...reported, usage }, ran)
  if (guessed.kind !== 'provisional' || guessed.costUsd !== null) return guessed
  if (guessed.chargeMicros <= grantedMicros) return guessed
  const counted = resolveBrokenStream(reported, ran)
  const countedMicros = counted.kind === 'provisional' ? counted.chargeMicros : ZERO_MICROS
  return { ...guessed, chargeMicros: maxMicros(grantedMicros, countedMicros) }
}

// A provider without look-ups reports nothing more about such an answer: an admin can settle it meanwhile.
function resolveUncounted(reported: Reported, ran: Ran): Resolution {
  return chargeReported(reported, ran) ?? { kind: 'unresolved', generationId: null }
}

/** The approximate output of a reasoning model that sends no text yet, in tokens a second. */
const HIDDEN_TOKENS_PER_SECOND = 50

// The provider has read at least the prompt. The estimate becomes final, because no record will correct it.
function resolveLeftUncounted(
  {
    reported,
    relayedTokens,
    silentMs = 0,
  }: Pick<Extract<Outcome, { kind: 'clientGone' }>, 'reported' | 'relayedTokens' | 'silentMs'>,
  { grantedMicros, ...ran }: RanOnHold,
): Resolution {
  const charged = chargeReported(reported, ran)
  if (charged !== null) return charged
  // Counts that were not believed come after the text, which no longer counts as relayed since the last counts.
  const textTokens = Math.max(relayedTokens, reported.uncountedTokens ?? 0)
  const hiddenTokens = Math.ceil((silentMs * HIDDEN_TOKENS_PER_SECOND) / 1000)
  const usage = usageWithText({
    counted: reported.usage,
    outputTokens: textTokensOf(textTokens, ran) + hiddenTokens,
    ...ran,
  })
  return estimatedWithin(grantedMicros, estimated(reported, { usage, generationId: null, ...ran }))
}

function estimatedWithin(grantedMicros: Micros, resolution: Resolution): Resolution {
  if (resolution.kind !== 'provisional') return resolution
  return { ...resolution, chargeMicros: minMicros(resolution.chargeMicros, grantedMicros) }
}

// Most providers continue a stream whose client has left, and bill it: its cost is looked up if possible.
function resolveLeftEarly(reported: Reported, ran: RanOnHold): Resolution {
  const { generationId, usage } = reported
  const charged = chargeOrEstimate(reported, ran)
  if (charged !== null) return charged
  if (generationId !== null || usage === null) return { kind: 'unresolved', generationId }
  return estimated(reported, { usage, generationId, ...ran })
}

// The provider's counts, and the text after them: messages counts its input first, so that a client that left
// before the end would otherwise get its output for free.
function usageWithText({
  counted,
  outputTokens,
  ...ran
}: Ran & {
  readonly counted: TokenUsage | null
  readonly outputTokens: number
}): TokenUsage {
  if (counted === null) return estimateUsage({ ...ran, outputTokens })
  const seen = estimateUsage({ ...ran, outputTokens: counted.outputTokens + outputTokens })
  return { ...counted, outputTokens: Math.max(counted.outputTokens, seen.outputTokens) }
}

/** The model's likely count for text that is estimated at this many tokens. */
function textTokensOf(guessedTokens: number, { tokenFactor }: Pick<Ran, 'tokenFactor'>): number {
  return Math.ceil(guessedTokens * tokenFactor)
}

function resolveSuccess(reported: Reported, ran: RanOnHold): Resolution {
  const charged = chargeOrEstimate(reported, ran)
  if (charged !== null) return charged
  const { generationId, usage } = reported
  if (generationId === null || usage === null) return { kind: 'unresolved', generationId }
  return estimated(reported, { usage, generationId, ...ran })
}

// The reported cost, or an estimate of text that should have been counted. Null: there is neither.
function chargeOrEstimate(
  reported: Reported,
  { grantedMicros, ...ran }: RanOnHold,
): Resolution | null {
  const { generationId, usage: counted, uncountedTokens } = reported
  const charged = chargeReported(reported, ran)
  if (charged !== null || uncountedTokens === undefined) return charged
  const outputTokens = textTokensOf(uncountedTokens, ran)
  const usage = usageWithText({ counted, outputTokens, ...ran })
  return estimatedWithin(grantedMicros, estimated(reported, { usage, generationId, ...ran }))
}

// A failure is charged only the cost that the provider reports, which is usually zero.
function resolveFailure(reported: Reported, ran: Ran): Resolution {
  const costUsd = costReported(reported, ran)
  if (costUsd === null || costUsd.digits === 0n) return { kind: 'released' }
  return chargeReported(reported, ran) ?? { kind: 'released' }
}

// The reported cost; else counts, if they can be looked up later; else nothing.
function resolveBrokenStream(reported: Reported, ran: Ran): Resolution {
  const { generationId, usage } = reported
  const charged = chargeReported(reported, ran)
  if (charged !== null) return charged
  if (generationId === null) return { kind: 'released' }
  if (usage === null) return { kind: 'released', billedAs: generationId }
  return estimated(reported, { usage, generationId, ...ran })
}

// Null if no cost was reported, or one above any real amount.
function chargeReported(reported: Reported, ran: Ran): Resolution | null {
  const { generationId } = reported
  const costUsd = costReported(reported, ran)
  if (costUsd === null) return null
  const chargeMicros = chargeForStatedCost(costUsd, ran.offer.feeBasisPoints)
  if (chargeMicros === null) return null
  if (generationId === null) return { kind: 'final', chargeMicros, costUsd }
  return { kind: 'provisional', chargeMicros, costUsd, generationId }
}

/** The cost that the provider reports, or the cost of its counts; null: neither. */
function costReported(reported: Reported, ran: Ran): Decimal | null {
  const { costUsd, usage, countsAreCost } = reported
  if (costUsd !== null || usage === null || countsAreCost !== true) return costUsd
  // The call ran at a more expensive tier than it asked for, which the hold does not cover: tokens at the listed
  // price are not its cost.
  if (reported.servedTier === 'priority' && !ran.call.priorityTier) return null
  return costAtTier(reported, { usage, ...ran })
}

function estimated(
  reported: Reported,
  {
    usage,
    generationId,
    call,
    offer,
  }: Priced & { readonly usage: TokenUsage; readonly generationId: string | null },
): Resolution {
  const chargeMicros = chargeForCost(
    costAtTier(reported, { usage, call, offer }),
    offer.feeBasisPoints,
  )
  // An amount above any real one is treated as no count.
  if (chargeMicros === null) return { kind: 'unresolved', generationId }
  return { kind: 'provisional', chargeMicros, costUsd: null, generationId }
}

// Prices are those of the requested tier, unless the answer names another, and of a region only if it names one.
function costAtTier(
  { servedTier, isRegional }: Reported,
  { usage, call, offer }: Priced & { readonly usage: TokenUsage },
): Decimal {
  const priorityTier = call.priorityTier && servedTier !== 'standard'
  const prices = pricesAtTier(offer, { priorityTier, isRegional: isRegional === true })
  return costOfUsage({ usage, prices })
}

/** Why a request is marked as failed, even if it was answered with 200; null if it is not. */
export function failureCodeOf(outcome: Outcome, code: ProblemCode | null): FailureCode | null {
  switch (outcome.kind) {
    case 'completed':
      return null
    case 'clientGone':
    case 'leftEarly':
      return 'client_gone'
    case 'timedOut':
      return code ?? 'upstream_timeout'
    case 'lost':
      return code ?? 'upstream_disconnected'
    case 'failed':
    case 'unreadable':
    case 'neverOpened':
      return code ?? 'upstream_error'
    default:
      return assertNever(outcome)
  }
}

/** The charge in micro-dollars that a resolution settles; 0 if it is not known. */
export function chargeOf(resolution: Resolution): number {
  switch (resolution.kind) {
    case 'final':
    case 'provisional':
      return resolution.chargeMicros
    case 'released':
    case 'unresolved':
      return 0
    default:
      return assertNever(resolution)
  }
}
