import { describe, expect, test } from 'vitest'
import { at, eventsOf, jsonEventsOf, jsonOf, post, simulatorOfFile } from '../test/client.ts'

const simulator = simulatorOfFile()

describe('images', () => {
  test('n pictures by token, without an id in the body', async () => {
    const asked = { model: 'sim/image', prompt: 'a cat', n: 2 }
    const response = await post(simulator, '/images', asked)
    const body = await jsonOf(response)
    expect(body).not.toHaveProperty('id')
    expect(response.headers.get('x-generation-id')).toMatch(/^gen-/)
    expect(at(body, 'data')).toHaveLength(2)
    expect(at(body, 'data', 0, 'media_type')).toBe('image/png')
    expect(at(body, 'usage')).toMatchObject({ prompt_tokens: 2, completion_tokens: 2048 })
    expect(at(body, 'usage', 'cost')).toBe(Number(`${5 * 2 + 40 * 2048}e-6`))
  })

  test('a flat price is per picture, and that model answers a stream request plainly', async () => {
    const asked = { model: 'sim/image-flat', prompt: 'a cat', n: 3, stream: true }
    const response = await post(simulator, '/images', asked)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(at(await jsonOf(response), 'usage', 'cost')).toBe(0.15)
  })

  test('a stream has partial pictures, the picture with usage, and [DONE]', async () => {
    const asked = { model: 'sim/image', prompt: 'a cat', stream: true }
    const text = await (await post(simulator, '/images', asked)).text()
    expect(jsonEventsOf(text).map((event) => event['type'])).toEqual([
      'image_generation.partial_image',
      'image_generation.partial_image',
      'image_generation.completed',
    ])
    expect(at(jsonEventsOf(text), -1, 'usage', 'completion_tokens')).toBe(1024)
    expect(eventsOf(text).at(-1)?.text).toBe('[DONE]')
  })

  test.each([0, 11, 1.5, '2'])('n of %j is refused', async (n) => {
    expect((await post(simulator, '/images', { model: 'sim/image', prompt: 'x', n })).status).toBe(
      400,
    )
  })
})
