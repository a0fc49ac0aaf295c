import type { HoldRefusalFacts, OpenHoldInput, OpenHoldVerdict } from '../ledger/ledger.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import type { Call } from '../vocabulary/call.ts'
import { countInWords, grouped } from '../vocabulary/count-in-words.ts'
import { type Micros, showMicros } from '../vocabulary/money.ts'
import type { Offer } from '../vocabulary/offer.ts'
import { Problem } from '../vocabulary/problem.ts'
import {
  IN_FLIGHT_ADVICE,
  IN_FLIGHT_RETRY_SECONDS,
  RATE_ADVICE,
  type RateLimit,
  UNBACKED_ADVICE,
  WINDOW_SECONDS,
} from '../vocabulary/request-window.ts'
import { type Caller, isUnbacked } from './gate/caller.ts'
import { capThatFits, type HoldSize, sizeHoldAtListedMax } from './hold-size/hold.ts'
import type { JourneyParts, JourneyRequest } from './journey-parts.ts'

/** A call at its price, with its hold. */
interface SizedCall {
  readonly call: Call
  readonly offer: Offer
  readonly size: HoldSize
}

/**
 * Opens the hold, durably. Throws the Problem of a refusal, whose figures show whether to wait or to add credit,
 * and `StoreUnavailable` if the store did not answer.
 */
export async function openHold(
  parts: JourneyParts,
  {
    request,
    caller,
    call,
    offer,
    size,
    tags,
  }: SizedCall & {
    readonly request: JourneyRequest
    readonly caller: Caller
    /** Null: none. */
    readonly tags: readonly string[] | null
  },
): Promise<Extract<OpenHoldVerdict, { kind: 'opened' }>> {
  request.record.holdAskedAtMs = parts.clock.nowMs()
  const verdict = await parts.ledger.openHold({
    requestId: request.requestId,
    accountId: caller.accountId,
    apiKeyId: caller.apiKeyId,
    instanceId: parts.instanceId,
    endpoint: request.format.endpoint,
    upstream: offer.upstream,
    modelId: offer.modelId,
    stream: call.stream,
    ...neededCredit({ call, offer, size }),
    tokens: size.tokens,
    priceSnapshotId: offer.priceSnapshotId,
    tags,
    feeBasisPoints: offer.feeBasisPoints,
  })
  request.record.holdOpenedAtMs = parts.clock.nowMs()
  switch (verdict.kind) {
    case 'opened':
      return verdict
    case 'refused':
      throw refusal(verdict, { call, offer, size, caller })
    default:
      return assertNever(verdict)
  }
}

/**
 * Throws Problem `insufficient_credit` if the account has no credit, not even in holds: no hold could be opened,
 * and a large body would be read for nothing.
 */
export async function requireCredit(
  { hasPostedCredit }: Pick<JourneyParts, 'hasPostedCredit'>,
  { accountId }: Pick<Caller, 'accountId'>,
): Promise<void> {
  if (await hasPostedCredit(accountId)) return
  throw new Problem('insufficient_credit', {
    message: 'The account has no credit, so this large request was not read. Add credit.',
  })
}

/** The credit that a sized call needs from its account. */
export function neededCredit({ call, offer, size }: SizedCall) {
  return {
    neededMicros: size.neededMicros,
    leastMicros: size.leastMicros,
    freeCreditQualifies: freeCreditQualifies(call, offer),
    freeCreditAloneRunsOnLess: call.rules.freeCredit === 'partOfHold',
  } satisfies Partial<OpenHoldInput>
}

/**
 * Free credit pays only for text from open-weight models. A model that can make images or sound does not count:
 * it may make them unasked.
 */
function freeCreditQualifies(call: Call, offer: Offer): boolean {
  const onlyText =
    !call.outputKinds.image && !call.outputKinds.audio && offer.outputModalities.size === 1
  const mayPay = call.rules.freeCredit !== 'never'
  return mayPay && onlyText && offer.openWeights && !call.tools.serverTools
}

