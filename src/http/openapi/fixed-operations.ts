import type { WireFormat } from '../../formats/format.ts'
import { USAGE_HEADER } from '../../journey/held-request.ts'
import { TAG_CHARS_MAX, TAGS_HEADER, TAGS_MAX } from '../../vocabulary/call.ts'
import { PROBLEMS, type ProblemCode } from '../../vocabulary/problem.ts'
import { READINESS_CHECKS } from '../health.ts'
import {
  type DocumentedAnswer,
  type DocumentedOperation,
  OF_CONNECTIONS,
  pathParameters,
} from './document.ts'
import type { JsonSchema } from './schemas.ts'

/** The parts of a wire format that documents show. */
export type DocumentedFormat = Pick<
  WireFormat,
  'endpoint' | 'path' | 'family' | 'rules' | 'documentation'
>

/** One event of a stream, as documents of OpenAPI 3.1 describe them. Its data is JSON, or `[DONE]`. */
const EVENT: JsonSchema = {
  type: 'object',
  required: ['data'],
  properties: {
    event: { type: 'string', description: 'The name of the event, in formats that name them.' },
    data: { type: 'string', description: 'The JSON of the event, or `[DONE]` after the last one.' },
  },
}

const TAGS: DocumentedOperation['parameters'][number] = {
  name: TAGS_HEADER,
  in: 'header',
  required: false,
  description: `Tags of the request, separated by commas: at most ${TAGS_MAX}, each at most ${TAG_CHARS_MAX} printable ASCII characters. Usage can be grouped by them. They are stored and never sent to the provider. Do not put personal data into them.`,
  schema: { type: 'string' },
  example: 'checkout, nightly',
}

const USAGE: DocumentedOperation['parameters'][number] = {
  name: USAGE_HEADER,
  in: 'header',
  required: false,
  description:
    '`include`: a stream reports its charge in a comment just before its last event, if the charge is known by then.',
  schema: { enum: ['include'] },
  example: 'include',
}

/** Describes an inference endpoint. Most of its fields are the provider's. */
export function inferenceOperation(
  format: DocumentedFormat,
  { costHeader }: { readonly costHeader: string },
): DocumentedOperation {
  const { endpoint, path, family, documentation } = format
  const { summary, required, properties, answer, streams } = documentation
  const whole: JsonSchema = {
    type: 'object',
    required: Object.keys(answer),
    properties: answer,
    additionalProperties: true,
  }
  const success: DocumentedAnswer = {
    httpStatus: 200,
    description: "The provider's answer, unchanged.",
    headers: {
      [costHeader]:
        'The charge in micro-dollars, which may still be corrected; 0 if it is not known yet. Not on streams.',
      'ratelimit-policy':
        'The limits of the API key and its account: requests (`q`) in a window of seconds (`w`).',
      ratelimit:
        'The requests that are left of each limit (`r`), and the seconds until more are available (`t`).',
    },
    content: {
      'application/json': whole,
      ...(streams ? { 'text/event-stream': EVENT } : {}),
    },
  }
  return {
    name: `create_${endpoint}`,
    method: 'post',
    path,
    summary,
    access: 'key',
    family,
    isRetired: false,
    parameters: streams ? [TAGS, USAGE] : [TAGS],
    body: {
      type: 'object',
      required,
      properties,
      additionalProperties: true,
      description:
        'Other fields pass through to the provider, or are refused with `unsupported_parameter`: `models`, `fallbacks`, `route` and `provider` always, others if their price would not be known. On chat, completions, embeddings and images, `user` is replaced by a tag of the account.',
    },
    canBodyBeEmpty: false,
    example: EXAMPLES.get(endpoint),
    answers: [success],
    problems: ALL_CODES.filter(
      (code) => PROBLEMS[code].places.includes('inference') && (OF_SOME[code]?.(format) ?? true),
    ),
  }
}

/** The refusals of inference that not every format has, each with the formats that have it. */
const OF_SOME: Partial<Record<ProblemCode, (format: DocumentedFormat) => boolean>> = {
  missing_prompt: ({ rules, documentation }) =>
    rules.heldBy === 'tokens' && documentation.required.includes('prompt'),
  output_cap_required: ({ rules }) => rules.output.cap === 'clients',
}

const model = 'sim/text'
const messages = [{ role: 'user', content: 'Say hello.' }]

/** A body for each wire format, by its endpoint; a test runs them. */
const EXAMPLES: ReadonlyMap<string, object> = new Map<string, object>([
  ['chat', { model, messages }],
  ['completions', { model, prompt: 'Once upon a time', max_tokens: 100 }],
  ['messages', { model, max_tokens: 100, messages }],
  ['responses', { model, input: 'Say hello.' }],
  ['embeddings', { model: 'sim/embed', input: ['A fjord', 'A mountain'] }],
  ['images', { model: 'sim/image', prompt: 'A fjord' }],
])

const ALL_CODES = Object.keys(PROBLEMS).filter((code): code is ProblemCode => code in PROBLEMS)

const COMMON = {
  access: 'none',
  family: 'openai',
  isRetired: false,
  parameters: [],
  body: null,
  canBodyBeEmpty: false,
  example: undefined,
} as const

const text: JsonSchema = { type: 'string' }

