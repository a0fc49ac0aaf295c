import { expect } from 'vitest'
import { PROBLEMS } from '../../src/vocabulary/problem.ts'
import type { Answer, Bench } from './bench.ts'
import type { FormatRow } from './format-row.ts'

/** The expected refusal or failure. */
export interface ExpectedError {
  readonly httpStatus: number
  readonly code: string
  /** Default null. */
  readonly param?: string | null
  /** Default the type of the status. */
  readonly messagesType?: string
  /** A matcher of the message. Default any text. */
  readonly message?: unknown
  /** The `retry-after`, or a matcher of it. Default: none is sent. */
  readonly retryAfter?: unknown
}

/** The types of a status, of the OpenAI-style envelope and of messages. */
const TYPES: Readonly<Record<number, readonly [string, string]>> = {
  400: ['invalid_request_error', 'invalid_request_error'],
  401: ['authentication_error', 'authentication_error'],
  402: ['insufficient_credit', 'billing_error'],
  403: ['permission_error', 'permission_error'],
  404: ['invalid_request_error', 'not_found_error'],
  408: ['invalid_request_error', 'invalid_request_error'],
  409: ['api_error', 'conflict_error'],
  413: ['invalid_request_error', 'request_too_large'],
  422: ['invalid_request_error', 'invalid_request_error'],
  429: ['rate_limit_error', 'rate_limit_error'],
  502: ['api_error', 'api_error'],
  503: ['api_error', 'overloaded_error'],
  504: ['api_error', 'timeout_error'],
}

const RETRYABLE = new Set(
  Object.entries(PROBLEMS).flatMap(([code, { retryable }]) => (retryable ? [code] : [])),
)

/** Holds an answer to an error, all of it and nothing else, in the envelope of its format. */
export function expectError(
  {
    bench,
    row,
    answer,
  }: { readonly bench: Bench; readonly row: FormatRow; readonly answer: Answer },
  expected: ExpectedError,
): void {
  const { httpStatus, code, param = null } = expected
  const [openAiType = '', typeOfStatus = ''] = TYPES[httpStatus] ?? []
  const message = expected.message ?? expect.stringMatching(/^\S.*\S$/)
  const envelope =
    row.family === 'messages'
      ? {
          type: 'error',
          error: { type: expected.messagesType ?? typeOfStatus, message },
          request_id: answer.requestId,
        }
      : { error: { message, type: openAiType, code, param } }
  expect([answer.httpStatus, answer.json], answer.text).toEqual([httpStatus, envelope])
  expect(answer.headers['content-type']).toBe('application/json')
  expect(answer.headers['retry-after']).toEqual(expected.retryAfter)
  // SDKs retry a 429 and a 409 that no wait mends, unless this header tells them not to.
  expect(answer.headers['x-should-retry']).toBe(RETRYABLE.has(code) ? undefined : 'false')
  expect(bench.loggedCode(answer)).toBe(code)
}
