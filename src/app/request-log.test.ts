import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { chat } from '../formats/chat.ts'
import { images } from '../formats/images.ts'
import { problemForProviderError } from '../formats/provider-error.ts'
import { NOTHING_SENT } from '../formats/sent-facts.ts'
import type { EndedRequest } from '../http/inference.ts'
import type { JourneyRecord } from '../journey/journey-parts.ts'
import { StoreUnavailable } from '../store/store-failure.ts'
import { readProviderError } from '../upstreams/openrouter/provider-error.ts'
import { Problem } from '../vocabulary/problem.ts'
import { failureLogger, requestLogger } from './log.ts'

const FACTS = {
  accountId: 'acct_1',
  apiKeyId: 'key_1',
  modelId: 'acme/model',
  upstream: 'router',
  stream: false,
  rateLimits: null,
  holdMicros: 100,
  state: 'provisional',
  chargeMicros: 60,
  holdAskedAtMs: 1_010,
  holdOpenedAtMs: 1_020,
  firstByteAtMs: 1_500,
  outcomeAtMs: 2_900,
  settledAtMs: 2_950,
  usage: null,
  generationId: 'gen-1',
  isUncounted: false,
  leftEarly: null,
  errorCode: null,
  fault: null,
} satisfies JourneyRecord

function lineOf(record: Partial<JourneyRecord>, ended: Partial<EndedRequest> = {}): object {
  const lines: string[] = []
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(line) })
  requestLogger(log)({
    requestId: 'req_1',
    format: chat,
    problem: null,
    httpStatus: 200,
    startedAtMs: 1_000,
    endedAtMs: 3_000,
    traceparent: 'of-the-caller',
    ...ended,
    record: { ...FACTS, ...record },
  })
  expect(lines).toHaveLength(1)
  return JSON.parse(lines[0] ?? '')
}

test('the line of a request has its account, model, outcome, charge and duration', () => {
  expect(lineOf({})).toEqual({
    level: 30,
    requestId: 'req_1',
    endpoint: 'chat',
    httpStatus: 200,
    accountId: 'acct_1',
    apiKeyId: 'key_1',
    modelId: 'acme/model',
    upstream: 'router',
    stream: false,
    state: 'provisional',
    holdMicros: 100,
    chargeMicros: 60,
    generationId: 'gen-1',
    errorCode: null,
    firstByteMs: 500,
    durationMs: 2_000,
    msg: 'request',
  })
})

test('a charge above the hold of text is a warning that names the model, and one of images is not', () => {
  const charged = { holdMicros: 100, chargeMicros: 101 }
  expect(lineOf(charged)).toMatchObject({
    level: 40,
    modelId: 'acme/model',
    ...charged,
    msg: expect.stringMatching(/above the hold.*`context` and `max_output`/),
  })
  expect(lineOf({ holdMicros: 100, chargeMicros: 100 })).toMatchObject({ level: 30 })
  expect(lineOf(charged, { format: images })).toMatchObject({ level: 30, msg: 'request' })
})

test("a request whose provider could not be reached has the system's error code and nothing of its content", () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED: secret'), { code: 'ECONNREFUSED' })
  const problem = new Problem('upstream_error', { cause: new Error('secret', { cause: refused }) })
  const line = lineOf({}, { problem, httpStatus: 502 })
  expect(line).toMatchObject({ level: 30, errorCode: 'upstream_error', cause: 'ECONNREFUSED' })
  expect(JSON.stringify(line)).not.toContain('secret')
  const answered = new Problem('upstream_error', { cause: 'the answer is over its limit' })
  expect(lineOf({}, { problem: answered, httpStatus: 502 })).not.toHaveProperty('cause')
})