function refusal(
  { code, facts }: Extract<OpenHoldVerdict, { kind: 'refused' }>,
  sized: SizedCall & { readonly caller: Caller },
): Problem {
  switch (code) {
    case 'insufficient_credit':
      return new Problem(code, {
        message: (allowanceMessage(facts) ?? creditMessage(facts, sized)) + capAdvice(facts, sized),
      })
    case 'key_limit_reached':
      return new Problem(code, {
        message: (allowanceMessage(facts) ?? keyLimitMessage(facts)) + capAdvice(facts, sized),
      })
    case 'rate_limited':
      return new Problem(code, {
        ...frequencyMessage(facts, sized.caller),
        ...reachedLimits(facts),
        ...(facts.retryAfterSeconds === null
          ? { isFinal: true }
          : { retryAfterSeconds: facts.retryAfterSeconds }),
      })
    case 'too_many_concurrent_requests':
      return new Problem(code, {
        ...frequencyMessage(facts, sized.caller),
        retryAfterSeconds: IN_FLIGHT_RETRY_SECONDS,
      })
    case 'free_credit_not_eligible':
      return new Problem(code, freeCreditMessage(sized))
    case 'invalid_api_key':
    case 'account_suspended':
    case 'api_key_disabled':
    case 'api_key_expired':
      return new Problem(code)
    default:
      return assertNever(code)
  }
}

function needs(neededMicros: Micros): string {
  return neededMicros === 0
    ? 'This request needs no hold, but some credit must be available'
    : `This request needs a hold of ${showMicros(neededMicros)}`
}

/** The message of a refusal by an allowance; null: no allowance refused the request. */
function allowanceMessage({
  neededMicros,
  availableMicros,
  heldMicros,
  reached,
}: HoldRefusalFacts): string | null {
  if (reached?.kind !== 'allowance') return null
  const { of, resetsAtMs, allowance } = reached
  const { allowanceMicros, allowancePeriod } = allowance
  const advice =
    neededMicros > allowanceMicros
      ? ' This request alone is above the allowance: have it raised.'
      : heldMicros > 0
        ? othersHold('Requests', `${showMicros(heldMicros)} of it`)
        : ' Wait until then, or have it raised.'
  return `${needs(neededMicros)}; the ${OWNERS[of]} has ${showMicros(availableMicros)} left of its allowance of ${showMicros(allowanceMicros)} a ${allowancePeriod}, which resets at ${new Date(resetsAtMs).toISOString()}.${advice}`
}

const OWNERS = { apiKey: 'API key', account: 'account' } as const

/** The limit of a minute by which the ledger refuses, which counts the requests of all processes. */
function reachedLimits({ reached, retryAfterSeconds }: HoldRefusalFacts): {
  readonly rateLimits?: readonly RateLimit[]
} {
  if (reached?.kind !== 'requestsPerMinute' && reached?.kind !== 'tokensPerMinute') return {}
  const { of, max } = reached
  const owner = of === 'apiKey' ? 'key' : 'account'
  const name = reached.kind === 'requestsPerMinute' ? owner : (`${owner}-tokens` as const)
  return {
    rateLimits: [{ name, max, remaining: 0, resetSeconds: retryAfterSeconds ?? WINDOW_SECONDS }],
  }
}

/** Names the limit, whose it is, and how it is raised. */
function frequencyMessage(
  { reached }: HoldRefusalFacts,
  caller: Caller,
): { readonly message?: string } {
  switch (reached?.kind) {
    case 'inFlight':
      return {
        message: `This ${OWNERS[reached.of]} already has ${countInWords(reached.max, 'request')} in flight. ${IN_FLIGHT_ADVICE}`,
      }
    case 'requestsPerMinute': {
      const { of, max } = reached
      const advice = of === 'account' && isUnbacked(caller) ? UNBACKED_ADVICE : RATE_ADVICE
      return {
        message: `More than ${countInWords(max, 'request')} in a minute on this ${OWNERS[of]}. ${advice}`,
      }
    }
    case 'tokensPerMinute': {
      const { of, max, tokens } = reached
      const advice =
        tokens > max ? 'This request alone is above the limit: lower its output cap.' : RATE_ADVICE
      return {
        message: `This request can use up to ${grouped(tokens)} tokens; this ${OWNERS[of]} can use ${grouped(max)} in a minute. ${advice}`,
      }
    }
    case 'allowance':
    case undefined:
      return {}
    default:
      return assertNever(reached)
  }
}

