import OpenAI, { BadRequestError } from 'openai'
import { beforeAll, expect, test } from 'vitest'
import { worldOfFile } from '../world.ts'
import { failureOf } from './failure.ts'

/** Embeddings with the official client, unmodified: it asks for base64 by default. */

let client: OpenAI

const world = worldOfFile()
beforeAll(async () => {
  const { apiKey } = await world.account()
  client = new OpenAI({ apiKey, baseURL: world.url('/v1'), maxRetries: 0 })
})

// Long enough to cost a micro-dollar: one token costs a fiftieth.
const request = { model: 'sim/embed', input: ['Oslo '.repeat(200), 'Bergen'] }

test('by default vectors travel as base64, and are numbers when they arrive', async () => {
  const { data: list, response } = await client.embeddings.create(request).withResponse()
  const upstream = await world.simulator.nextRequest()
  expect(JSON.parse(String(upstream.body))).toMatchObject({ encoding_format: 'base64' })
  expect(list.object).toBe('list')
  expect(list.data.map(({ index }) => index)).toEqual([0, 1])
  expect(list.data.map(({ embedding }) => embedding.length)).toEqual([256, 256])
  expect(list.data[0]?.embedding.every(Number.isFinite)).toBe(true)
  expect(list.usage.total_tokens).toBeGreaterThan(0)
  expect(Number(response.headers.get('x-service-cost'))).toBeGreaterThan(0)
})

test('vectors as numbers equal vectors as base64, to the precision of a float', async () => {
  const base64 = await client.embeddings.create(request)
  const float = await client.embeddings.create({ ...request, encoding_format: 'float' })
  const rounded = float.data.map(({ embedding }) => [...new Float32Array(embedding)])
  expect(base64.data.map(({ embedding }) => [...embedding])).toEqual(rounded)
})

test('dimensions shorten the vectors', async () => {
  const { data } = await client.embeddings.create({ ...request, dimensions: 64 })
  expect(data.map(({ embedding }) => embedding.length)).toEqual([64, 64])
})

test('a text model throws BadRequestError that names the right endpoint', async () => {
  const call = client.embeddings.create({ ...request, model: 'sim/text' })
  const error = await failureOf(BadRequestError, call)
  expect(error.code).toBe('unsupported_model')
  expect(error.message).toContain('POST /v1/chat/completions')
})

test('after all of it, the ledger is exact', () => world.expectExactLedger())
