import { describe, expect, test } from 'vitest'
import { catalogRow } from './catalog-rows.ts'
import { type Simulator, startSimulator } from './simulator.ts'
import { at, jsonOf, post, question, simulatorOfFile } from './test/client.ts'

const simulator = simulatorOfFile()

describe('prices', () => {
  const costOf = async (model: string, content: unknown, more = {}): Promise<number> => {
    const asked = { model, max_tokens: 1, messages: [{ role: 'user', content }], ...more }
    const body = await jsonOf(await post(simulator, '/chat/completions', asked))
    return Number(at(body, 'usage', 'cost'))
  }

  test('a prompt above the tier threshold is more expensive as a whole', async () => {
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

  test.each([{ service_tier: 'priority' }, { service_tier: 'turbo' }, { speed: 'fast' }])(
    'at %j tokens cost six times as much',
    async (tier) => {
      const once = await costOf('sim/text', 'Hi')
      expect(await costOf('sim/text', 'Hi', tier)).toBe(6 * once)
      expect(await costOf('sim/text', 'Hi', { service_tier: 'flex' })).toBe(once)
    },
  )

  test('a faster tier that is listed costs what its row says', async () => {
    simulator.catalog.replace([
      ...simulator.catalog.rows,
      catalogRow({
        id: 'sim/text-fast',
        name: 'Fast',
        description: '',
        pricing: { prompt: '0.00001', completion: '0.00005' },
      }),
    ])
    // 3 tokens around the message and one in it, one out.
    expect(await costOf('sim/text', 'Hi', { speed: 'fast' })).toBe(Number(`${40 + 50}e-6`))
    simulator.catalog.restore()
  })

  test('a prediction is output that was rejected', async () => {
    const prediction = { type: 'content', content: 'p'.repeat(40) }
    expect(await costOf('sim/text', 'Hi', { prediction })).toBe(Number(`${4 + 11 * 4}e-6`))
  })

  test('a summary reads the prompt first, and is written before the answer', async () => {
    const context_management = { edits: [{ type: 'compact_20260112' }] }
    expect(await costOf('sim/text', 'Hi', { context_management })).toBe(
      Number(`${2 * 4 + (1 + 64) * 4}e-6`),
    )
  })

  test('a cap above the listed maximum is answered in full', async () => {
    const cost = await costOf('sim/open', 'Write 9000 words', { max_tokens: 9_000 })
    expect(cost).toBe(Number(`${2 * 7 + 6 * 9_000}e-7`))
  })

  test('asked to, it bills the most that the request allows', async () => {
    const most = async (more: object) => {
      simulator.script({ bills: 'most' })
      return costOf('sim/text', 'Hi', more)
    }
    expect(await most({ max_tokens: 20_000 })).toBe(Number(`${4 + 20_000 * 4}e-6`))
    expect(await most({ reasoning: { max_tokens: 500 } })).toBe(Number(`${4 + 500 * 4}e-6`))
    expect(await most({ n: 3, max_tokens: 10 })).toBe(Number(`${4 + 30 * 4}e-6`))
    const searching = async (calls: number) => {
      const tools = [{ type: 'web_search' }]
      return Math.round((await most({ tools, max_tool_calls: calls })) * 1e6)
    }
    const [none, one, two] = [await searching(0), await searching(1), await searching(2)]
    // Each search costs $0.03, reads the prompt again, and puts 5,000 tokens into it for those behind it.
    expect(one - none).toBeGreaterThan(30_000 + 5_000)
    expect(two - one).toBe(one - none + 5_000)
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
