import { describe, expect, test } from 'vitest'
import { errorEnvelope } from '../../formats/envelope.ts'
import { NOTHING_SENT } from '../../formats/fields.ts'
import { problemForProviderError } from '../../formats/provider-error.ts'
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

const CONTEXT =
  "This endpoint's maximum context length is 1000 tokens. However, you requested about 1204 tokens"

type Row = readonly [
  ProviderAnswer,
  { status: number; code: string; param?: string; type?: string; messagesType?: string },
]

const ROWS: readonly Row[] = [
  // Recognised: context length.
  [
    { httpStatus: 400, body: aggregatorError(400, CONTEXT) },
    { status: 400, code: 'context_length_exceeded' },
  ],
  [
    { httpStatus: 413, body: aggregatorError(413, 'Prompt is too long') },
    { status: 413, code: 'context_length_exceeded' },
  ],
  [
    { httpStatus: 422, body: aggregatorError(422, 'x', { error_type: 'context_length_exceeded' }) },
    { status: 422, code: 'context_length_exceeded' },
  ],
  [
    {
      httpStatus: 400,
      body: messagesError(
        'invalid_request_error',
        'prompt is too long: 1204813 tokens > 1000000 maximum',
      ),
    },
    { status: 400, code: 'context_length_exceeded', messagesType: 'invalid_request_error' },
  ],
  [
    {
      httpStatus: 400,
      body: aggregatorError(400, 'Provider returned error', {
        raw: JSON.stringify({ error: { message: CONTEXT } }),
      }),
    },
    { status: 400, code: 'context_length_exceeded' },
  ],
  [
    {
      httpStatus: 400,
      body: aggregatorError(400, 'Provider returned error', { raw: `upstream: ${CONTEXT}` }),
    },
    { status: 400, code: 'context_length_exceeded' },
  ],
  [
    {
      httpStatus: 400,
      body: aggregatorError(
        400,
        "'max_tokens' is too large: 8192. This model's maximum context length is 8192 tokens and your request has 15 input tokens",
      ),
    },
    { status: 400, code: 'context_length_exceeded' },
  ],
  // Recognised: policy.
  [
    {
      httpStatus: 403,
      body: aggregatorError(403, 'Input was flagged', {
        reasons: ['SECRET'],
        flagged_input: 'SECRET',
      }),
    },
    { status: 403, code: 'content_policy_violation', type: 'permission_error' },
  ],
  [
    {
      httpStatus: 400,
      body: aggregatorError(400, 'Your request was rejected by our safety system'),
    },
    { status: 400, code: 'content_policy_violation' },
  ],
  [
    {
      httpStatus: 400,
      body: aggregatorError(400, 'x', { error_type: 'content_policy_violation' }),
    },
    { status: 400, code: 'content_policy_violation' },
  ],
  // Recognised: a parameter of the request.
  [
    {
      httpStatus: 400,
      body: aggregatorError(
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      ),
    },
    { status: 400, code: 'unsupported_parameter', param: 'max_tokens' },
  ],
  [
    { httpStatus: 400, body: aggregatorError(400, 'This model does not support response_format') },
    { status: 400, code: 'unsupported_parameter', param: 'response_format' },
  ],
  [
    {
      httpStatus: 400,
      body: aggregatorError(400, "Invalid value for 'temperature': expected a number"),
    },
    { status: 400, code: 'invalid_parameter', param: 'temperature' },
  ],
  [
    {
      httpStatus: 400,
      body: aggregatorError(
        400,
        'max_tokens is too large: 100000. This model supports at most 16384 completion tokens',
      ),
    },
    { status: 400, code: 'invalid_parameter', param: 'max_tokens' },
  ],
  [
    {
      httpStatus: 400,
      body: aggregatorError(400, 'max_tokens (100000) exceeds the maximum number of output tokens'),
    },
    { status: 400, code: 'invalid_parameter', param: 'max_tokens' },
  ],
  [
    { httpStatus: 400, body: aggregatorError(400, 'x', { error_type: 'max_tokens_exceeded' }) },
    { status: 400, code: 'invalid_parameter' },
  ],
  [
    {
      httpStatus: 400,
      body: {
        error: { type: 'invalid_request_error', message: 'messages.0.content: Field required' },
      },
    },
    { status: 400, code: 'invalid_parameter', param: 'messages' },
  ],
  [
    { httpStatus: 422, body: aggregatorError(422, '`seed` must be an integer') },
    { status: 422, code: 'invalid_parameter', param: 'seed' },
  ],
  // Kept statuses with their fixed message.
  [
    { httpStatus: 400, body: aggregatorError(400, 'acme/fake-1.0 is not a valid model ID') },
    { status: 400, code: 'provider_rejected_request' },
  ],
  [
    {
      httpStatus: 400,
      body: { error: { code: 'invalid_prompt', message: 'SECRET' }, metadata: null },
    },
    { status: 400, code: 'provider_rejected_request' },
  ],
  [
    { httpStatus: 400, body: aggregatorError(400, "Invalid value for 'SECRET_FIELD'") },
    { status: 400, code: 'provider_rejected_request' },
  ],
  [
    { httpStatus: 400, body: null },
    { status: 400, code: 'provider_rejected_request' },
  ],
  [
    { httpStatus: 403, body: aggregatorError(403, 'Not available in your region') },
    { status: 403, code: 'provider_forbidden', type: 'permission_error' },
  ],
  [
    {
      httpStatus: 404,
      body: aggregatorError(404, 'No endpoints for acme/sage-pro match your data policy'),
    },
    { status: 404, code: 'provider_not_found', messagesType: 'not_found_error' },
  ],
  [
    { httpStatus: 408, body: aggregatorError(408, 'Request timed out') },
    { status: 408, code: 'provider_request_timeout' },
  ],
  [
    { httpStatus: 409, body: aggregatorError(409, 'Conflict') },
    { status: 409, code: 'provider_conflict', type: 'api_error', messagesType: 'conflict_error' },
  ],
  [
    { httpStatus: 409, body: messagesError('invalid_request_error', 'Conflict') },
    { status: 409, code: 'provider_conflict', messagesType: 'invalid_request_error' },
  ],
  [
    { httpStatus: 413, body: aggregatorError(413, 'Request payload too large') },
    { status: 413, code: 'provider_request_too_large', messagesType: 'request_too_large' },
  ],
  [
    { httpStatus: 422, body: aggregatorError(422, 'Unprocessable') },
    { status: 422, code: 'provider_unprocessable' },
  ],
  [
    { httpStatus: 429, body: aggregatorError(429, 'Rate limit: too many input tokens a minute') },
    { status: 429, code: 'provider_rate_limited', type: 'rate_limit_error' },
  ],
  // About our own account.
  [
    { httpStatus: 401, body: aggregatorError(401, 'User not found') },
    {
      status: 503,
      code: 'service_unavailable',
      type: 'api_error',
      messagesType: 'overloaded_error',
    },
  ],
  [
    { httpStatus: 402, body: aggregatorError(402, 'Insufficient credits, can only afford 1222') },
    { status: 503, code: 'service_unavailable', messagesType: 'overloaded_error' },
  ],
  [
    { httpStatus: 402, body: messagesError('billing_error', 'Insufficient credits') },
    { status: 503, code: 'service_unavailable', messagesType: 'overloaded_error' },
  ],
  [
    { httpStatus: null, body: messagesError('authentication_error', 'bad key') },
    { status: 503, code: 'service_unavailable', messagesType: 'overloaded_error' },
  ],
  [
    { httpStatus: 403, body: messagesError('authentication_error', 'bad key') },
    { status: 403, code: 'provider_forbidden', messagesType: 'permission_error' },
  ],
  // Everything else.
  [
    { httpStatus: 500, body: aggregatorError(500, 'Internal Server Error') },
    { status: 502, code: 'upstream_error', type: 'api_error', messagesType: 'api_error' },
  ],
  [
    { httpStatus: 502, body: null },
    { status: 502, code: 'upstream_error' },
  ],
  [
    { httpStatus: 503, body: aggregatorError(503, 'There is no available model provider') },
    { status: 502, code: 'upstream_error' },
  ],
  [
    { httpStatus: 524, body: aggregatorError(524, 'Request timed out') },
    { status: 502, code: 'upstream_error' },
  ],
  [
    { httpStatus: 529, body: messagesError('overloaded_error', 'Overloaded') },
    { status: 502, code: 'upstream_error', messagesType: 'overloaded_error' },
  ],
  [
    { httpStatus: 302, body: null },
    { status: 502, code: 'upstream_error' },
  ],
  [
    { httpStatus: 500, body: messagesError('SECRET_error', 'x') },
    { status: 502, code: 'upstream_error', messagesType: 'api_error' },
  ],
  [
    { httpStatus: 502, body: { error: 'SECRET' } },
    { status: 502, code: 'upstream_error' },
  ],
  [
    { httpStatus: 502, body: { error: ['SECRET'] } },
    { status: 502, code: 'upstream_error' },
  ],
  // Errors inside a 200 or a stream name their status by a number or by a word.
  [
    { httpStatus: null, body: aggregatorError(429, 'x') },
    { status: 429, code: 'provider_rate_limited' },
  ],
  [
    { httpStatus: null, body: aggregatorError('429', 'x') },
    { status: 429, code: 'provider_rate_limited' },
  ],
  [
    { httpStatus: null, body: aggregatorError(502, 'Provider disconnected') },
    { status: 502, code: 'upstream_error' },
  ],
  [
    { httpStatus: null, body: aggregatorError(200, 'x') },
    { status: 502, code: 'upstream_error' },
  ],
  [
    { httpStatus: null, body: { error: { code: 'x', http_status: 404, message: 'SECRET' } } },
    { status: 404, code: 'provider_not_found' },
  ],
  [
    { httpStatus: null, body: { error: { code: 'rate_limit_exceeded', message: 'SECRET' } } },
    { status: 429, code: 'provider_rate_limited' },
  ],
  [
    { httpStatus: null, body: { error: { code: 'constructor', message: 'SECRET' } } },
    { status: 502, code: 'upstream_error' },
  ],
  [
    { httpStatus: null, body: messagesError('invalid_request_error', 'prompt is too long') },
    { status: 400, code: 'context_length_exceeded' },
  ],
  [
    { httpStatus: null, body: messagesError('overloaded_error', 'Overloaded') },
    { status: 502, code: 'upstream_error', messagesType: 'overloaded_error' },
  ],
  [
    { httpStatus: null, body: null },
    { status: 502, code: 'upstream_error' },
  ],
]

