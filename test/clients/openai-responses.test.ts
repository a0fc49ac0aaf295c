import OpenAI, { APIError, BadRequestError } from 'openai'
import type { ResponseInput } from 'openai/resources/responses/responses'
import { beforeAll, expect, test } from 'vitest'
import { worldOfFile } from '../world.ts'
import { countEvents, failureOf } from './failure.ts'

/** Responses with the official client, unmodified. */

let client: OpenAI

const world = worldOfFile()
beforeAll(async () => {
  const { apiKey } = await world.account({ creditMicros: 50_000_000 })
  client = new OpenAI({ apiKey, baseURL: world.url('/v1'), maxRetries: 0 })
})

const hello = { model: 'sim/text', input: 'Say hello.' }

test('a plain response has text, usage and its charge', async () => {
  const { data, response } = await client.responses
    .create({ ...hello, instructions: 'Be brief.' })
    .withResponse()
  expect([data.object, data.status]).toEqual(['response', 'completed'])
  expect(data.output_text).toContain('Say hello.')
  expect(data.usage?.total_tokens).toBeGreaterThan(0)
  expect(Number(response.headers.get('x-service-cost'))).toBeGreaterThan(0)
  expect(response.headers.get('x-request-id')).toMatch(/^req_/)
})

test('a streamed response builds the text that its one last event has', async () => {
  const stream = await client.responses.create({ ...hello, stream: true })
  let text = ''
  const types: string[] = []
  for await (const event of stream) {
    types.push(event.type)
    if (event.type === 'response.output_text.delta') text += event.delta
    if (event.type === 'response.completed') expect(event.response.output_text).toBe(text)
  }
  expect(text).toContain('Say hello.')
  expect(types[0]).toBe('response.created')
  expect(types.filter((type) => type === 'response.completed')).toHaveLength(1)
  expect(types.at(-1)).toBe('response.completed')
})

test('the stream helper ends in the final response', async () => {
  const final = await client.responses.stream({ ...hello, max_output_tokens: 100 }).finalResponse()
  expect(final.status).toBe('completed')
  expect(final.output_text).toContain('Say hello.')
})

test('a response that is cut by the cap is incomplete, and says why', async () => {
  const cut = await client.responses.create({ ...hello, max_output_tokens: 3 })
  expect(cut.status).toBe('incomplete')
  expect(cut.incomplete_details?.reason).toBe('max_output_tokens')
})

const weather = {
  type: 'function' as const,
  name: 'get_weather',
  description: 'The weather in a city',
  strict: false,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

test('a function is called, and its output goes back with the whole conversation into an answer', async () => {
  const asked: ResponseInput = [{ role: 'user', content: 'Use get_weather for Oslo.' }]
  const first = await client.responses.create({
    model: 'sim/text',
    input: asked,
    tools: [weather],
    tool_choice: { type: 'function', name: 'get_weather' },
  })
  const call = first.output.find((item) => item.type === 'function_call')
  if (call === undefined) throw new Error('no function was called')
  expect(call.name).toBe('get_weather')
  expect(JSON.parse(call.arguments)).toHaveProperty('city')

  const output = { type: 'function_call_output' as const, call_id: call.call_id }
  const second = await client.responses.create({
    model: 'sim/text',
    input: [...asked, call, { ...output, output: 'Sunny, 21 degrees' }],
    tools: [weather],
  })
  expect(second.output_text).toContain('21')
})

test('a streamed function call has the arguments that its pieces make', async () => {
  const stream = await client.responses.create({
    model: 'sim/text',
    input: 'Use get_weather for Oslo.',
    tools: [weather],
    stream: true,
  })
  let pieces = ''
  let whole: string | null = null
  for await (const event of stream) {
    if (event.type === 'response.function_call_arguments.delta') pieces += event.delta
    if (event.type === 'response.function_call_arguments.done') whole = event.arguments
  }
  expect(JSON.parse(pieces)).toHaveProperty('city')
  expect(whole).toBe(pieces)
})

test('reasoning is asked for, and is counted', async () => {
  const thought = await client.responses.create({ ...hello, reasoning: { effort: 'low' } })
  expect(thought.output[0]?.type).toBe('reasoning')
  expect(thought.usage?.output_tokens_details.reasoning_tokens).toBe(8)
})

test('a JSON schema shapes the answer', async () => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer' } },
    required: ['name', 'age'],
    additionalProperties: false,
  }
  const format = { type: 'json_schema' as const, name: 'person', strict: true, schema }
  const shaped = await client.responses.create({ ...hello, text: { format } })
  expect(Object.keys(JSON.parse(shaped.output_text)).sort()).toEqual(['age', 'name'])
})

test.each([
  [{ store: true }, 'store'],
  [{ background: true }, 'background'],
  [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
  [{ conversation: 'conv_1' }, 'conversation'],
  [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
  [{ tools: [{ type: 'image_generation' as const }] }, 'tools[0].type'],
])('%j throws BadRequestError that names it', async (params, named) => {
  const error = await failureOf(BadRequestError, client.responses.create({ ...hello, ...params }))
  expect([error.code, error.param]).toEqual(['unsupported_parameter', named])
})

test('a model without a listed maximum throws BadRequestError until a cap is sent', async () => {
  const asked = { ...hello, model: 'sim/uncapped' }
  const error = await failureOf(BadRequestError, client.responses.create(asked))
  expect(error.code).toBe('output_cap_required')
  const capped = await client.responses.create({ ...asked, max_output_tokens: 100 })
  expect(capped.status).toBe('completed')
})

test('an error event inside a stream throws APIError with nothing of the provider in it', async () => {
  world.simulator.script({ errorEvent: { afterEvents: 5 }, marker: 'LEAK-900e' })
  const stream = await client.responses.create({ ...hello, stream: true })
  const error = await failureOf(APIError, countEvents(stream))
  expect(String(error.message)).not.toContain('LEAK-900e')
})

test('aborting a stream cancels the call upstream', async () => {
  world.simulator.script({ hold: { afterEvents: 6 } })
  const stream = await client.responses.create({ ...hello, input: 'Abort me.', stream: true })
  for await (const _ of stream) {
    stream.controller.abort()
    break
  }
  const upstream = await world.simulator.waitFor(({ body }) => body.includes('Abort me.'))
  expect(await upstream.ended).toBe('clientGone')
})

test('after all of it, the ledger is exact', () => world.expectExactLedger())
