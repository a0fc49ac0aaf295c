import { describe, expect, test } from 'vitest'
import { catalogRow } from './catalog-rows.ts'
import { at, jsonOf, post, question, simulatorOfFile } from './test/client.ts'

const simulator = simulatorOfFile()

async function idsOf(query: string): Promise<readonly unknown[]> {
  const body = await jsonOf(await fetch(`${simulator.baseUrl}/models${query}`))
  const rows = at(body, 'data')
  return Array.isArray(rows) ? rows.map((row) => at(row, 'id')) : []
}

describe('listings', () => {
  test('models with text output are listed, and all models on request', async () => {
    const text = await idsOf('')
    expect(text).toContain('sim/text')
    expect(text).toContain('sim/image-chat')
    expect(text).not.toContain('sim/image')
    expect(text).not.toContain('sim/embed')
    const all = await idsOf('?output_modalities=all')
    expect(new Set(all)).toEqual(new Set([...text, 'sim/image', 'sim/image-flat', 'sim/embed']))
    expect(await idsOf('?output_modalities=embeddings')).toEqual(['sim/embed'])
  })

  test('pages follow one another', async () => {
    const all = await idsOf('?output_modalities=all')
    const pages = [
      ...(await idsOf('?output_modalities=all&limit=10')),
      ...(await idsOf('?output_modalities=all&offset=10&limit=100')),
    ]
    expect(pages).toEqual(all)
  })

  test('image models name their flat prices on a page of their own', async () => {
    const models = await jsonOf(await fetch(`${simulator.baseUrl}/images/models`))
    expect(at(models, 'data')).toHaveLength(3)
    const page = await fetch(`${simulator.baseUrl}/images/models/sim/image-flat/endpoints`)
    expect(at(await jsonOf(page), 'endpoints', 0, 'pricing', 0)).toEqual({
      billable: 'output_image',
      unit: 'image',
      cost_usd: 0.05,
    })
    const text = await fetch(`${simulator.baseUrl}/images/models/sim/text/endpoints`)
    expect(text.status).toBe(404)
  })

  test('each model names its providers, and bills the one that a request goes to', async () => {
    const page = await fetch(`${simulator.baseUrl}/models/sim/steered/endpoints`)
    const body = await jsonOf(page)
    expect(at(body, 'data', 'endpoints')).toHaveLength(2)
    expect(at(body, 'data', 'endpoints', 1, 'pricing', 'completion')).toBe('0.00004')
    const text = await fetch(`${simulator.baseUrl}/models/sim/open%3Afree/endpoints`)
    expect(at(await jsonOf(text), 'data', 'endpoints')).toHaveLength(1)
    expect((await fetch(`${simulator.baseUrl}/models/sim/none/endpoints`)).status).toBe(404)
    const costOf = async (changes: object) =>
      at(
        await jsonOf(
          await post(
            simulator,
            '/chat/completions',
            question('Hi', { model: 'sim/steered', ...changes }),
          ),
        ),
        'usage',
        'cost',
      )
    expect(Number(await costOf({ seed: 1 }))).toBeGreaterThan(8 * Number(await costOf({})))
  })

  test('the key describes itself', async () => {
    const ask = (token: string): Promise<Response> =>
      fetch(`${simulator.baseUrl}/key`, { headers: { authorization: `Bearer ${token}` } })
    expect(at(await jsonOf(await ask('sk-test')), 'data', 'label')).toBe('simulator')
    expect((await ask('sk-bad')).status).toBe(401)
    expect((await fetch(`${simulator.baseUrl}/key`)).status).toBe(401)
  })
})

describe('rows', () => {
  const modelOf = async (model: string): Promise<unknown> =>
    at(await jsonOf(await post(simulator, '/chat/completions', question('Hi', { model }))), 'model')

  test.each(['sim/dated', 'sim/dated-2026-09-01', '~sim/dated-latest'])(
    '%s is sim/dated',
    async (name) => {
      expect(await modelOf(name)).toBe('sim/dated')
    },
  )

  test('a price that rises is listed and billed from then on', async () => {
    simulator.catalog.change('sim/text', { pricing: { prompt: '0.00001', completion: '0' } })
    const body = await jsonOf(await post(simulator, '/chat/completions', question('Hi')))
    expect(at(body, 'usage', 'cost')).toBe(0.00004)
    const listed = await jsonOf(await fetch(`${simulator.baseUrl}/models`))
    expect(at(listed, 'data', 0, 'pricing', 'prompt')).toBe('0.00001')
    simulator.reset()
    const after = await jsonOf(await fetch(`${simulator.baseUrl}/models`))
    expect(at(after, 'data', 0, 'pricing', 'prompt')).toBe('0.000001')
  })

  test('rows can be replaced by others', async () => {
    const pricing = { prompt: '0.000002', completion: '0.000003' }
    simulator.catalog.replace([
      catalogRow({ id: 'acme/sage', name: 'Sage', description: 'Other.', pricing }),
    ])
    expect(await idsOf('?output_modalities=all')).toEqual(['acme/sage'])
    expect(await modelOf('acme/sage')).toBe('acme/sage')
    expect((await post(simulator, '/chat/completions', question('Hi'))).status).toBe(400)
  })

  test('a listing can be malformed, empty, or an error', async () => {
    simulator.script([
      { path: '/models', answer: 'malformedJson' },
      { path: '/models', answer: 'empty' },
      { path: '/models', status: 500 },
    ])
    const malformed = await (await fetch(`${simulator.baseUrl}/models`)).text()
    expect(() => JSON.parse(malformed)).toThrow()
    expect(await (await fetch(`${simulator.baseUrl}/models`)).text()).toBe('')
    expect((await fetch(`${simulator.baseUrl}/models`)).status).toBe(500)
  })
})
