import { describe, expect, test } from 'vitest'
import { at, jsonOf, openaiOf, post, simulatorOfFile } from '../test/client.ts'

const simulator = simulatorOfFile()

describe('embeddings', () => {
  test('floats and base64 have the same vector, of length 1, the same for the same text', async () => {
    const floats = await openaiOf(simulator).embeddings.create({
      model: 'sim/embed',
      input: ['one', 'two', 'one'],
      encoding_format: 'float',
    })
    // The client asks for base64 by itself, and decodes it.
    const coded = await openaiOf(simulator).embeddings.create({
      model: 'sim/embed',
      input: ['one', 'two', 'one'],
    })
    const vectors = floats.data.map((item) => item.embedding)
    expect(coded.data.map((item) => [...item.embedding])).toEqual(vectors)
    expect(vectors[0]).toEqual(vectors[2])
    expect(vectors[0]).not.toEqual(vectors[1])
    expect(vectors[0]).toHaveLength(256)
    expect(simulator.requests.at(-1)?.json?.['encoding_format']).toBe('base64')
  })

  test('dimensions, token ids and cost', async () => {
    const asked = { model: 'sim/embed', input: [[1, 2, 3], [4]], dimensions: 8 }
    const body = await jsonOf(await post(simulator, '/embeddings', asked))
    expect(at(body, 'data', 1, 'embedding')).toHaveLength(8)
    expect(at(body, 'usage')).toEqual({ prompt_tokens: 4, total_tokens: 4, cost: 8e-8 })
  })

  test('an empty input is refused', async () => {
    expect((await post(simulator, '/embeddings', { model: 'sim/embed', input: '' })).status).toBe(
      400,
    )
  })
})