describe('a request that the provider refused has the machine-readable words of the refusal', () => {
  const causeOf = (error: object) => {
    const read = readProviderError({ error: { message: 'SECRET', ...error } }, 400)
    const problem = problemForProviderError(read, { retryAfter: undefined, sent: NOTHING_SENT })
    expect(problem.code).toBe('provider_rejected_request')
    const line = lineOf({}, { problem, httpStatus: 400 })
    expect(JSON.stringify(line)).not.toContain('SECRET')
    return 'cause' in line ? line.cause : null
  }

  test('its type, its code and the field', () => {
    const error = { type: 'invalid_request_error', code: 'invalid_value', param: 'tools[3].SECRET' }
    expect(causeOf(error)).toBe('invalid_request_error, invalid_value, tools')
    expect(causeOf({ type: 'bad_request', code: 'bad_request' })).toBe('bad_request')
    expect(causeOf({ type: 'BadRequestError', code: 'INVALID_ARGUMENT' })).toBe(
      'BadRequestError, INVALID_ARGUMENT',
    )
  })

  test.each([
    ['a text', { type: 'SECRET with spaces' }],
    ['a text of many words', { code: `${'error_'.repeat(11)}error` }],
    ['a key', { code: 'sk-proj-SECRETabcdefgh1' }],
    ['a word that no provider has for an error', { type: 'SECRET_error', code: 'SECRET' }],
    ['a line break', { code: 'a\nSECRET' }],
    ['a field of no format', { param: 'SECRET' }],
    ['a list', { type: ['SECRET'], code: { SECRET: 1 }, param: ['SECRET'] }],
  ])('without %s', (_, error) => {
    expect(causeOf(error)).toBeNull()
  })
})

test('a stream that failed after its 200 is logged with the reason', () => {
  expect(lineOf({ stream: true, errorCode: 'client_gone' })).toMatchObject({
    level: 30,
    httpStatus: 200,
    errorCode: 'client_gone',
  })
})

test.each([
  ['model_not_found', 404, 30, 'request'],
  ['upstream_error', 502, 30, 'request'],
  ['service_unavailable', 503, 40, 'request failed'],
  ['internal_error', 500, 50, 'request failed'],
] as const)(
  'a request that ends in %s is logged with its code, at the level of its owner',
  (code, httpStatus, level, msg) => {
    const problem = new Problem(code, { cause: new Error('quotes what a client sent') })
    const line = lineOf({ state: null, firstByteAtMs: null }, { problem, httpStatus })
    expect(line).toMatchObject({ errorCode: code, httpStatus, level, msg, firstByteMs: null })
    expect(JSON.stringify(line)).not.toContain('quotes')
  },
)

test('a request that the store failed has the reason of the store, and one that was refused has the message of its answer', () => {
  const causeOf = (input: ConstructorParameters<typeof Problem>[1]) =>
    lineOf({}, { problem: new Problem('service_unavailable', input), httpStatus: 503 })
  const cause = new StoreUnavailable('db:5432: canceling statement due to lock timeout')
  expect(causeOf({ cause })).toMatchObject({
    cause: { name: 'StoreUnavailable', message: cause.message },
  })
  const message = 'This model has too many requests at once.'
  expect(causeOf({ message })).toMatchObject({ cause: message })
})

test.each([
  ['a fault', new Problem('internal_error', { cause: new TypeError('quotes') }), 50],
  [
    'a store that failed',
    new Problem('service_unavailable', { cause: new StoreUnavailable('disk full') }),
    40,
  ],
  [
    'a range too wide to be read',
    new Problem('service_unavailable', { message: 'Ask for fewer days.' }),
    30,
  ],
] as const)('the log names the route that %s kept from being served', (_, problem, level) => {
  const lines: string[] = []
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(line) })
  const route = '/v1/accounts/:account_id'
  failureLogger(log)({ requestId: 'req_1', method: 'GET', route, problem })
  const { code: errorCode, httpStatus } = problem
  expect(JSON.parse(lines.join(''))).toMatchObject({ level, route, errorCode, httpStatus })
  expect(lines.join('')).not.toContain('quotes')
})

test('an internal fault is logged as an error, by its name and stack frames alone', () => {
  const line = lineOf({ fault: new TypeError('quotes what a provider sent') })
  expect(line).toMatchObject({ level: 50, msg: 'request failed', cause: { name: 'TypeError' } })
  expect(JSON.stringify(line)).not.toContain('quotes')
})

test("no line of a fault's message is taken for a stack frame", () => {
  const line = lineOf({ fault: new TypeError('not JSON: "\n    at the office, as I said"') })
  expect(JSON.stringify(line)).not.toContain('office')
  expect(JSON.stringify(line)).toContain('request-log.test.ts')
})

test("if a fault's message was changed, no line is taken for a stack frame", () => {
  const fault = new TypeError('"\n    at the office, as I said"')
  expect(fault.stack).toContain('office')
  fault.message = 'not JSON'
  expect(lineOf({ fault })).toMatchObject({ cause: { name: 'TypeError', frames: [] } })
})
