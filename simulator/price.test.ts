import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Simulator, startSimulator } from './simulator.ts'
import { at, jsonOf, post, question } from './test/client.ts'

let simulator: Simulator

beforeAll(async () => {
  simulator = await startSimulator()
})
afterAll(() => simulator.close())

describe('prices', () => {
  const costOf = async (model: string, content: unknown, more = {}): Promise<number> => {
    const asked = { model, max_tokens: 1, messages: [{ role: 'user', content }], ...more }
    const body = await jsonOf(await post(simulator, '/chat/completions', asked))
    return Number(at(body, 'usage', 'cost'))
  }

  test('a prompt above the tier threshold is dearer as a whole', async () => {
    // 3 tokens stand around a message, and four characters make one.
    expect(await costOf('sim/tiered', 'a'.repeat(4 * 997))).toBe(Number(`${2 * 1000 + 10}e-6`))
    expect(await costOf('sim/tiered', 'a'.repeat(4 * 998))).toBe(Number(`${4 * 1001 + 15}e-6`))
  })

  test('a marked prompt is written to the cache first, and read from it after', async () => {
    const long = { type: 'text', text: 'b'.repeat(400), cache_control: { type: 'ephemeral' } }
    const content = [long, { type: 'text', text: 'tail' }]
    // 103 tokens in the prefix, one behind it, one out; in hundredths of a micro-dollar.
    expect(await costOf('sim/cached', content)).toBe(Number(`${375 * 103 + 300 + 1500}e-8`))
    expect(await costOf('sim/cached', content)).toBe(Number(`${30 * 103 + 300 + 1500}e-8`))
  })

  test('input images and the request itself have prices of their own', async () => {
    const image = { type: 'image_url', image_url: { url: 'https://example.com/x.png' } }
    // 765 tokens a picture and 3 around the message, at a tenth of a micro-dollar.
    expect(await costOf('sim/vision', [image])).toBe(Number(`${768 + 4 + 12_640 + 5000}e-7`))
  })

  test('a file on a model that reads none costs a paid parser, unless a free engine is named', async () => {
    const file = {
      type: 'file',
      file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
    }
    const free = { plugins: [{ id: 'file-parser', pdf: { engine: 'cloudflare-ai' } }] }
    const paid = await costOf('sim/text', [file])
    expect(paid).toBe(Number(`${1503 + 4 + 2000}e-6`))
    expect(await costOf('sim/text', [file], free)).toBe(Number(`${1503 + 4}e-6`))
  })

  test('the priority tier costs twice', async () => {
    const once = await costOf('sim/text', 'Hi')
    expect(await costOf('sim/text', 'Hi', { service_tier: 'priority' })).toBe(2 * once)
  })

  test('prices change by time of day', async () => {
    const day = await startSimulator({ nowMs: () => Date.UTC(2026, 0, 1, 12) })
    const night = await startSimulator({ nowMs: () => Date.UTC(2026, 0, 1, 23) })
    try {
      const cost = async (at_: Simulator) => {
        const asked = question('Hi', { model: 'sim/night-rate', max_tokens: 1 })
        return Number(
          at(await jsonOf(await post(at_, '/chat/completions', asked)), 'usage', 'cost'),
        )
      }
      expect(await cost(day)).toBe(Number(`${28 * 4 + 42}e-8`))
      expect(await cost(night)).toBe(Number(`${14 * 4 + 21}e-8`))
    } finally {
      await day.close()
      await night.close()
    }
  })

  test('a model that reports no cost still has one to be looked up', async () => {
    const response = await post(
      simulator,
      '/chat/completions',
      question('Hi', { model: 'sim/no-cost' }),
    )
    const body = await jsonOf(response)
    expect(at(body, 'usage')).not.toHaveProperty('cost')
    const seen = await jsonOf(await fetch(`${simulator.baseUrl}/generation?id=${body['id']}`))
    const prompt = Number(at(body, 'usage', 'prompt_tokens'))
    const completion = Number(at(body, 'usage', 'completion_tokens'))
    expect(at(seen, 'data', 'total_cost')).toBe(Number(`${prompt + 2 * completion}e-6`))
  })
})