const MODEL: JsonSchema = {
  type: 'object',
  required: ['id', 'object', 'pricing', 'charged_pricing', 'architecture', 'supported_parameters'],
  properties: {
    id: { type: 'string', description: 'The model ID, `<author>/<name>`.' },
    object: { const: 'model' },
    name: text,
    owned_by: text,
    created: {
      type: 'integer',
      description: 'When the model was created, in seconds since the Unix epoch.',
    },
    context_length: {
      type: ['integer', 'null'],
      description: 'The context window, in tokens; null: not known.',
    },
    architecture: { type: 'object' },
    pricing: {
      type: 'object',
      description:
        'The prices of the provider for one token, image or request: dollars as decimal strings, without the platform fee.',
    },
    charged_pricing: {
      type: 'object',
      description:
        "The same prices with the platform fee: that of the key's account, else the model's.",
    },
    top_provider: { type: 'object' },
    supported_parameters: { type: 'array', items: text },
  },
  additionalProperties: true,
}

const SERVICE: JsonSchema = {
  type: 'object',
  required: ['object', 'name', 'version', 'mode', 'formats', 'links'],
  properties: {
    object: { const: 'service' },
    name: { ...text, description: 'The name of the service.' },
    version: { ...text, description: 'The version of the gateway.' },
    mode: {
      enum: ['simulator', 'live'],
      description:
        '`live`: an upstream is configured. `simulator`: none is, the built-in simulator answers, and all money is play money.',
    },
    formats: {
      type: 'array',
      description: 'The wire formats, each with its path.',
      items: {
        type: 'object',
        required: ['name', 'path'],
        properties: {
          name: { ...text, description: 'The name of the wire format.' },
          path: { ...text, description: 'The path of the wire format.' },
        },
      },
    },
    links: {
      type: 'object',
      description: 'Addresses of other parts of the gateway, by name.',
      additionalProperties: text,
    },
  },
}

const READINESS: JsonSchema = {
  type: 'object',
  required: ['object', 'ready', 'checks'],
  properties: {
    object: { const: 'readiness' },
    ready: { type: 'boolean', description: 'Whether every check passes.' },
    checks: {
      type: 'array',
      description: 'The checks, each with its result.',
      items: {
        type: 'object',
        required: ['name', 'ok', 'message'],
        properties: {
          name: {
            description: 'The name of the check.',
            enum: READINESS_CHECKS,
          },
          ok: { type: 'boolean', description: 'Whether the check passes.' },
          message: {
            type: ['string', 'null'],
            description:
              'The problem and what to do about it; null if the check passes without a warning.',
          },
        },
      },
    },
  },
}

const PUBLIC = { ...COMMON, method: 'get', problems: OF_CONNECTIONS } as const

/** Operations without a key: the service, its probes, and its models. */
export const PUBLIC_OPERATIONS: readonly DocumentedOperation[] = [
  {
    ...PUBLIC,
    name: 'getHealth',
    path: '/healthz',
    summary: 'Whether the process is alive: if it is, it answers 200.',
    answers: [
      json({
        type: 'object',
        required: ['object', 'alive'],
        properties: { object: { const: 'health' }, alive: { const: true } },
      }),
    ],
  },
  {
    ...PUBLIC,
    name: 'getReadiness',
    path: '/readyz',
    summary: 'Whether the server can take requests.',
    answers: [
      { ...json(READINESS), description: 'Ready.' },
      { ...json(READINESS), httpStatus: 503, description: 'Not ready; `checks` has the reason.' },
    ],
  },
  {
    ...PUBLIC,
    name: 'getService',
    path: '/v1',
    summary: 'The version, the wire formats, and whether money is play money.',
    answers: [json(SERVICE)],
  },
  {
    ...PUBLIC,
    name: 'listModels',
    path: '/v1/models',
    summary:
      'All models with prices, limits and modalities; with a valid key, only the models that the key can use.',
    answers: [
      json({
        type: 'object',
        required: ['object', 'data', 'total_count', 'links'],
        properties: {
          object: { const: 'list' },
          data: { type: 'array', description: 'The models.', items: MODEL },
          total_count: { type: 'integer', description: 'The number of models in `data`.' },
          links: {
            type: 'object',
            description: 'The list is always one page.',
            required: ['next'],
            properties: { next: { type: 'null', description: 'Always null.' } },
          },
        },
      }),
    ],
  },
  {
    ...PUBLIC,
    name: 'getModel',
    path: '/v1/models/{author}/{name}',
    parameters: pathParameters('/v1/models/{author}/{name}'),
    summary: 'One model. The 404 of an unknown model has no request ID.',
    answers: [json(MODEL)],
    problems: ['model_not_found', 'model_not_allowed', ...OF_CONNECTIONS],
  },
]

/** Operations of earlier releases. */
export function retiredOperations(
  retired: readonly { readonly method: string; readonly path: string }[],
): readonly DocumentedOperation[] {
  return retired.map(({ method, path }) => {
    const documentedPath = path.replace(/:(\w+)/g, '{$1}')
    return {
      ...COMMON,
      name: `retired_${method.toLowerCase()}${path.replace(/\W+/g, '_')}`,
      method: method.toLowerCase(),
      path: documentedPath,
      parameters: pathParameters(documentedPath),
      summary: 'Retired: always answers 410.',
      isRetired: true,
      answers: [],
      problems: ['endpoint_retired', ...OF_CONNECTIONS],
    }
  })
}

function json(schema: JsonSchema) {
  const content = { 'application/json': schema }
  return { httpStatus: 200, description: 'Success.', headers: {}, content }
}
