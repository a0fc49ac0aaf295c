import { expect, test } from 'vitest'
import { Problem } from '../vocabulary/problem.ts'
import { eitherEnvelope, errorEnvelope } from './envelope.ts'

const TYPES: readonly (readonly [number, string, string])[] = [
  [400, 'invalid_request_error', 'invalid_request_error'],
  [401, 'authentication_error', 'authentication_error'],
  [402, 'insufficient_credit', 'billing_error'],
  [403, 'permission_error', 'permission_error'],
  [404, 'invalid_request_error', 'not_found_error'],
  [408, 'invalid_request_error', 'invalid_request_error'],
  [409, 'api_error', 'conflict_error'],
  [410, 'api_error', 'api_error'],
  [413, 'invalid_request_error', 'request_too_large'],
  [422, 'invalid_request_error', 'invalid_request_error'],
  [429, 'rate_limit_error', 'rate_limit_error'],
  [431, 'invalid_request_error', 'invalid_request_error'],
  [500, 'api_error', 'api_error'],
  [502, 'api_error', 'api_error'],
  [503, 'api_error', 'overloaded_error'],
  [504, 'api_error', 'timeout_error'],
]

test.each(TYPES)(
  'status %j has the type %s, and %s on messages',
  (httpStatus, openAi, messages) => {
    const problem = new Problem('unsupported_parameter', {
      httpStatus,
      param: 'tools[0].type',
      message: 'No “x”.',
    })
    expect(JSON.parse(errorEnvelope('openai', { problem, requestId: 'req_1' }))).toEqual({
      error: {
        message: 'No “x”.',
        type: openAi,
        code: 'unsupported_parameter',
        param: 'tools[0].type',
      },
    })
    expect(JSON.parse(errorEnvelope('messages', { problem, requestId: 'req_1' }))).toEqual({
      type: 'error',
      error: { type: messages, message: 'No “x”.' },
      request_id: 'req_1',
    })
  },
)

test('if the path is unknown, one envelope has the members of both', () => {
  for (const code of ['headers_too_large', 'bad_request', 'request_timeout'] as const) {
    const problem = new Problem(code)
    const openAi = JSON.parse(errorEnvelope('openai', { problem, requestId: 'req_1' }))
    const messages = JSON.parse(errorEnvelope('messages', { problem, requestId: 'req_1' }))
    const either = JSON.parse(eitherEnvelope(problem, 'req_1'))
    expect(either).toMatchObject(openAi)
    expect(either).toMatchObject(messages)
  }
})

test('a problem without a field has null, and neither envelope has its cause', () => {
  const problem = new Problem('upstream_error', { cause: new Error('SECRET') })
  expect(JSON.parse(errorEnvelope('openai', { problem, requestId: null })).error.param).toBeNull()
  for (const family of ['openai', 'messages'] as const) {
    expect(errorEnvelope(family, { problem, requestId: null })).not.toContain('SECRET')
  }
})

test('a type of the provider is in the messages envelope only', () => {
  const problem = new Problem('upstream_error', { messagesType: 'overloaded_error' })
  expect(JSON.parse(errorEnvelope('messages', { problem, requestId: 'req_1' })).error.type).toBe(
    'overloaded_error',
  )
  expect(JSON.parse(errorEnvelope('openai', { problem, requestId: 'req_1' })).error.type).toBe(
    'api_error',
  )
})
