import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from 'openai'
import { beforeAll, expect, test } from 'vitest'
import { standingClock, worldOfFile } from '../world.ts'
import { failureOf } from './failure.ts'

/** The official client, unmodified: only its address and key are ours. */

let client: OpenAI
let accountId: string

const world = worldOfFile({ clock: standingClock() })
beforeAll(async () => {
  const account = await world.account({ creditMicros: 50_000_000 })
  accountId = account.id
  client = clientWith(account.apiKey)
})

function clientWith(apiKey: string): OpenAI {
  return new OpenAI({ apiKey, baseURL: world.url('/v1'), maxRetries: 0 })
}

const hello = {
  model: 'sim/text',
  messages: [{ role: 'user' as const, content: 'Say hello.' }],
}

test('a plain completion has an answer, usage and its charge', async () => {
  const { data, response } = await client.chat.completions.create(hello).withResponse()
  expect(data.object).toBe('chat.completion')
  expect(data.choices[0]?.message.content).not.toBe('')
  expect(data.choices[0]?.finish_reason).toBe('stop')
  expect(data.usage?.total_tokens).toBeGreaterThan(0)
  expect(Number(response.headers.get('x-service-cost'))).toBeGreaterThan(0)
  expect(response.headers.get('x-request-id')).toMatch(/^req_/)
})

test('a streamed completion arrives in pieces, with usage in a last chunk without choices when asked for', async () => {
  const stream = await client.chat.completions.create({
    ...hello,
    stream: true,
    stream_options: { include_usage: true },
  })
  let text = ''
  let chunks = 0
  let usageChoices: number | null = null
  for await (const chunk of stream) {
    chunks += 1
    text += chunk.choices[0]?.delta.content ?? ''
    if (chunk.usage) usageChoices = chunk.choices.length
  }
  expect(chunks).toBeGreaterThan(2)
  expect(text).not.toBe('')
  expect(usageChoices).toBe(0)
})

test('without include_usage the usage chunk keeps one choice with an empty delta', async () => {
  const stream = await client.chat.completions.create({ ...hello, stream: true })
  let usageChoices: number | null = null
  for await (const chunk of stream) if (chunk.usage) usageChoices = chunk.choices.length
  expect(usageChoices).toBe(1)
})

const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'The weather in a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}

test('a tool is called, and its result goes back into an answer', async () => {
  const asked = [{ role: 'user' as const, content: 'Use get_weather for Oslo.' }]
  const first = await client.chat.completions.create({
    model: 'sim/text',
    messages: asked,
    tools: [weather],
    tool_choice: 'required',
  })
  const choice = first.choices[0]
  const call = choice?.message.tool_calls?.[0]
  expect(choice?.finish_reason).toBe('tool_calls')
  if (choice === undefined || call?.type !== 'function') throw new Error('no function was called')
  expect(call.function.name).toBe('get_weather')
  expect(JSON.parse(call.function.arguments)).toHaveProperty('city')

  const second = await client.chat.completions.create({
    model: 'sim/text',
    messages: [
      ...asked,
      choice.message,
      { role: 'tool', tool_call_id: call.id, content: 'Sunny, 21 degrees' },
    ],
    tools: [weather],
  })
  expect(second.choices[0]?.finish_reason).toBe('stop')
  expect(second.choices[0]?.message.content).toContain('21')
})

test('a JSON schema shapes the answer', async () => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer' } },
    required: ['name', 'age'],
    additionalProperties: false,
  }
  const completion = await client.chat.completions.create({
    ...hello,
    response_format: { type: 'json_schema', json_schema: { name: 'person', strict: true, schema } },
  })
  const person = JSON.parse(completion.choices[0]?.message.content ?? '')
  expect(Object.keys(person).sort()).toEqual(['age', 'name'])
})

test('an unknown key throws AuthenticationError', async () => {
  const call = clientWith('sk-tollgate-unknown').chat.completions.create(hello)
  expect((await failureOf(AuthenticationError, call)).code).toBe('invalid_api_key')
})

test('a key that was cut short throws AuthenticationError that says so', async () => {
  const { apiKey } = await world.account()
  const call = clientWith(apiKey.slice(0, -1)).chat.completions.create(hello)
  expect((await failureOf(AuthenticationError, call)).message).toContain(
    'This API key is not known: it is mistyped or cut short, was deleted, or belongs to another gateway.',
  )
})

test('an unknown model throws NotFoundError', async () => {
  const call = client.chat.completions.create({ ...hello, model: 'sim/none' })
  const error = await failureOf(NotFoundError, call)
  expect(error.code).toBe('model_not_found')
  expect(error.requestID).toMatch(/^req_/)
})

test('a refused parameter throws BadRequestError that names it', async () => {
  const params = { ...hello, models: ['sim/open'] }
  const error = await failureOf(BadRequestError, client.chat.completions.create(params))
  expect([error.code, error.param]).toEqual(['unsupported_parameter', 'models'])
})

test("an account's twenty-first request in a minute without credit throws RateLimitError that says when", async () => {
  const { apiKey } = await world.account({ creditMicros: 0 })
  const poor = clientWith(apiKey)
  for (let i = 0; i < 20; i++) {
    const error = await failureOf(APIError, poor.chat.completions.create(hello))
    expect(error.status).toBe(402)
  }
  const error = await failureOf(RateLimitError, poor.chat.completions.create(hello))
  expect(error.code).toBe('rate_limited')
  expect(error.headers?.get('retry-after')).toMatch(/^[1-9]\d?$/)
})

test("a provider's 500 throws InternalServerError with nothing of the provider in it", async () => {
  world.simulator.script({ status: 500, marker: 'LEAK-900d' })
  const error = await failureOf(InternalServerError, client.chat.completions.create(hello))
  expect([error.status, error.code]).toEqual([502, 'upstream_error'])
  expect(JSON.stringify(error.error)).not.toContain('LEAK-900d')
})

test('an error inside a stream throws APIError after what was streamed', async () => {
  world.simulator.script({ errorEvent: { afterEvents: 3 }, marker: 'LEAK-900e' })
  const stream = await client.chat.completions.create({ ...hello, stream: true })
  let chunks = 0
  const reading = async () => {
    for await (const _ of stream) chunks += 1
  }
  const error = await failureOf(APIError, reading())
  expect(chunks).toBeGreaterThan(0)
  expect(error.code).toBe('upstream_error')
  expect(JSON.stringify(error.error)).not.toContain('LEAK-900e')
})

test('aborting a stream cancels the call upstream', async () => {
  world.simulator.script({ hold: { afterEvents: 3 } })
  const stream = await client.chat.completions.create({
    model: 'sim/text',
    messages: [{ role: 'user', content: 'Abort me.' }],
    stream: true,
  })
  for await (const _ of stream) {
    stream.controller.abort()
    break
  }
  const upstream = await world.simulator.waitFor(({ body }) => body.includes('Abort me.'))
  expect(await upstream.ended).toBe('clientGone')
  await world.gateway.settled()
})

test('after all of it, the ledger is exact', async () => {
  await world.expectExactLedger()
  expect(await world.backedBalanceMicros(accountId)).toBeLessThan(50_000_000)
})