describe('a provider error', () => {
  test.each(ROWS)('%j becomes %j', (answer, expected) => {
    const problem = problemFor(answer)
    expect({ status: problem.httpStatus, code: problem.code, param: problem.param }).toEqual({
      status: expected.status,
      code: expected.code,
      param: expected.param ?? null,
    })
    const openAi = JSON.parse(errorEnvelope('openai', { problem, requestId: 'req_1' }))
    const messages = JSON.parse(errorEnvelope('messages', { problem, requestId: 'req_1' }))
    if (expected.type !== undefined) expect(openAi.error.type).toBe(expected.type)
    if (expected.messagesType !== undefined) expect(messages.error.type).toBe(expected.messagesType)
  })

  test.each(ROWS)('no text of the provider comes out of %j', (answer) => {
    const problem = problemFor(answer)
    for (const family of ['openai', 'messages'] as const) {
      const text = errorEnvelope(family, { problem, requestId: 'req_1' })
      expect(text).not.toContain('SECRET')
      expect(text).not.toMatch(/openrouter|acme|1204|1222|16384|region|data policy|afford/i)
    }
  })

  test('a context-length error has the phrase that clients look for', () => {
    expect(problemFor({ httpStatus: 400, body: aggregatorError(400, CONTEXT) }).message).toContain(
      'prompt is too long',
    )
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

  test.each([[401], [502], [529]])('is kept with a %j too', (httpStatus) => {
    expect(problemFor({ httpStatus, body: null, retryAfter: '7' }).retryAfterSeconds).toBe(7)
  })
})
