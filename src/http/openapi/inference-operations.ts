import type { WireFormat } from '../../formats/format.ts'
import { PROBLEMS, type ProblemCode } from '../../vocabulary/problem.ts'
import type { DocumentedAnswer, DocumentedOperation } from './document.ts'
import type { JsonSchema } from './json-schema.ts'

/** What a document says of a wire format. */
export type DocumentedFormat = Pick<WireFormat, 'endpoint' | 'path' | 'family' | 'documentation'>

// What no inference request is refused with.
const OF_OTHERS = new Set<ProblemCode>([
  'not_found',
  'endpoint_retired',
  'headers_too_large',
  'invalid_admin_token',
  'invalid_metrics_token',
  'reference_conflict',
  'request_not_settleable',
  'unknown_credit_code',
  'credit_code_redeemed',
  'credit_code_expired',
])

/** Tells an inference endpoint, whose fields are the provider's but for a few. */
export function inferenceOperation(
  { endpoint, path, family, documentation }: DocumentedFormat,
  { costHeader }: { readonly costHeader: string },
): DocumentedOperation {
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
    headers: { [costHeader]: 'The charge in micro-dollars; not on streams.' },
    content: {
      'application/json': whole,
      ...(streams ? { 'text/event-stream': { type: 'string' } } : {}),
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
    parameters: [],
    body: {
      type: 'object',
      required,
      properties,
      additionalProperties: true,
      description: 'Fields that are not named here pass through to the provider.',
    },
    example: EXAMPLES.get(endpoint),
    answers: [success],
    problems: ALL_CODES.filter((code) => !OF_OTHERS.has(code)),
  }
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
