import Anthropic, { APIUserAbortError } from '@anthropic-ai/sdk'
import { beforeAll, expect, test } from 'vitest'
import { worldOfFile } from '../world.ts'
import { failureOf } from './failure.ts'

/** Messages with the official client, unmodified: its address has no /v1. */

let apiKey: string
let client: Anthropic

const world = worldOfFile()
beforeAll(async () => {
  const account = await world.account()
  apiKey = account.apiKey
  client = new Anthropic({ apiKey, baseURL: world.url(''), maxRetries: 0 })
})

const hello = {
  model: 'sim/text',
  max_tokens: 200,
  messages: [{ role: 'user' as const, content: 'Say hello.' }],
}

test('a plain message has text, usage, its charge and its request id', async () => {
  const { data, response, request_id } = await client.messages.create(hello).withResponse()
  expect([data.type, data.role, data.stop_reason]).toEqual(['message', 'assistant', 'end_turn'])
  expect(data.content.map((block) => (block.type === 'text' ? block.text : ''))[0]).toContain(
    'Say hello.',
  )
  expect(data.usage.output_tokens).toBeGreaterThan(0)
  expect(Number(response.headers.get('x-service-cost'))).toBeGreaterThan(0)
  expect(request_id).toMatch(/^req_/)
  expect(response.headers.get('x-request-id')).toBe(request_id)
})

test('the stream helper passes text as it arrives, and ends in the final message', async () => {
  let text = ''
  let pieces = 0
  const stream = client.messages.stream(hello).on('text', (delta) => {
    text += delta
    pieces += 1
  })
  const final = await stream.finalMessage()
  expect(pieces).toBeGreaterThan(2)
  expect(final.content[0]).toMatchObject({ type: 'text', text })
  expect(final.stop_reason).toBe('end_turn')
  expect(final.usage.output_tokens).toBe(pieces)
})

test('a raw stream keeps the order of its events', async () => {
  const types: string[] = []
  for await (const event of await client.messages.create({ ...hello, stream: true })) {
    if (types.at(-1) !== event.type) types.push(event.type)
  }
  expect(types).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
})

const weather = {
  name: 'get_weather',
  description: 'The weather in a city',
  input_schema: {
    type: 'object' as const,
    properties: { city: { type: 'string' } },
    required: ['city'],
  },
}

test('a tool is used, and its result goes back into an answer', async () => {
  const asked = { role: 'user' as const, content: 'Use get_weather for Oslo.' }
  const first = await client.messages
    .stream({ ...hello, messages: [asked], tools: [weather], tool_choice: { type: 'any' } })
    .finalMessage()
  expect(first.stop_reason).toBe('tool_use')
  const use = first.content.find((block) => block.type === 'tool_use')
  if (use === undefined) throw new Error('no tool was used')
  expect(use.name).toBe('get_weather')
  expect(use.input).toHaveProperty('city')

  const result = { type: 'tool_result' as const, tool_use_id: use.id, content: 'Sunny, 21 degrees' }
  const second = await client.messages.create({
    ...hello,
    messages: [
      asked,
      { role: 'assistant', content: first.content },
      { role: 'user', content: [result] },
    ],
    tools: [weather],
  })
  expect(second.content[0]).toMatchObject({ type: 'text', text: expect.stringContaining('21') })
})

test('thinking comes as a signed block before the text, plain and streamed alike', async () => {
  const thoughtful = {
    ...hello,
    max_tokens: 2000,
    thinking: { type: 'enabled' as const, budget_tokens: 1024 },
  }
  const plain = await client.messages.create(thoughtful)
  const streamed = await client.messages.stream(thoughtful).finalMessage()
  expect(plain.content.map(({ type }) => type)).toEqual(['thinking', 'text'])
  expect(plain.content[0]).toHaveProperty('signature')
  expect(streamed.content).toEqual(plain.content)
})

test('the marked part of system is written to the cache once and read afterwards', async () => {
  const text = 'You know every timetable of Norway. '.repeat(200)
  const system = [{ type: 'text' as const, text, cache_control: { type: 'ephemeral' as const } }]
  const cached = { ...hello, model: 'sim/cached', system }
  const { usage: first } = await client.messages.create(cached)
  const { usage: second } = await client.messages.create(cached)
  expect(first.cache_creation_input_tokens).toBeGreaterThan(1000)
  expect(first.cache_read_input_tokens).toBe(0)
  expect(second.cache_creation_input_tokens).toBe(0)
  expect(second.cache_read_input_tokens).toBe(first.cache_creation_input_tokens)
})

test('a web search is run by the provider, at most the allowed number of times', async () => {
  const { usage, content } = await client.messages.create({
    ...hello,
    messages: [{ role: 'user', content: 'Please search 3 times.' }],
    tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 2 }],
  })
  expect(usage.server_tool_use?.web_search_requests).toBe(2)
  expect(content.map(({ type }) => type)).toContain('web_search_tool_result')
})

test('the version and betas of a client reach the provider as sent', async () => {
  await client.beta.messages.create({ ...hello, betas: ['one-2026-01-01', 'two-2026-01-01'] })
  const upstream = await world.simulator.waitFor(({ headers }) => 'anthropic-beta' in headers)
  expect(upstream.path).toBe('/messages')
  expect(upstream.headers['anthropic-beta']).toBe('one-2026-01-01,two-2026-01-01')
  expect(upstream.headers['anthropic-version']).toMatch(/^\d{4}-\d\d-\d\d$/)
})

test('a key is accepted as a bearer token, as x-api-key, and as both together', async () => {
  const seen: (string | null)[][] = []
  const spy: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers)
    seen.push(['authorization', 'x-api-key'].map((name) => headers.get(name)))
    return fetch(input, init)
  }
  const base = { baseURL: world.url(''), fetch: spy }
  const clients = [
    new Anthropic({ ...base, authToken: apiKey, apiKey: null }),
    new Anthropic({ ...base, apiKey: null, defaultHeaders: { 'x-api-key': apiKey } }),
    new Anthropic({ ...base, authToken: apiKey, defaultHeaders: { 'x-api-key': apiKey } }),
  ]
  for (const each of clients) expect((await each.messages.create(hello)).role).toBe('assistant')
  const bearer = `Bearer ${apiKey}`
  expect(seen).toEqual([
    [bearer, null],
    [null, apiKey],
    [bearer, apiKey],
  ])
})

test('every model is listed once, with the fields that the client expects', async () => {
  const ids: string[] = []
  for await (const { id, type, display_name, created_at } of client.models.list()) {
    expect([type, typeof display_name]).toEqual(['model', 'string'])
    expect(new Date(created_at).toISOString()).toBe(created_at)
    ids.push(id)
  }
  expect(ids).toContain('sim/text')
  expect(new Set(ids).size).toBe(ids.length)
  expect(await client.models.retrieve('sim/text')).toMatchObject({ id: 'sim/text', type: 'model' })
})

test('aborting a stream cancels the call upstream', async () => {
  world.simulator.script({ hold: { afterEvents: 5 } })
  const messages = [{ role: 'user' as const, content: 'Abort me.' }]
  const stream = client.messages.stream({ ...hello, messages })
  stream.once('text', () => stream.abort())
  await failureOf(APIUserAbortError, stream.finalMessage())
  const upstream = await world.simulator.waitFor(({ body }) => body.includes('Abort me.'))
  expect(await upstream.ended).toBe('clientGone')
})

test('after all of it, the ledger is exact', () => world.expectExactLedger())
