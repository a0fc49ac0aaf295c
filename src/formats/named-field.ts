import { echoed } from '../vocabulary/problem.ts'
import type { SentFacts } from './fields.ts'

// Names that clients send, which may therefore be shown. A name comes before its own prefixes.
const KNOWN_PARAMETERS = [
  'max_completion_tokens',
  'max_output_tokens',
  'parallel_tool_calls',
  'frequency_penalty',
  'repetition_penalty',
  'presence_penalty',
  'encoding_format',
  'response_format',
  'reasoning_effort',
  'input_references',
  'stop_sequences',
  'stream_options',
  'aspect_ratio',
  'output_format',
  'top_logprobs',
  'instructions',
  'temperature',
  'tool_choice',
  'cache_control',
  'logit_bias',
  'max_tokens',
  'dimensions',
  'modalities',
  'resolution',
  'verbosity',
  'reasoning',
  'logprobs',
  'messages',
  'thinking',
  'quality',
  'best_of',
  'prompt',
  'system',
  'stream',
  'suffix',
  'top_k',
  'top_p',
  'min_p',
  'tools',
  'input',
  'seed',
  'stop',
  'size',
]

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
