import { describe, expect, test } from 'vitest'
import { Bench } from './bench.ts'
import { type ExpectedError, expectError } from './expect-error.ts'
import { NAMES_COST, ROWS } from './rows.ts'

const bench = Bench.ofFile()

const UPSTREAM_ERROR = { httpStatus: 502, code: 'upstream_error' }
const RATE_LIMITED = { httpStatus: 429, code: 'provider_rate_limited' }
const UNAVAILABLE = { httpStatus: 503, code: 'service_unavailable' }

/**
 * The provider's status, what becomes of it, and on messages the type of the provider's own valid error,
 * which is kept: the simulator uses the status's own type if it has one, else `api_error`.
 */
const STATUSES: readonly (readonly [number, ExpectedError, string])[] = [
  [400, { httpStatus: 400, code: 'provider_rejected_request' }, 'invalid_request_error'],
  [401, UNAVAILABLE, 'overloaded_error'],
  [402, UNAVAILABLE, 'overloaded_error'],
  // A vendor says so of our account; OpenRouter, of the request.
  NAMES_COST
    ? [403, { httpStatus: 403, code: 'provider_forbidden' }, 'permission_error']
    : [403, UNAVAILABLE, 'overloaded_error'],
  [404, { httpStatus: 404, code: 'provider_not_found' }, 'not_found_error'],
  [408, { httpStatus: 408, code: 'provider_request_timeout' }, 'api_error'],
  [409, { httpStatus: 409, code: 'provider_conflict' }, 'conflict_error'],
  [413, { httpStatus: 413, code: 'provider_request_too_large' }, 'request_too_large'],
  [422, { httpStatus: 422, code: 'provider_unprocessable' }, 'invalid_request_error'],
  [429, RATE_LIMITED, 'rate_limit_error'],
  [418, UPSTREAM_ERROR, 'api_error'],
  [500, UPSTREAM_ERROR, 'api_error'],
  [502, UPSTREAM_ERROR, 'api_error'],
  [503, UPSTREAM_ERROR, 'api_error'],
  [504, UPSTREAM_ERROR, 'timeout_error'],
  [529, UPSTREAM_ERROR, 'overloaded_error'],
]

// A vendor has no other format.
const UNFORMATTED = NAMES_COST
  ? (['skinless', 'html', 'empty'] as const)
  : (['html', 'empty'] as const)

describe.each(ROWS)('$endpoint', (row) => {
  const modes = row.streams === null ? [false] : [false, true]

  test.each(STATUSES)('a %i becomes %j, and costs nothing', async (status, expected, keptType) => {
    for (const stream of modes) {
      const answer = await bench.send(row, { stream, fault: { status } })
      expectError({ bench, row, answer }, { ...expected, messagesType: keptType })
      expect(await bench.activity(answer)).toMatchObject({
        state: 'released',
        stream,
        httpStatus: expected.httpStatus,
        errorCode: expected.code,
        backedChargeMicros: 0,
        backedHeldMicros: 0,
      })
    }
  })

  test.each(STATUSES)('a %i without an error of the format is %j', async (status, expected) => {
    for (const errorBody of UNFORMATTED) {
      const answer = await bench.send(row, { fault: { status, errorBody } })
      expectError({ bench, row, answer }, expected)
    }
  })

  test.each([
    ['7', '7'],
    ['0', '0'],
    ['1.2', '2'],
    ['Wed, 21 Oct 2026 07:28:00 GMT', undefined],
    ['-1', undefined],
    ['soon', undefined],
  ])('a retry-after of %j is relayed as %j', async (sent, retryAfter) => {
    for (const [status, expected] of [
      [429, RATE_LIMITED],
      [500, UPSTREAM_ERROR],
    ] as const) {
      const fault = { status, errorBody: 'empty', headers: { 'retry-after': sent } } as const
      const answer = await bench.send(row, { fault })
      expectError({ bench, row, answer }, { ...expected, retryAfter })
    }
  })

  test.each([
    // Without figures: by the gateway's estimate this prompt fits.
    ['contextLength', 'context_length_exceeded', /^prompt is too long: it does not fit/],
    ['contentPolicy', 'content_policy_violation', /change the input/i],
    ['invalidParameter', 'invalid_parameter', /`temperature`/],
    ['unsupportedParameter', 'unsupported_parameter', /`tools`/],
    ['noEndpoints', 'provider_rejected_request', /./],
  ] as const)(
    'an error of the kind %s says how to change the request',
    async (kind, code, says) => {
      const answer = await bench.send(row, { fault: { status: 400, kind } })
      const param = /^`(.*)`$/.exec(says.source)?.[1] ?? null
      expectError(
        { bench, row, answer },
        { httpStatus: 400, code, param, message: expect.stringMatching(says) },
      )
    },
  )

  const testCost = NAMES_COST ? test : null
  testCost?.('a failed request that cost something is charged its cost and the fee', async () => {
    for (const stream of modes) {
      const fault = { status: 502, errorCostUsd: 0.01 }
      const answer = await bench.send(row, { stream, fault })
      expectError({ bench, row, answer }, UPSTREAM_ERROR)
      expect(await bench.activity(answer)).toMatchObject({
        state: row.hasGenerations ? 'provisional' : 'final',
        backedChargeMicros: 10_500,
        backedHeldMicros: 0,
      })
    }
  })

  test('an error in a 200 is an error', async () => {
    for (const answerFault of ['errorObject', 'failedAnswer'] as const) {
      const answer = await bench.send(row, { fault: { answer: answerFault, costUsd: 0 } })
      expectError({ bench, row, answer }, UPSTREAM_ERROR)
      expect(await bench.activity(answer)).toMatchObject({
        // Counts with an error are a cost that the provider reports.
        state: NAMES_COST || answerFault === 'errorObject' ? 'released' : expect.any(String),
        httpStatus: 502,
        errorCode: 'upstream_error',
      })
    }
  })

  test('an error in a 200 has the status that it names', async () => {
    const rawBody = '{"error":{"code":429,"message":"slow down","type":"rate_limit_error"}}'
    for (const stream of modes) {
      const answer = await bench.send(row, { stream, fault: { rawBody } })
      expectError({ bench, row, answer }, RATE_LIMITED)
      expect(await bench.activity(answer)).toMatchObject({ state: 'released' })
    }
  })
})

test('after all of it, the ledger is exact', () => bench.expectExactLedger())
