import { describe, expect, test } from 'vitest'
import { errorEnvelope } from '../../formats/envelope.ts'
import { problemForProviderError } from '../../formats/provider-error.ts'
import { NOTHING_SENT } from '../../formats/sent-facts.ts'
import { readProviderError } from './provider-error.ts'
import { answerOf } from './testing/exchange.ts'

interface ProviderAnswer {
  readonly httpStatus: number | null // Null: a 200, or an event of a stream.
  readonly body: object | null
  readonly retryAfter?: string
}

function problemFor({ httpStatus, body, retryAfter }: ProviderAnswer) {
  const error = readProviderError(body === null ? null : answerOf(body).root, httpStatus)
  return problemForProviderError(error, { retryAfter, sent: NOTHING_SENT })
}

/** An error in OpenRouter's layout; its text marks everything that must not come out. */
function aggregatorError(code: number | string, message: string, metadata: object = {}): object {
  return {
    error: {
      code,
      message: `SECRET ${message} SECRET`,
      metadata: { provider_name: 'SECRET', ...metadata },
    },
    user_id: 'SECRET',
    openrouter_metadata: { secret: 'SECRET' },
  }
}

function messagesError(type: string, message: string): object {
  return {
    type: 'error',
    error: { type, message: `${message} SECRET`, error_type: 'SECRET' },
    request_id: 'SECRET',
  }
}

const INVALID = 'invalid_request_error'
const OVERLOADED = 'overloaded_error'
const CONTEXT =
  "This endpoint's maximum context length is 1000 tokens. However, you requested about 1204 tokens"

/** The problem that an error becomes, with the provider's own status if none is given. */
interface Expected {
  readonly status?: number
  readonly code: string
  readonly param?: string
  readonly type?: string
  readonly messagesType?: string
}

type Row = readonly [httpStatus: ProviderAnswer['httpStatus'], body: object | null, Expected]

/** Errors that OpenRouter answers with a status, which is also the code of its body. */
const said = (status: number, message: string, code: string, rest: Partial<Expected> = {}): Row => [
  status,
  aggregatorError(status, message),
  { code, ...rest },
]
const typed = (status: number, errorType: string, code: string): Row => [
  status,
  aggregatorError(status, 'x', { error_type: errorType }),
  { code },
]

const RETURNED = 'Provider returned error'
const TOO_LONG = 'context_length_exceeded'
const UPSTREAM = { status: 502, code: 'upstream_error' }
const UNAVAILABLE = {
  status: 503,
  code: 'service_unavailable',
  type: 'api_error',
  messagesType: 'overloaded_error',
}
const LIMITED = { status: 429, code: 'provider_rate_limited' }

