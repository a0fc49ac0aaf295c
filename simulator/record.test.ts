import { describe, expect, test } from 'vitest'
import { startSimulator } from './simulator.ts'
import { at, jsonOf, post, postAs, question, simulatorOfFile } from './test/client.ts'

const simulator = simulatorOfFile()

const PATH = '/chat/completions'
const STREAM = question('Hi', { stream: true })

const lookUp = (id: unknown): Promise<Response> => fetch(`${simulator.baseUrl}/generation?id=${id}`)

describe('recorded requests', () => {
  test('the exact bytes and headers are kept', async () => {
    const text =
      '{ "model":"sim/text", "seed": 1.0e2,\n"messages":[{"role":"user","content":"\\u0041"}] }'
    await post(simulator, `${PATH}?beta=true`, text)
    const request = await simulator.nextRequest()
    expect(request.body.toString()).toBe(text)
    expect(request).toMatchObject({ method: 'POST', path: PATH, query: 'beta=true' })
    expect(request.headers['authorization']).toBe('Bearer sk-test')
  })

  test('a wait takes each request once, whether it arrived before or arrives later', async () => {
    const coming = simulator.nextRequest()
    await post(simulator, PATH, question('One'))
    await fetch(`${simulator.baseUrl}/models`)
    await post(simulator, PATH, question('Two'))
    expect((await coming).json).toEqual(question('One'))
    expect((await simulator.nextRequest()).json).toEqual(question('Two'))
    const listing = await simulator.waitFor((request) => request.path === '/models')
    expect(listing.isInference).toBe(false)
    const later = simulator.waitFor((request) => request.path === '/key')
    await fetch(`${simulator.baseUrl}/key`)
    expect((await later).method).toBe('GET')
  })

  test('an answered request ends finished and names its generation', async () => {
    const body = await jsonOf(await post(simulator, PATH, question('Hi')))
    const request = await simulator.nextRequest()
    expect(await request.ended).toBe('finished')
    expect(request.generationId).toBe(body['id'])
  })

  test('nothing is kept when it should not be, and asking for it fails at once', async () => {
    const silent = await startSimulator({ record: false })
    try {
      await post(silent, PATH, question('Hi'))
      expect(silent.requests).toEqual([])
      await expect(silent.nextRequest()).rejects.toThrow('does not record')
    } finally {
      await silent.close()
    }
  })
})

describe('generations', () => {
  test('a finished answer is looked up at the cost that it reported, plain or streamed, on every path', async () => {
    const asks = [
      [PATH, question('Hi')],
      ['/completions', { model: 'sim/text', prompt: 'Hi' }],
      ['/messages', question('Hi')],
      ['/responses', { model: 'sim/text', input: 'Hi' }],
      ['/embeddings', { model: 'sim/embed', input: 'Hi' }],
      ['/images', { model: 'sim/image', prompt: 'Hi' }],
    ] as const
    for (const [path, body] of asks) {
      const response = await post(simulator, path, body)
      const cost = at(await jsonOf(response), 'usage', 'cost')
      const found = await jsonOf(await lookUp(response.headers.get('x-generation-id')))
      expect(found['data']).toMatchObject({ total_cost: cost, cancelled: false, model: body.model })
      const streamed = await post(simulator, path, { ...body, stream: true })
      await streamed.text()
      const again = await jsonOf(await lookUp(streamed.headers.get('x-generation-id')))
      expect(again['data']).toMatchObject({ total_cost: cost, cancelled: false })
    }
  })

  test('an unknown id is 404', async () => {
    expect((await lookUp('gen-nothing')).status).toBe(404)
  })

  test('an id can be unknown to its first asks', async () => {
    simulator.generations.answerUnknownFirst(2)
    const { id } = await jsonOf(await post(simulator, PATH, question('Hi')))
    const statuses = []
    for (let ask = 0; ask < 3; ask += 1) statuses.push((await lookUp(id)).status)
    expect(statuses).toEqual([404, 404, 200])
  })

  test('a stream that the client left costs the part that was generated before', async () => {
    // The role comes first: after four events, three tokens are made.
    simulator.script({ hold: { afterEvents: 4 } })
    const abort = new AbortController()
    const answer = await postAs({ simulator, path: PATH, body: STREAM, signal: abort.signal })
    await simulator.gate().arrived()
    expect((await lookUp(answer.headers.get('x-generation-id'))).status).toBe(404)
    abort.abort()
    const request = await simulator.nextRequest()
    expect(await request.ended).toBe('clientGone')
    const found = await jsonOf(await lookUp(request.generationId))
    expect(found['data']).toMatchObject({
      cancelled: true,
      tokens_prompt: 4,
      tokens_completion: 3,
      total_cost: Number(`${4 + 4 * 3}e-6`),
    })
  })

  test('a provider that ignores the cancel bills in full', async () => {
    const whole = await jsonOf(await post(simulator, PATH, question('Hi')))
    await simulator.nextRequest()
    simulator.script({ hold: { afterEvents: 4 }, ignoresCancel: true })
    const abort = new AbortController()
    await postAs({ simulator, path: PATH, body: STREAM, signal: abort.signal })
    await simulator.gate().arrived()
    abort.abort()
    const request = await simulator.nextRequest()
    await request.ended
    const found = await jsonOf(await lookUp(request.generationId))
    expect(found['data']).toMatchObject({ cancelled: true, total_cost: at(whole, 'usage', 'cost') })
  })

  test('a picture that the client did not wait for costs nothing', async () => {
    simulator.script({ hold: { afterEvents: 1 } })
    const abort = new AbortController()
    const body = { model: 'sim/image', prompt: 'Hi', stream: true }
    await postAs({ simulator, path: '/images', body, signal: abort.signal })
    await simulator.gate().arrived()
    abort.abort()
    const request = await simulator.nextRequest()
    await request.ended
    expect(at(await jsonOf(await lookUp(request.generationId)), 'data', 'total_cost')).toBe(0)
  })

  test('a plain answer that was lost on its way counts as run', async () => {
    simulator.script({ cut: { at: 'beforeHeaders', how: 'reset' } })
    await expect(post(simulator, PATH, question('Hi'))).rejects.toThrow('fetch failed')
    const { generationId } = await simulator.nextRequest()
    const found = await jsonOf(await lookUp(generationId))
    expect(at(found, 'data', 'total_cost')).toBeGreaterThan(0)
  })
})