/**
 * Says which other requests hold how much credit: an unresolved request holds its credit for hours. By position: the
 * requests, the amount.
 */
function othersHold(requests: string, held: string): string {
  return ` ${requests} hold ${held} until they are settled; the unused part is then available again.`
}

/** Names what a request to a model with open weights asks for besides text. */
function freeCreditMessage({ call, offer }: SizedCall): { readonly message?: string } {
  const mayPay = call.rules.freeCredit !== 'never' && offer.openWeights
  if (!mayPay || offer.outputModalities.size > 1) return {}
  const unpaid = [
    ...(call.tools.serverTools ? [['web search', 'the web search']] : []),
    ...(call.outputKinds.image || call.outputKinds.audio
      ? [['images or audio', '`modalities`']]
      : []),
  ]
  const [kinds, remedies] = [0, 1].map((part) => unpaid.map((each) => each[part] ?? ''))
  return {
    message: `The account has only free credit, which does not pay for ${ONE_OF.format(kinds ?? [])}. Add paid credit, or leave out ${ALL_OF.format(remedies ?? [])}.`,
  }
}

const ALL_OF = new Intl.ListFormat('en-GB', { type: 'conjunction' })
const ONE_OF = new Intl.ListFormat('en-GB', { type: 'disjunction' })

/** The ways to a hold that fits. */
function creditAdvice({ rules, tools, completions }: Call): string {
  const isOfTokens = rules.heldBy === 'tokens'
  const ways = [
    'add credit',
    ...(rules.output.cap === 'none' ? [] : ['lower the output cap']),
    ...(completions > 1 ? [`ask for fewer ${isOfTokens ? 'answers' : 'images'}`] : []),
    ...(tools.serverTools ? ['leave out the web search'] : []),
    ...(isOfTokens ? ['shorten the input'] : []),
  ]
  return `${ONE_OF.format(ways).replace('add', 'Add')}.`
}

function creditMessage(
  { neededMicros, availableMicros, heldMicros }: HoldRefusalFacts,
  { call }: Pick<SizedCall, 'call'>,
): string {
  const advice = neededMicros === 0 || availableMicros === 0 ? 'Add credit.' : creditAdvice(call)
  const held = heldMicros > 0 ? othersHold('Other requests', showMicros(heldMicros)) : ` ${advice}`
  return `${needs(neededMicros)}; the account has ${showMicros(availableMicros)} available.${held}`
}

function keyLimitMessage({ neededMicros, availableMicros, heldMicros }: HoldRefusalFacts): string {
  const held =
    heldMicros > 0
      ? othersHold('Other requests of the key', showMicros(heldMicros))
      : ' Raise the limit, or use another key.'
  return `${needs(neededMicros)}; the API key has ${showMicros(availableMicros)} of its credit limit left.${held}`
}

/** Says how a lower output cap helps: a cap that fits, and the hold under the model's maximum; empty: it does not. */
function capAdvice({ fittingMicros }: HoldRefusalFacts, { call, offer, size }: SizedCall): string {
  const capTokens = capThatFits(call, { offer, size, availableMicros: fittingMicros })
  const isListedMax = capTokens !== null && capTokens === offer.outputTokensMax
  return fittingMessage(call, capTokens) + (isListedMax ? '' : listedMaxMessage(call, offer, size))
}

function fittingMessage(call: Call, capTokens: number | null): string {
  if (capTokens === null) return ''
  const params = capParamsOf(call).map((param) => `\`${param}\``)
  return ` With ${params.join(' and ')} of at most ${grouped(capTokens)} it fits.`
}

/** The hold under a cap of the model's listed maximum; empty if it is not smaller. */
function listedMaxMessage(call: Call, offer: Offer, size: HoldSize): string {
  const listed = sizeHoldAtListedMax(call, offer)
  if (listed === null || listed.neededMicros >= size.neededMicros) return ''
  const { outputTokensMax, neededMicros } = listed
  return ` The model lists a maximum of ${grouped(outputTokensMax)} output tokens: with that as the cap, the hold would be ${showMicros(neededMicros)}.`
}

function capParamsOf({ outputCapParams, rules: { output } }: Call): readonly string[] {
  return outputCapParams ?? [output.cap === 'clients' ? output.param : 'max_tokens']
}
