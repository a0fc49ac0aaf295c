import { describe, expect, test } from 'vitest'
import { DEFAULT_MARKER, type Fault } from './faults.ts'
import {
  at,
  eventsOf,
  jsonEventsOf,
  jsonOf,
  post,
  question,
  simulatorOfFile,
} from './test/client.ts'

const simulator = simulatorOfFile()

const PATHS = {
  '/chat/completions': question('Hi'),
  '/completions': { model: 'sim/text', prompt: 'Hi' },
  '/messages': question('Hi', { max_tokens: 100 }),
  '/responses': { model: 'sim/text', input: 'Hi' },
  '/embeddings': { model: 'sim/embed', input: 'Hi' },
  '/images': { model: 'sim/image', prompt: 'Hi' },
} as const
const ALL_PATHS = Object.entries(PATHS)
const STREAMED = ALL_PATHS.filter(([path]) => path !== '/embeddings')

const chat = (more = {}): Promise<Response> =>
  post(simulator, '/chat/completions', question('Hi', more))

describe('the script', () => {
  test('faults strike in the order of the script, each as often as it says, and then no more', async () => {
    simulator.script([{ status: 500, times: 2 }, { status: 429 }])
    const seen = []
    for (let nth = 0; nth < 4; nth += 1) seen.push((await chat()).status)
    expect(seen).toEqual([500, 500, 429, 200])
    expect(simulator.isScriptDone).toBe(true)
  })

  test('a fault waits for its path and model, and leaves other requests alone', async () => {
    simulator.script({ status: 503, path: '/messages', model: 'sim/open', times: 'always' })
    expect((await chat({ model: 'sim/open' })).status).toBe(200)
    expect((await post(simulator, '/messages', question('Hi'))).status).toBe(200)
    const asked = question('Hi', { model: 'sim/open' })
    expect((await post(simulator, '/messages', asked)).status).toBe(503)
    expect((await post(simulator, '/messages', asked)).status).toBe(503)
  })

  test('a fault without a path strikes inference alone, and one with a path strikes a listing', async () => {
    simulator.script([{ status: 500 }, { path: '/models', rawBody: '{"data":[]}' }])
    const models = await fetch(`${simulator.baseUrl}/models`)
    expect(await models.text()).toBe('{"data":[]}')
    expect((await chat()).status).toBe(500)
  })

  test.each([
    [{ staus: 500 }, 'staus'],
    [{ times: -1 }, 'times'],
    [{ cut: { at: 'somewhere', how: 'reset' } }, 'cut'],
    [{ rewrite: { pattern: '(', replacement: '' } }, 'rewrite'],
    [{ act: { call: 'get_weather' } }, 'act'],
    ['reset', 'object'],
  ])('%j is refused by name', (fault, named) => {
    const script: (fault: never) => void = (value) => simulator.script(value)
    expect(() => Reflect.apply(script, null, [fault])).toThrow(named)
  })
})

