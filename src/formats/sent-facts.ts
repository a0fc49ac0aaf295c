import type { JsonEdit } from '../json/edit.ts'
import { isJsonArray, type JsonObject, type JsonValue } from '../json/walk.ts'
import { type Call, partCount } from '../vocabulary/call.ts'
import type { Offer } from '../vocabulary/offer.ts'
import { echoed } from '../vocabulary/problem.ts'
import { wordsOf } from '../vocabulary/words-of.ts'
import { toolName } from './fields.ts'
import { SIXTIETHS } from './token-guess.ts'

/** The facts of a forwarded request that can explain its refusal. Kept while the call lasts: it is small. */
export interface SentFacts {
  /** The fields of the client's own body. */
  readonly fields: readonly string[]
  /** The names of its tools, by their place; null: a tool has none that can be shown. */
  readonly tools: readonly (string | null)[]
  /** The output cap that the gateway set, in a field that the client did not set; null: it set none. */
  readonly ownCap: OwnCap | null
  readonly size: SentSize
}

/** How large a call is, for the refusal of one that is too long. */
export interface SentSize {
  /** The likely tokens of its prompt; null: it has pictures or files, whose tokens are not guessed. */
  readonly promptTokens: number | null
  /** The output cap that it has, of the client or of the gateway; null: none. */
  readonly capTokens: number | null
  /** The context window that its model lists; null: none. */
  readonly contextTokens: number | null
}

interface OwnCap {
  readonly param: string
  readonly tokens: number
}

/** The facts of a call that was not sent. */
export const NOTHING_SENT: SentFacts = {
  fields: [],
  tools: [],
  ownCap: null,
  size: { promptTokens: null, capTokens: null, contextTokens: null },
}

/** The fields of output caps. */
export const CAP_PARAMETERS: readonly string[] = [
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
]

const FIELDS_MAX = 64
const TOOLS_MAX = 512

/** The facts that can explain a refusal. */
export function sentFacts({
  root,
  edits,
  call,
  offer,
}: {
  /** The client's body. */
  readonly root: JsonObject
  /** The replacements in it. */
  readonly edits: readonly JsonEdit[]
  readonly call: Pick<Call, 'promptGuess' | 'outputCapTokens' | 'media'>
  readonly offer: Pick<Offer, 'contextTokens'>
}): SentFacts {
  const tools: JsonValue = root['tools'] ?? []
  const ownCap = capIn(edits, root)
  return {
    fields: Object.keys(root).slice(0, FIELDS_MAX),
    tools: isJsonArray(tools) ? tools.slice(0, TOOLS_MAX).map(toolName) : [],
    ownCap,
    size: {
      promptTokens: partCount(call.media) === 0 ? Math.ceil(call.promptGuess / SIXTIETHS) : null,
      capTokens: call.outputCapTokens ?? ownCap?.tokens ?? null,
      contextTokens: offer.contextTokens,
    },
  }
}

function capIn(edits: readonly JsonEdit[], root: JsonObject): OwnCap | null {
  for (const edit of edits) {
    if (edit.kind !== 'set') continue
    const [param, ...deeper] = edit.path
    if (typeof param !== 'string' || deeper.length > 0 || !CAP_PARAMETERS.includes(param)) continue
    if ((root[param] ?? null) !== null) continue
    return { param, tokens: Number(edit.json) }
  }
  return null
}

// Names that clients send, which may therefore be shown. A name comes before its own prefixes.
const KNOWN_PARAMETERS = wordsOf(`
  max_completion_tokens max_output_tokens parallel_tool_calls frequency_penalty repetition_penalty
  presence_penalty encoding_format response_format reasoning_effort input_references stop_sequences
  stream_options aspect_ratio output_format top_logprobs instructions temperature tool_choice
  cache_control logit_bias max_tokens dimensions modalities resolution verbosity reasoning logprobs
  messages thinking quality best_of prompt system stream suffix top_k top_p min_p tools input seed
  stop size
`)

/** Whether a name is one of a field that clients send, which may therefore be shown. */
export function isKnownParameter(name: string): boolean {
  return KNOWN_PARAMETERS.includes(name)
}

const ANY_NAME = KNOWN_PARAMETERS.join('|')
const PLAIN_NAME = KNOWN_PARAMETERS.filter((name) => name.includes('_')).join('|')
// Many names are everyday words, and count only in quotes, at the start of a message, or where only a name makes
// sense. Names with an underscore count anywhere.
const NAMED = new RegExp(
  [
    `["'\`](${ANY_NAME})["'\`:.[]`,
    `\\b(${PLAIN_NAME})\\b`,
    `^(${ANY_NAME})[:.[]`,
    `^(${ANY_NAME}) (?:(?:is|are) not (?:supported|permitted)|(?:must|should) be)\\b`,
    `\\bparameter:? (${ANY_NAME})\\b`,
    `\\bnot support (${ANY_NAME})(?= ?(?:[.,;:()]|$))`,
  ].join('|'),
  'm',
)

/** The field that a provider's text names: a known one, or else one of the client's own body; null: none. */
export function namedField(message: string, sent: SentFacts): string | null {
  return namedParameter(message) ?? ownField(message, sent)
}

/** The first known field that a message names; null if it names none. */
function namedParameter(message: string): string | null {
  const names = NAMED.exec(message)?.slice(1) ?? []
  return names.find((name) => name !== undefined) ?? null
}

const OWN_NAME = /^[A-Za-z_][\w-]{0,63}$/

/** A field of the client's own body that a message names in quotes, or as a parameter; null: none. */
function ownField(message: string, { fields }: SentFacts): string | null {
  const named = [...message.matchAll(QUOTED_OR_PARAMETER)].map(([, ...names]) =>
    names.find((name) => name !== undefined),
  )
  const own = fields.find((name) => OWN_NAME.test(name) && named.includes(name))
  return own === undefined ? null : echoed(own)
}

const QUOTED_OR_PARAMETER =
  /["'`]([A-Za-z_][\w-]{0,63})["'`]|\b(?:parameter|field|argument)s?:? ([A-Za-z_][\w-]{0,63})\b|^([A-Za-z_][\w-]{0,63}): Extra inputs/gm

const MISSING_FIELD = /^(\w+): field required|missing required parameter: ["'`](\w+)["'`]/i

/** The field that the provider requires, unless it is inside of another one. */
export function missingField(message: string): string | undefined {
  const [, ofMessages, ofOpenAi] = MISSING_FIELD.exec(message) ?? []
  return ofMessages ?? ofOpenAi
}