const ROWS: readonly Row[] = [
  // Recognised: context length.
  said(400, CONTEXT, TOO_LONG),
  said(413, 'Prompt is too long', TOO_LONG),
  typed(422, TOO_LONG, TOO_LONG),
  [
    400,
    messagesError(INVALID, 'prompt is too long: 1204813 tokens > 1000000 maximum'),
    { code: TOO_LONG, messagesType: INVALID },
  ],
  [
    400,
    aggregatorError(400, RETURNED, { raw: JSON.stringify({ error: { message: CONTEXT } }) }),
    { code: TOO_LONG },
  ],
  [400, aggregatorError(400, RETURNED, { raw: `upstream: ${CONTEXT}` }), { code: TOO_LONG }],
  said(
    400,
    "'max_tokens' is too large: 8192. This model's maximum context length is 8192 tokens and your request has 15 input tokens",
    TOO_LONG,
  ),
  ...[
    { object: 'error', message: CONTEXT, type: 'BadRequestError', param: null, code: 400 },
    { message: CONTEXT },
    { detail: CONTEXT },
    { error: CONTEXT },
    { error: null, detail: CONTEXT },
  ].map((body): Row => [400, body, { code: TOO_LONG }]),
  // Recognised: policy.
  [
    403,
    aggregatorError(403, 'Input was flagged', { reasons: ['SECRET'], flagged_input: 'SECRET' }),
    { code: 'content_policy_violation', type: 'permission_error' },
  ],
  said(400, 'Your request was rejected by our safety system', 'content_policy_violation'),
  typed(400, 'content_policy_violation', 'content_policy_violation'),
  // Recognised: a parameter of the request.
  said(
    400,
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    'unsupported_parameter',
    { param: 'max_tokens' },
  ),
  said(400, 'This model does not support response_format', 'unsupported_parameter', {
    param: 'response_format',
  }),
  said(400, "Invalid value for 'temperature': expected a number", 'invalid_parameter', {
    param: 'temperature',
  }),
  said(
    400,
    'max_tokens is too large: 100000. This model supports at most 16384 completion tokens',
    'invalid_parameter',
    { param: 'max_tokens' },
  ),
  said(
    400,
    'max_tokens (100000) exceeds the maximum number of output tokens',
    'invalid_parameter',
    { param: 'max_tokens' },
  ),
  typed(400, 'max_tokens_exceeded', 'invalid_parameter'),
  [
    400,
    { error: { type: INVALID, message: 'messages.0.content: Field required' } },
    { code: 'invalid_parameter', param: 'messages' },
  ],
  said(422, '`seed` must be an integer', 'invalid_parameter', { param: 'seed' }),
  ...(
    [
      ['temperature is not supported with this model', 'unsupported_parameter', 'temperature'],
      ['tools are not supported', 'unsupported_parameter', 'tools'],
      ['stop must be a string or an array', 'invalid_parameter', 'stop'],
    ] as const
  ).map(([message, code, param]): Row => [400, { error: { message } }, { code, param }]),
  [
    400,
    { error: { message: 'input of this shape is not supported' } },
    { code: 'provider_rejected_request' },
  ],
  // Kept statuses with their fixed message.
  said(400, 'acme/fake-1.0 is not a valid model ID', 'provider_rejected_request'),
  [
    400,
    { error: { code: 'invalid_prompt', message: 'SECRET' }, metadata: null },
    { code: 'provider_rejected_request' },
  ],
  said(400, "Invalid value for 'SECRET_FIELD'", 'provider_rejected_request'),
  [400, null, { code: 'provider_rejected_request' }],
  said(403, 'Not available in your region', 'provider_forbidden', { type: 'permission_error' }),
  said(404, 'No endpoints for acme/sage-pro match your data policy', 'provider_not_found', {
    messagesType: 'not_found_error',
  }),
  said(408, 'Request timed out', 'provider_request_timeout'),
  said(409, 'Conflict', 'provider_conflict', { type: 'api_error', messagesType: 'conflict_error' }),
  [
    409,
    { object: 'error', message: 'SECRET', type: INVALID },
    { code: 'provider_conflict', messagesType: 'conflict_error' },
  ],
  [422, { detail: [{ loc: ['body'], msg: 'SECRET' }] }, { code: 'provider_unprocessable' }],
  [409, messagesError(INVALID, 'Conflict'), { code: 'provider_conflict', messagesType: INVALID }],
  said(413, 'Request payload too large', 'provider_request_too_large', {
    messagesType: 'request_too_large',
  }),
  said(422, 'Unprocessable', 'provider_unprocessable'),
  said(429, 'Rate limit: too many input tokens a minute', 'provider_rate_limited', {
    type: 'rate_limit_error',
  }),
  // About our own account.
  [401, aggregatorError(401, 'User not found'), UNAVAILABLE],
  [402, aggregatorError(402, 'Insufficient credits, can only afford 1222'), UNAVAILABLE],
  [402, messagesError('billing_error', 'Insufficient credits'), UNAVAILABLE],
  [null, messagesError('authentication_error', 'bad key'), UNAVAILABLE],
  [
    403,
    messagesError('authentication_error', 'bad key'),
    { code: 'provider_forbidden', messagesType: 'permission_error' },
  ],
  // Everything else.
  [
    500,
    aggregatorError(500, 'Internal Server Error'),
    { ...UPSTREAM, type: 'api_error', messagesType: 'api_error' },
  ],
  [502, null, UPSTREAM],
  [503, aggregatorError(503, 'There is no available model provider'), UPSTREAM],
  [524, aggregatorError(524, 'Request timed out'), UPSTREAM],
  [529, messagesError(OVERLOADED, 'Overloaded'), { ...UPSTREAM, messagesType: OVERLOADED }],
  [302, null, UPSTREAM],
  [500, messagesError('SECRET_error', 'x'), { ...UPSTREAM, messagesType: 'api_error' }],
  [502, { error: 'SECRET' }, UPSTREAM],
  [502, { error: ['SECRET'] }, UPSTREAM],
  // Errors inside a 200 or a stream name their status by a number or by a word.
  [null, aggregatorError(429, 'x'), LIMITED],
  [null, aggregatorError('429', 'x'), LIMITED],
  [null, aggregatorError(502, 'Provider disconnected'), UPSTREAM],
  [null, aggregatorError(200, 'x'), UPSTREAM],
  [
    null,
    { error: { code: 'x', http_status: 404, message: 'SECRET' } },
    { status: 404, code: 'provider_not_found' },
  ],
  [null, { error: { code: 'rate_limit_exceeded', message: 'SECRET' } }, LIMITED],
  [null, { error: { code: 'constructor', message: 'SECRET' } }, UPSTREAM],
  [null, messagesError(INVALID, 'prompt is too long'), { status: 400, code: TOO_LONG }],
  [null, messagesError(OVERLOADED, 'Overloaded'), { ...UPSTREAM, messagesType: OVERLOADED }],
  [null, null, UPSTREAM],
]

