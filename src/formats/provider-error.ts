import { grouped } from '../vocabulary/count-in-words.ts'
import { Problem, type ProblemCode } from '../vocabulary/problem.ts'
import { wordsOf } from '../vocabulary/words-of.ts'
import {
  CAP_PARAMETERS,
  isKnownParameter,
  missingField,
  namedField,
  type SentFacts,
  type SentSize,
} from './sent-facts.ts'

/** A provider's error as it was read. Clients get our own texts, chosen by an allow-list of kinds. */
export interface ProviderError {
  /** The HTTP status, or the numeric code in an error object; null if there is neither. */
  readonly httpStatus: number | null
  /** Machine-readable words: `type`, `code` and `error_type` of the error, and `error_type` beside it and in its `metadata`. */
  readonly kinds: readonly string[]
  /** `error.type`, if the body is an error of the messages format; null: it is not. */
  readonly messagesType: string | null
  /** `error.param`: the field that the provider refuses, which the client may have named. Default: none. */
  readonly param?: string
  /** The provider's own text, which is matched against known phrases and never shown. */
  readonly message: string
  /**
   * Whether a refusal of our account is only likely: nothing that the provider says is about an account. Default: no.
   */
  readonly isOnlyLikely?: true
}

/** The client's problem for a provider's error. */
export function problemForProviderError(
  error: ProviderError,
  {
    retryAfter,
    sent,
  }: {
    /** The `retry-after` header as it arrived. */
    readonly retryAfter: string | undefined
    readonly sent: SentFacts
  },
): Problem {
  const retryAfterSeconds = wholeSeconds(retryAfter)
  const input = {
    cause: new ProviderRefusal(error),
    ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
    ...messagesTypeOf(error),
  }
  const { httpStatus } = error
  // About our account, which clients must not see.
  if (httpStatus === 401 || httpStatus === 402) {
    return new Problem('service_unavailable', { ...input, messagesType: 'overloaded_error' })
  }
  const kept = httpStatus === null ? undefined : KEPT_STATUSES[httpStatus]
  if (httpStatus === null || kept === undefined) return new Problem('upstream_error', input)
  const recognized = recognize(error, sent)
  if (recognized === null) return new Problem(kept, input)
  return new Problem(recognized.code, { ...input, ...recognized.input, httpStatus })
}

const KIND_CHARS_MAX = 64

// A provider can repeat text of the client in any member. A kind that has only these words can't carry any.
const ERROR_WORDS = new Set(
  wordsOf(`a above access account allowed api argument array at audio authentication authorization available bad below billing
  blocked body boolean cache call choice completion conflict content context country credit data decode denied disabled
  download duplicate empty enabled encoding endpoint engine error exceed exceeded exceeds exist exists extra failed failure
  field file files filter forbidden format found function functions high id image images in input insufficient integer
  internal invalid is json key large length limit limits long low many max maximum media message messages method min minimum
  missing mode model models moderation name no not null number object of only organization out output overloaded param
  parameter parameters parse parsing payload payment permission permitted policy precondition project prompt property
  provider quota range rate reasoning refused region rejected request required response role route safety schema server
  service short size small stream string support supported syntax temporarily territory timeout token tokens too tool tools
  type unavailable unexpected unknown unprocessable unrecognized unsupported upstream url usage user validation value
  violation window`),
)

/** Whether a kind is such as `unsupported_value`, `INVALID_ARGUMENT` or `BadRequestError`. */
function isPlainKind(kind: string): boolean {
  if (kind.length > KIND_CHARS_MAX) return false
  const words = kind
    .replace(/[a-z](?=[A-Z])/g, '$&_')
    .toLowerCase()
    .split(/[_.-]/)
  return words.every((word) => ERROR_WORDS.has(word))
}

/** The cause of a problem for a provider's error. */
class ProviderRefusal {
  readonly httpStatus: number | null
  readonly isOnlyLikely: boolean
  /** The machine-readable words for the log, none of which is text of a client. */
  readonly words: readonly string[]

  constructor({ httpStatus, kinds, param = '', isOnlyLikely }: ProviderError) {
    this.httpStatus = httpStatus
    this.isOnlyLikely = isOnlyLikely === true
    const [field = ''] = /^\w*/.exec(param) ?? []
    // The part after the field's name can be a name that the client chose.
    this.words = [...kinds.filter(isPlainKind), ...(isKnownParameter(field) ? [field] : [])]
  }
}

/** The provider's machine-readable words, for the log, if the cause of a problem is a provider's error; null: none. */
export function providerWords(cause: unknown): string | null {
  if (!(cause instanceof ProviderRefusal) || cause.words.length === 0) return null
  return [...new Set(cause.words)].join(', ')
}

/** Why a provider refuses our account: its key is wrong or may not do this, or its credit is used up. */
export type RefusedFor = 'key' | 'credit'

