import Anthropic, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PaymentRequiredError,
  PermissionDeniedError,
  RateLimitError,
  ServiceUnavailableError,
} from '@anthropic-ai/sdk'
import { beforeAll, expect, test } from 'vitest'
import { standingClock, worldOfFile } from '../world.ts'
import { countEvents, failureOf } from './failure.ts'

/** The failures of messages, as the classes that the official client throws. */

let client: Anthropic

const world = worldOfFile({ clock: standingClock() })
beforeAll(async () => {
  const { apiKey } = await world.account()
  client = clientWith(apiKey)
})

function clientWith(apiKey: string): Anthropic {
  return new Anthropic({ apiKey, baseURL: world.url(''), maxRetries: 0 })
}

const hello = {
  model: 'sim/text',
  max_tokens: 200,
  messages: [{ role: 'user' as const, content: 'Say hello.' }],
}

test('an unknown key throws AuthenticationError with the request id', async () => {
  const call = clientWith('sk-tollgate-unknown').messages.create(hello)
  const error = await failureOf(AuthenticationError, call)
  expect(error.type).toBe('authentication_error')
  expect(error.requestID).toMatch(/^req_/)
  expect(error.headers.get('x-request-id')).toBe(error.requestID)
  expect(error.error).toMatchObject({ type: 'error', request_id: error.requestID })
})

test('an account without credit throws PaymentRequiredError, a billing_error', async () => {
  const { apiKey } = await world.account({ creditMicros: 0 })
  const error = await failureOf(PaymentRequiredError, clientWith(apiKey).messages.create(hello))
  expect(error.type).toBe('billing_error')
  expect(error.requestID).toMatch(/^req_/)
})

test("an account's twenty-first request in a minute without credit throws RateLimitError", async () => {
  const { apiKey } = await world.account({ creditMicros: 0 })
  const poor = clientWith(apiKey)
  for (let nth = 0; nth < 20; nth += 1) {
    await failureOf(PaymentRequiredError, poor.messages.create(hello))
  }
  const error = await failureOf(RateLimitError, poor.messages.create(hello))
  expect(error.type).toBe('rate_limit_error')
  expect(error.headers.get('retry-after')).toMatch(/^[1-9]\d?$/)
})

test('an unknown model throws NotFoundError', async () => {
  const error = await failureOf(
    NotFoundError,
    client.messages.create({ ...hello, model: 'sim/none' }),
  )
  expect(error.type).toBe('not_found_error')
  expect(error.requestID).toMatch(/^req_/)
})

test('counting tokens throws NotFoundError, because the path does not exist', async () => {
  const { max_tokens: _, ...counted } = hello
  const error = await failureOf(NotFoundError, client.messages.countTokens(counted))
  expect(error.type).toBe('not_found_error')
})

test.each([
  ['a tool that the provider would run code in', { type: 'code_execution_20250825' }],
  ['a tool that the provider defines', { type: 'bash_20250124', name: 'bash' }],
])('%s throws BadRequestError', async (_, tool) => {
  const call = client.post('/v1/messages', { body: { ...hello, tools: [tool] } })
  const error = await failureOf(BadRequestError, call)
  expect(error.type).toBe('invalid_request_error')
})

test.each([
  [403, PermissionDeniedError, 'permission_error'],
  [429, RateLimitError, 'rate_limit_error'],
] as const)('a provider %i throws its own class', async (status, kind, type) => {
  world.simulator.script({ status, marker: 'LEAK-900f' })
  const error = await failureOf<APIError>(kind, client.messages.create(hello))
  expect([error.status, error.type]).toEqual([status, type])
  expect(JSON.stringify(error.error)).not.toContain('LEAK-900f')
})

test("a provider's 500 throws InternalServerError with nothing of the provider in it", async () => {
  world.simulator.script({ status: 500, marker: 'LEAK-900f' })
  const error = await failureOf(InternalServerError, client.messages.create(hello))
  expect([error.status, error.type]).toEqual([502, 'api_error'])
  expect(JSON.stringify(error.error)).not.toContain('LEAK-900f')
})

test("a provider's 529 keeps its overloaded_error, which distinguishes it from other failures", async () => {
  world.simulator.script({ status: 529 })
  const error = await failureOf(InternalServerError, client.messages.create(hello))
  expect([error.status, error.type]).toEqual([502, 'overloaded_error'])
})

test("a provider that refuses the gateway's own account throws ServiceUnavailableError", async () => {
  world.simulator.script({ status: 402 })
  const error = await failureOf(ServiceUnavailableError, client.messages.create(hello))
  expect(error.type).toBe('overloaded_error')
})

test('an error event inside a stream throws APIError of its type', async () => {
  world.simulator.script({ errorEvent: { afterEvents: 5 }, marker: 'LEAK-900f' })
  const stream = await client.messages.create({ ...hello, stream: true })
  const error = await failureOf(APIError, countEvents(stream))
  expect(error.type).toBe('overloaded_error')
  expect(JSON.stringify(error.error)).not.toContain('LEAK-900f')
})

test('after all of it, the ledger is exact', () => world.expectExactLedger())