describe('errors', () => {
  const statuses = [400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 524, 529]

  test.each(statuses)('%i comes in each skin, full of the marker', async (status) => {
    for (const [path, body] of ALL_PATHS) {
      simulator.script({ status, marker: 'SECRET-9' })
      const response = await post(simulator, path, body)
      expect(response.status).toBe(status)
      const text = await response.text()
      expect(text.match(/SECRET-9/g)?.length).toBeGreaterThan(5)
      const error: unknown = at(JSON.parse(text), 'error')
      if (path === '/messages') expect(at(error, 'type')).toMatch(/_error$|^request_too_large$/)
      else if (path === '/responses') expect(typeof at(error, 'code')).toBe('string')
      else expect(at(error, 'code')).toBe(status)
    }
  })

  test.each(['7', '1.5', 'Sat, 21 Nov 2026 03:00:00 GMT'])(
    'retry-after %s is sent as it is',
    async (value) => {
      simulator.script({
        status: 429,
        headers: { 'retry-after': value, 'x-ratelimit-limit': '20' },
      })
      const response = await chat()
      expect(response.headers.get('retry-after')).toBe(value)
      expect(response.headers.get('x-ratelimit-limit')).toBe('20')
    },
  )

  test.each([
    ['contextLength', 'maximum context length', 'prompt is too long'],
    ['contentPolicy', 'content policy', 'content policy'],
    ['invalidParameter', 'Invalid parameter', 'Invalid parameter'],
    ['unsupportedParameter', 'Unsupported parameter', 'Unsupported parameter'],
    ['noEndpoints', 'No endpoints', 'No endpoints'],
  ] as const)('%s is worded as gateways know it', async (kind, inChat, inMessages) => {
    simulator.script({ status: 400, kind, times: 2 })
    expect(await (await chat()).text()).toContain(inChat)
    expect(await (await post(simulator, '/messages', PATHS['/messages'])).text()).toContain(
      inMessages,
    )
  })

  test('a failed request can report a cost', async () => {
    simulator.script({ status: 502, errorCostUsd: 0.007 })
    expect(at(await jsonOf(await chat()), 'usage', 'cost')).toBe(0.007)
  })

  test("an error page, an empty error, and chat's envelope on another path", async () => {
    simulator.script([
      { status: 502, errorBody: 'html' },
      { status: 500, errorBody: 'empty' },
      { status: 529, errorBody: 'skinless', path: '/messages' },
    ])
    expect(await (await chat()).text()).toMatch(/^<html>.*LEAK-4c1f9e/)
    expect(await (await chat()).text()).toBe('')
    const skinless = await jsonOf(await post(simulator, '/messages', PATHS['/messages']))
    expect(at(skinless, 'error', 'code')).toBe(529)
  })

  test.each(ALL_PATHS)('%s: an error object can come with status 200', async (path, body) => {
    simulator.script({ answer: 'errorObject' })
    const response = await post(simulator, path, body)
    expect(response.status).toBe(200)
    expect(at(await jsonOf(response), 'error', 'message')).toContain(DEFAULT_MARKER)
  })

  test('an answer can fail half-way inside a 200 body', async () => {
    simulator.script({ answer: 'failedAnswer', times: 'always' })
    const body = await jsonOf(await chat())
    expect(at(body, 'choices', 0)).toMatchObject({ finish_reason: 'error', error: { code: 502 } })
    const response = await jsonOf(await post(simulator, '/responses', PATHS['/responses']))
    expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } })
    const message = await jsonOf(await post(simulator, '/messages', PATHS['/messages']))
    expect(message['type']).toBe('error')
  })

  test.each(STREAMED)(
    "%s: a stream can end in the format's own error event",
    async (path, body) => {
      simulator.script({ errorEvent: { afterEvents: 2, code: 429 }, marker: 'SECRET-9' })
      const response = await post(simulator, path, { ...body, stream: true })
      expect(response.status).toBe(200)
      const text = await response.text()
      const events = jsonEventsOf(text)
      expect(events).toHaveLength(3)
      expect(JSON.stringify(events.at(-1))).toContain('SECRET-9')
      const expected = {
        '/chat/completions': { error: { code: 429 }, choices: [{ finish_reason: 'error' }] },
        '/completions': { error: { code: 429 }, choices: [{ finish_reason: 'error' }] },
        '/messages': { type: 'error', error: { type: 'rate_limit_error' } },
        '/responses': { type: 'error', code: 'rate_limit_exceeded' },
        '/images': { type: 'error', error: { code: 429 } },
      }
      expect(events.at(-1)).toMatchObject(at(expected, path) ?? {})
      expect(text.includes('[DONE]')).toBe(path === '/images')
    },
  )

  test('an error event of chat can carry usage, and responses have three shapes of it', async () => {
    simulator.script({ errorEvent: { afterEvents: 1, withUsage: true }, path: '/chat/completions' })
    const last = jsonEventsOf(await (await chat({ stream: true })).text()).at(-1)
    expect(at(last, 'usage', 'cost')).toBeGreaterThan(0)
    const types = []
    for (const shape of ['flat', 'nested', 'failed'] as const) {
      simulator.script({ errorEvent: { afterEvents: 1, shape } })
      const asked = { ...PATHS['/responses'], stream: true }
      const event = jsonEventsOf(await (await post(simulator, '/responses', asked)).text()).at(-1)
      types.push([event?.['type'], typeof event?.['error']])
    }
    expect(types).toEqual([
      ['error', 'undefined'],
      ['error', 'object'],
      ['response.failed', 'undefined'],
    ])
  })
})

