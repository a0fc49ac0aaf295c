import OpenAI, { BadRequestError } from 'openai'
import { beforeAll, expect, test } from 'vitest'
import { worldOfFile } from '../world.ts'
import { failureOf } from './failure.ts'

/** Legacy text completions with the official client, unmodified. */

let client: OpenAI

const world = worldOfFile()
beforeAll(async () => {
  const { apiKey } = await world.account()
  client = new OpenAI({ apiKey, baseURL: world.url('/v1'), maxRetries: 0 })
})

test('a plain completion has text, usage and its charge', async () => {
  const { data, response } = await client.completions
    .create({ model: 'sim/text', prompt: 'Once upon a time', max_tokens: 12 })
    .withResponse()
  expect(data.object).toBe('text_completion')
  expect(data.choices[0]?.finish_reason).toBe('length')
  expect(data.choices[0]?.text).not.toBe('')
  expect(data.usage?.completion_tokens).toBe(12)
  expect(Number(response.headers.get('x-service-cost'))).toBeGreaterThan(0)
})

test('a streamed completion arrives in pieces that make the plain one', async () => {
  const params = { model: 'sim/text', prompt: 'Once upon a time', max_tokens: 12 }
  const plain = await client.completions.create(params)
  const stream = await client.completions.create({ ...params, stream: true })
  const texts: string[] = []
  for await (const chunk of stream) texts.push(chunk.choices[0]?.text ?? '')
  expect(texts.length).toBeGreaterThan(2)
  expect(texts.join('')).toBe(plain.choices[0]?.text)
})

test('each of several prompts is answered', async () => {
  const { choices } = await client.completions.create({ model: 'sim/text', prompt: ['One', 'Two'] })
  expect(choices.map(({ index }) => index)).toEqual([0, 1])
})

test('a completion without a prompt throws BadRequestError that names it', async () => {
  const call = client.post('/completions', { body: { model: 'sim/text' } })
  const error = await failureOf(BadRequestError, call)
  expect([error.code, error.param]).toEqual(['missing_prompt', 'prompt'])
})

test('after all of it, the ledger is exact', () => world.expectExactLedger())