/** The reason for a refusal of our account, by its HTTP status. */
export function refusedForOf(httpStatus: number): RefusedFor {
  return httpStatus === 402 ? 'credit' : 'key'
}

/** How a problem is the provider's refusal of our account, which clients do not see; null: it is none. */
export function accountRefusal({ code, cause }: Problem): {
  readonly refusedFor: RefusedFor
  /** Whether the provider says nothing of an account. */
  readonly isOnlyLikely: boolean
} | null {
  if (code !== 'service_unavailable' || !(cause instanceof ProviderRefusal)) return null
  const { httpStatus, isOnlyLikely } = cause
  if (httpStatus !== 401 && httpStatus !== 402) return null
  return { refusedFor: refusedForOf(httpStatus), isOnlyLikely }
}

/** Statuses about the request, which are kept, with the codes of their fixed messages. */
const KEPT_STATUSES: Readonly<Record<number, ProblemCode>> = {
  400: 'provider_rejected_request',
  403: 'provider_forbidden',
  404: 'provider_not_found',
  408: 'provider_request_timeout',
  409: 'provider_conflict',
  413: 'provider_request_too_large',
  422: 'provider_unprocessable',
  429: 'provider_rate_limited',
}

interface Recognized {
  readonly code: ProblemCode
  readonly input: { readonly message?: string; readonly param?: string }
}

const CONTEXT_KINDS = [
  'context_length_exceeded',
  'exceed_context_size_error',
  'token_limit_exceeded',
  'string_too_long',
]
const CONTEXT_TEXT = new RegExp(
  [
    'prompt is too long',
    'prompt exceeds max',
    'input (is|was) too long',
    'too many (input )?tokens',
    '(maximum|max) context',
    'context[ _](length|window|limit|size)',
    'maximum (prompt|model) length',
    'exceeds? the (maximum|model)[^.]{0,40}tokens',
    'exceeded model token limit',
  ].join('|'),
  'i',
)
const POLICY_KINDS = [
  'content_policy_violation',
  'content_filter',
  'image_content_policy_violation',
]
const POLICY_TEXT =
  /content[ _](policy|management|filter)|moderation|flagged|safety system|usage (polic|guideline)/i
// Words about our own account, whose refusal may mention policies too. In the text they count only at its start: a text
// that a vendor repeats from a client must not say that our account is refused.
const ACCOUNT_KIND = /^(account|organization|project|access|unsupported_country)_/i
const ACCOUNT_TEXT =
  /^((error|forbidden|(access|permission) denied)[:.,] )?(your|this|the) (account|organi[sz]ation|project|access|api key)\b/i
const UNSUPPORTED_TEXT =
  /unsupported|not supported|does not support|not permitted|unknown (parameter|field|argument)|unrecognized/i
const UNKNOWN_TEXT =
  /(unknown|unrecognized|unexpected) (request )?(parameter|field|argument|keyword)/i
const INVALID_TEXT =
  /invalid|must be|should be|out of range|expected|required|too (large|small|long|short|high|low|many|few)|at (most|least)|(greater|less|more) than|exceeds|maximum|minimum/i
// A cap above the model's maximum is not an overlong prompt, unless both together are too long.
const PROMPT_TEXT = /context|prompt|input/i

// Rate limits mention tokens too, but are not about the prompt.
const UNEXPLAINED_STATUSES: readonly (number | null)[] = [404, 408, 409, 429]

function recognize(
  { kinds, message, httpStatus }: ProviderError,
  sent: SentFacts,
): Recognized | null {
  if (UNEXPLAINED_STATUSES.includes(httpStatus)) return null
  const isKind = (known: readonly string[]) => kinds.some((kind) => known.includes(kind))
  const param = namedField(message, sent)
  const blamesCap = param !== null && CAP_PARAMETERS.includes(param) && !PROMPT_TEXT.test(message)
  if (isKind(CONTEXT_KINDS) || (CONTEXT_TEXT.test(message) && !blamesCap)) {
    return { code: 'context_length_exceeded', input: tooLongInput(sent.size) }
  }
  if (refusesContent({ kinds, message })) return { code: 'content_policy_violation', input: {} }
  const isCapRefused = isKind(['max_tokens_exceeded']) || (blamesCap && INVALID_TEXT.test(message))
  if (isCapRefused && sent.ownCap !== null) return ownCapRefusal(sent.ownCap)
  if (isKind(['max_tokens_exceeded'])) {
    const advice = 'The output cap is more than this model allows. Lower it or leave it out.'
    return { code: 'invalid_parameter', input: { message: advice } }
  }
  return (
    toolRefusal(message, sent) ?? (param === null ? null : recognizeParameter({ param, message }))
  )
}