describe('answers with missing fields', () => {
  test.each(ALL_PATHS)(
    '%s: usage, cost and ids can be left out alone and together',
    async (path, body) => {
      const seen = async (omit: NonNullable<Fault['omit']>) => {
        simulator.script({ omit })
        const response = await post(simulator, path, body)
        const json = await jsonOf(response)
        const usage = json['usage']
        return {
          usage: usage !== undefined,
          cost: usage !== undefined && at(usage, 'cost') !== undefined,
          id: json['id'] !== undefined,
          header: response.headers.has('x-generation-id'),
        }
      }
      const hasId = path !== '/images'
      const whole = { usage: true, cost: true, id: hasId, header: true }
      expect(await seen([])).toEqual(whole)
      expect(await seen(['usage'])).toEqual({ ...whole, usage: false, cost: false })
      expect(await seen(['cost'])).toEqual({ ...whole, cost: false })
      expect(await seen(['id'])).toEqual({ ...whole, id: false })
      expect(await seen(['cost', 'id', 'generationHeader'])).toEqual({
        usage: true,
        cost: false,
        id: false,
        header: false,
      })
    },
  )

  test.each(STREAMED)('%s: so can they in a stream', async (path, body) => {
    simulator.script({ omit: ['usage', 'id', 'generationHeader', 'done', 'terminal'] })
    const response = await post(simulator, path, { ...body, stream: true })
    const text = await response.text()
    expect(response.headers.has('x-generation-id')).toBe(false)
    expect(text).not.toMatch(/gen-|prompt_tokens|input_tokens|DONE|message_stop|\.completed/)
    expect(text).not.toMatch(/"finish_reason":"/)
  })

  test('malformed, truncated and empty bodies', async () => {
    simulator.script([
      { answer: 'malformedJson' },
      { answer: 'truncatedJson' },
      { answer: 'empty' },
    ])
    const malformed = await (await chat()).text()
    expect(() => JSON.parse(malformed)).toThrow()
    const truncated = await (await chat()).text()
    expect(() => JSON.parse(truncated)).toThrow()
    expect(truncated).toMatch(/^\{"id":"gen-/)
    expect(await (await chat()).text()).toBe('')
  })

  test('a stream can have one event that is not JSON, and continue', async () => {
    simulator.script({ answer: 'malformedJson' })
    const events = eventsOf(await (await chat({ stream: true })).text())
    expect(() => JSON.parse(events[1]?.text ?? '')).toThrow()
    expect(events.at(-1)?.text).toBe('[DONE]')
  })

  test('the cost that is reported and the one looked up can be anything', async () => {
    simulator.script({ costUsd: 0.5, lookupCostUsd: 0.75 })
    const body = await jsonOf(await chat())
    expect(at(body, 'usage', 'cost')).toBe(0.5)
    const seen = await jsonOf(await fetch(`${simulator.baseUrl}/generation?id=${body['id']}`))
    expect(at(seen, 'data', 'total_cost')).toBe(0.75)
  })

  test('any text of an answer can be rewritten', async () => {
    simulator.script({ rewrite: { pattern: '"cost":[^,]+', replacement: '"cost":1E-3' } })
    expect(await (await chat()).text()).toContain('"cost":1E-3,')
  })
})
