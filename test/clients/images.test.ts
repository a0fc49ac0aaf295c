import { beforeAll, expect, test } from 'vitest'
import { worldOfFile } from '../world.ts'

/** Images with plain fetch: no vendor's client speaks this format. */

let apiKey: string

const world = worldOfFile()
beforeAll(async () => {
  const account = await world.account()
  apiKey = account.apiKey
})

function draw(body: Readonly<Record<string, unknown>>): Promise<Response> {
  return world.send(apiKey, { model: 'sim/image', prompt: 'A fjord', ...body }, '/v1/images')
}

const PNG_SIGNATURE = '89504e470d0a1a0a'

test('two images arrive as PNG files, with usage and a final charge', async () => {
  const response = await draw({ n: 2 })
  const { data, usage } = JSON.parse(await response.text())
  expect(response.status).toBe(200)
  expect(data).toHaveLength(2)
  expect(data[0].media_type).toBe('image/png')
  const bytes = Buffer.from(data[0].b64_json, 'base64')
  expect(bytes.subarray(0, 8).toString('hex')).toBe(PNG_SIGNATURE)
  expect(usage.cost).toBe(0.08193)
  // With 5% on it 86,026.5 micro-dollars, and a half goes up.
  expect(response.headers.get('x-service-cost')).toBe('86027')
})

test('a streamed image forms in parts, is completed once, and ends with [DONE]', async () => {
  const response = await draw({ stream: true })
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  const text = await response.text()
  const lines = text.split('\n').filter((line) => line.startsWith('data: '))
  expect(lines.pop()).toBe('data: [DONE]')
  const types = lines.map((line) => JSON.parse(line.slice('data: '.length)).type)
  expect(types).toEqual([
    'image_generation.partial_image',
    'image_generation.partial_image',
    'image_generation.completed',
  ])
})

test('eleven images are refused, and named', async () => {
  const response = await draw({ n: 11 })
  expect(response.status).toBe(400)
  const { error } = JSON.parse(await response.text())
  expect([error.code, error.param]).toEqual(['invalid_parameter', 'n'])
})

test("the path of other vendors' images does not exist", async () => {
  const response = await fetch(world.url('/v1/images/generations'), { method: 'POST' })
  expect(response.status).toBe(404)
})

test('after all of it, the ledger is exact', () => world.expectExactLedger())