/** Whether a provider refuses the content of the request, and not the account that sends it. */
export function refusesContent({
  kinds,
  message,
}: Pick<ProviderError, 'kinds' | 'message'>): boolean {
  if (kinds.some((kind) => POLICY_KINDS.includes(kind))) return true
  return !namesAccount({ kinds, message }) && POLICY_TEXT.test(message)
}

/** Whether an error is, by its own words, about the account that sends the request. */
export function namesAccount({
  kinds,
  message,
}: Pick<ProviderError, 'kinds' | 'message'>): boolean {
  return kinds.some((kind) => ACCOUNT_KIND.test(kind)) || ACCOUNT_TEXT.test(message)
}

/** The refusal of a prompt that is too long, with the gateway's own figures: none of the provider's are shown. */
function tooLongInput({ promptTokens, capTokens, contextTokens }: SentSize): Recognized['input'] {
  if (promptTokens === null || contextTokens === null) return {}
  // An estimate that fits explains nothing.
  if (promptTokens + (capTokens ?? 0) <= contextTokens) return {}
  const cap = capTokens === null ? '' : `, the output cap is ${grouped(capTokens)}`
  return {
    message: `prompt is too long: it has about ${grouped(roughly(promptTokens))} tokens by the gateway's estimate${cap}, and the context window of this model is ${grouped(contextTokens)}. Shorten the input or lower the output cap.`,
  }
}

/** To two digits, since it is a guess. */
function roughly(tokens: number): number {
  const unit = 10 ** Math.max(0, String(tokens).length - 2)
  return Math.round(tokens / unit) * unit
}

/** A refusal of the cap that the gateway set itself. */
function ownCapRefusal({ param, tokens }: NonNullable<SentFacts['ownCap']>): Recognized {
  const message = `The gateway set \`${param}\` to ${grouped(tokens)}, since the request has no output cap, and the provider refused it. Set a lower \`${param}\`. The operator of the gateway can correct the longest answer of this model.`
  return { code: 'invalid_parameter', input: { param, message } }
}

/** Whether a problem is the provider's refusal of a cap that the gateway set. */
export function refusesOwnCap(problem: Problem, { ownCap }: SentFacts): boolean {
  return ownCap !== null && problem.code === 'invalid_parameter' && problem.param === ownCap.param
}

const TOOL_PLACE = /\btools(?:\[|\.)(\d{1,4})\b/

/** A refusal that names a tool of the client by its place. */
function toolRefusal(message: string, { tools }: SentFacts): Recognized | null {
  const place = Number(TOOL_PLACE.exec(message)?.[1] ?? tools.length)
  const name = tools[place]
  if (name === undefined) return null
  const param = `tools[${place}]`
  const named = name === null ? '' : `, \`${name}\``
  const advice = `The provider refused the tool \`${param}\`${named}. Change it or leave it out.`
  return { code: 'invalid_parameter', input: { param, message: advice } }
}

/** The fields of prompts, without which there is no request. */
const REQUIRED_FIELDS: readonly string[] = ['messages', 'input', 'prompt']

function recognizeParameter({
  param,
  message,
}: {
  readonly param: string
  readonly message: string
}): Recognized | null {
  if (UNKNOWN_TEXT.test(message)) {
    const advice = `Unknown parameter: \`${param}\`. Leave it out or use another model.`
    return { code: 'unsupported_parameter', input: { param, message: advice } }
  }
  if (UNSUPPORTED_TEXT.test(message)) {
    const advice = `This model does not support \`${param}\`. Leave it out or use another model.`
    return { code: 'unsupported_parameter', input: { param, message: advice } }
  }
  if (missingField(message) === param) {
    const advice = `\`${param}\` is missing, and the provider requires it.`
    return { code: 'invalid_parameter', input: { param, message: advice } }
  }
  if (INVALID_TEXT.test(message)) {
    const remedy = REQUIRED_FIELDS.includes(param) ? 'Change it.' : 'Change it or leave it out.'
    const advice = `The provider refused the value of \`${param}\`. ${remedy}`
    return { code: 'invalid_parameter', input: { param, message: advice } }
  }
  return null
}

/**
 * The error types of the messages format that are passed on. A provider's types of authentication and billing
 * are about our account.
 */
const MESSAGES_TYPES = new Set(
  wordsOf(`
    invalid_request_error permission_error not_found_error conflict_error request_too_large
    rate_limit_error api_error timeout_error overloaded_error
  `),
)

function messagesTypeOf({ messagesType }: ProviderError): { readonly messagesType?: string } {
  return messagesType !== null && MESSAGES_TYPES.has(messagesType) ? { messagesType } : {}
}

/** The seconds of a `retry-after` header: fractions are rounded up, dates ignored. Spaces around them do not count. */
function wholeSeconds(header: string | undefined): number | null {
  if (header === undefined || !/^[ \t]*\d{1,9}(\.\d{1,9})?[ \t]*$/.test(header)) return null
  return Math.ceil(Number(header))
}
