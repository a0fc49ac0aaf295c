import { expect, test } from 'vitest'
import { errorEnvelope } from '../../formats/envelope.ts'
import { problemForProviderError } from '../../formats/provider-error.ts'
import { NOTHING_SENT } from '../../formats/sent-facts.ts'
import { readProviderError } from './provider-error.ts'
import { answerOf } from './testing/exchange.ts'

/** The type of the error that a client of messages gets for a provider's. By position: its status, its body. */
function typeFor(httpStatus: number, body: object): unknown {
  const error = readProviderError(answerOf(body).root, httpStatus)
  const problem = problemForProviderError(error, { retryAfter: undefined, sent: NOTHING_SENT })
  return JSON.parse(errorEnvelope('messages', { problem, requestId: 'req_1' })).error.type
}

const MESSAGES_ERROR = { type: 'invalid_request_error', message: 'no' }
const OTHER_ERROR = { ...MESSAGES_ERROR, param: null, code: null }

test.each([
  [404, 'not_found_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'api_error'],
])(
  'a %i in another layout has the type of its status, %s, and not its own type',
  (status, type) => {
    expect(typeFor(status, { error: OTHER_ERROR })).toBe(type)
    const metadata = { error_type: 'overloaded_error' }
    expect(typeFor(status, { error: { code: status, message: 'no', metadata } })).toBe(type)
    expect(typeFor(status, { type: 'error', error: { ...MESSAGES_ERROR, type: 'unknown' } })).toBe(
      type,
    )
  },
)

test.each([404, 409, 429, 503])('a %i that is an error of messages keeps its type', (status) => {
  expect(typeFor(status, { type: 'error', error: MESSAGES_ERROR })).toBe('invalid_request_error')
  expect(typeFor(status, { error: MESSAGES_ERROR })).toBe('invalid_request_error')
})