describe('a provider error', () => {
  test.each(ROWS)('with status %j, %j, becomes %j, without any text of the provider', (...row) => {
    const [httpStatus, body, { status = httpStatus, code, param = null, ...types }] = row
    const problem = problemFor({ httpStatus, body })
    expect(problem).toMatchObject({ httpStatus: status, code, param })
    const [openAi, messages] = (['openai', 'messages'] as const).map((family) => {
      const text = errorEnvelope(family, { problem, requestId: 'req_1' })
      expect(text).not.toContain('SECRET')
      expect(text).not.toMatch(/openrouter|acme|1204|1222|16384|region|data policy|afford/i)
      return JSON.parse(text).error.type
    })
    expect({ type: openAi, messagesType: messages }).toMatchObject(types)
  })

  test('an error of any size is matched by its beginning', () => {
    const message = `${'x'.repeat(1_000_000)} prompt is too long`
    expect(
      problemFor({ httpStatus: 400, body: { error: { message, metadata: { raw: message } } } })
        .code,
    ).toBe('provider_rejected_request')
  })
})

describe('retry-after', () => {
  test.each([
    ['40', 40],
    ['0', 0],
    ['1.5', 2],
    ['2.0', 2],
    ['40 \t', 40],
    ['Sat, 21 Nov 2026 03:00:00 GMT', null],
    ['-1', null],
    ['1e3', null],
    ['', null],
    ['soon', null],
    ['99999999999', null],
    [undefined, null],
  ])('%j becomes %j', (retryAfter, seconds) => {
    const answer = { httpStatus: 429, body: null }
    const problem = problemFor(retryAfter === undefined ? answer : { ...answer, retryAfter })
    expect(problem.retryAfterSeconds).toBe(seconds)
  })

  test.each([[401], [502], [529]])('is also kept with a %j', (httpStatus) => {
    expect(problemFor({ httpStatus, body: null, retryAfter: '7' }).retryAfterSeconds).toBe(7)
  })
})
