import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Fault } from '../../../simulator/faults.ts'
import { type Simulator, startSimulator } from '../../../simulator/simulator.ts'
import { formatDecimal, parseDecimal } from '../../vocabulary/money.ts'
import { usageOf } from '../../vocabulary/testing/token-usage.ts'
import { upstreamSettings } from '../testing/upstream-settings.ts'
import { Upstream } from '../upstream.ts'
import { fetchGeneration, openrouter } from './openrouter.ts'

const LOOKUP = { path: '/generation' }

let simulator: Simulator
let upstream: Upstream

beforeEach(async () => {
  simulator = await startSimulator()
  upstream = new Upstream(upstreamSettings({ baseUrl: simulator.baseUrl }), openrouter)
})

afterEach(async () => {
  await upstream.destroy()
  await simulator.close()
})

async function answerTo(fault: Fault, generationId = 'gen-1') {
  simulator.script({ ...LOOKUP, ...fault })
  return fetchGeneration(upstream, { generationId })
}

/** The cost as text, or the kind of an answer without a cost. */
async function costIn(rawBody: string): Promise<string> {
  const answer = await answerTo({ rawBody })
  return answer.kind === 'found' ? formatDecimal(answer.costUsd) : answer.kind
}

async function runOne(): Promise<string> {
  const response = await fetch(`${simulator.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer key', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim/text', messages: [{ role: 'user', content: 'Hello.' }] }),
  })
  await response.arrayBuffer()
  return response.headers.get('x-generation-id') ?? ''
}

describe('a record', () => {
  test('of a generation has its cost', async () => {
    const generationId = await runOne()
    const answer = await fetchGeneration(upstream, { generationId })
    expect(answer.kind === 'found' && Number(formatDecimal(answer.costUsd))).toBe(
      simulator.generations.find(generationId)?.cost.totalUsd,
    )
  })

  test.each([
    [
      '{"data":{"id":"gen-1","total_cost":0.1000000000000000055511151231}}',
      '0.1000000000000000055511151231',
    ],
    ['{"data":{"id":"gen-1","total_cost":4e-8}}', '0.00000004'],
    ['{"data":{"id":"gen-1","total_cost":0}}', '0'],
    [
      '{"data":{"id":"gen-1","total_cost":0.25,"is_byok":false,"upstream_inference_cost":7}}',
      '0.25',
    ],
    [
      '{"data":{"id":"gen-1","total_cost":0.05,"is_byok":true,"upstream_inference_cost":1.1}}',
      '1.15',
    ],
  ])('%s has exactly the cost in its digits', async (rawBody, cost) => {
    expect(await costIn(rawBody)).toBe(cost)
  })

  test('of a generation has its tokens, each in one field', async () => {
    const record = {
      id: 'gen-1',
      total_cost: 0.1,
      native_tokens_prompt: 120,
      native_tokens_cached: 20,
      native_tokens_completion: 50,
      native_tokens_reasoning: 30,
      native_tokens_completion_images: 7,
      tokens_prompt: 999,
      tokens_completion: 999,
    }
    expect(await answerTo({ rawBody: JSON.stringify({ data: record }) })).toMatchObject({
      usage: usageOf('100 in, 20 read, 50 out, 30 reasoning, 7 images'),
    })
  })

  test('with half of its counts has that half', async () => {
    const rawBody =
      '{"data":{"id":"gen-1","total_cost":0.1,"native_tokens_prompt":5,"native_tokens_cached":9}}'
    expect(await answerTo({ rawBody })).toMatchObject({
      usage: { inputTokens: 0, cacheReadTokens: 5, outputTokens: 0 },
    })
  })

  test.each([
    ['none', {}],
    ['null for each', { native_tokens_prompt: null, native_tokens_completion: null }],
    ['what are no counts', { native_tokens_prompt: -1, native_tokens_completion: '5' }],
    ['counts of another tokenizer', { tokens_prompt: 5, tokens_completion: 5 }],
  ])('with %s has a cost but no tokens', async (_, counts) => {
    const rawBody = JSON.stringify({ data: { id: 'gen-1', total_cost: 0.1, ...counts } })
    expect(await answerTo({ rawBody })).toMatchObject({ kind: 'found', usage: null })
  })

  test.each([
    ['has none', '{"data":{"id":"gen-1"}}'],
    ['is null', '{"data":{"id":"gen-1","total_cost":null}}'],
    ['is text', '{"data":{"id":"gen-1","total_cost":"0.1"}}'],
    ['is negative', '{"data":{"id":"gen-1","total_cost":-0.1}}'],
    ['has more digits than money', `{"data":{"id":"gen-1","total_cost":${'1'.repeat(50)}}}`],
    [
      'is half of two',
      '{"data":{"id":"gen-1","total_cost":0.05,"is_byok":true,"upstream_inference_cost":null}}',
    ],
    ['stands elsewhere', '{"total_cost":0.1}'],
  ])('whose cost %s is unknown', async (_, rawBody) => {
    expect(await costIn(rawBody)).toBe('unknown')
  })

  test.each([
    ['names another generation', '{"data":{"id":"gen-2","total_cost":0.1}}'],
    ['names none', '{"data":{"total_cost":0.1}}'],
    ['names null', '{"data":{"id":null,"total_cost":0.1}}'],
  ])('that %s is of another generation, even with a cost', async (_, rawBody) => {
    expect(await costIn(rawBody)).toBe('otherGeneration')
  })
})

describe('an answer', () => {
  test('of 404 that repeats it in its error is unknown', async () => {
    expect(await fetchGeneration(upstream, { generationId: 'gen-1' })).toEqual({ kind: 'unknown' })
  })

  test('is about exactly this ID, with any characters', async () => {
    const generationId = 'gen-1&id=gen-2#%2F?"\u{1F600}'
    await fetchGeneration(upstream, { generationId })
    const { query } = await simulator.waitFor(({ path }) => path === '/generation')
    expect([...new URLSearchParams(query)]).toEqual([['id', generationId]])
  })

  test.each<[string, Fault]>([
    ['404 without a body', { status: 404, errorBody: 'empty' }],
    ['404 with a page', { status: 404, errorBody: 'html' }],
    ['404 as web frameworks word it', { status: 404, rawBody: '{"detail":"Not Found"}' }],
    [
      '404 as other providers word it',
      {
        status: 404,
        rawBody: '{"error":{"message":"Invalid URL (GET /v1/generation)","code":null}}',
      },
    ],
    ['405', { status: 405 }],
    ['501', { status: 501 }],
  ])('of %s means that the upstream has no look-ups', async (_, fault) => {
    expect(await answerTo(fault)).toEqual({ kind: 'noEndpoint' })
  })

  test.each([400, 410, 422])('of %i is about the ID', async (status) => {
    expect(await answerTo({ status })).toEqual({ kind: 'unknown' })
  })

  test.each<[string, Fault]>([
    ['401', { status: 401 }],
    ['402', { status: 402 }],
    ['429', { status: 429 }],
    ['500', { status: 500 }],
    ['502 with a page', { status: 502, errorBody: 'html' }],
    ['a redirect', { status: 302 }],
    ['200 without JSON', { rawBody: '{"data":{"total_cost":0.' }],
    ['200 with a list', { rawBody: '[]' }],
    ['more than any record is long', { rawBody: `{"data":"${'x'.repeat(1024 * 1024)}"}` }],
    [
      'half of a body',
      { rawBody: '{"data":{"total_cost":0.1}}', cut: { at: { afterBytes: 20 }, how: 'reset' } },
    ],
    ['nothing', { cut: { at: 'beforeHeaders', how: 'close' } }],
  ])('of %s is unavailable', async (_, fault) => {
    expect((await answerTo(fault)).kind).toBe('unavailable')
  })

  test('that never arrives is unavailable once it is aborted', async () => {
    const asking = new AbortController()
    simulator.script({ ...LOOKUP, stall: 'afterHeaders' })
    const answer = fetchGeneration(upstream, { generationId: 'gen-1', signal: asking.signal })
    await simulator.waitFor(({ path }) => path === '/generation')
    asking.abort()
    expect((await answer).kind).toBe('unavailable')
  })

  test('of an upstream that refuses connections is unavailable', async () => {
    await simulator.refuseConnections()
    expect((await fetchGeneration(upstream, { generationId: 'gen-1' })).kind).toBe('unavailable')
  })
})

describe('the usage of our key', () => {
  const answerTo = async (fault: Fault) => {
    simulator.script({ path: '/key', ...fault })
    return openrouter.fetchKeyUsage?.(upstream)
  }

  test('counts what its own keys at providers were charged, and the rest of its limit', async () => {
    const rawBody = '{"data":{"usage":1.5,"byok_usage":0.25,"limit_remaining":7}}'
    const [usageUsd, leftUsd] = [parseDecimal('1.75'), parseDecimal('7')]
    expect(await answerTo({ rawBody })).toEqual({ kind: 'found', usageUsd, leftUsd })
  })

  test.each<[string, string, Fault]>([
    ['a body without it', 'noFigure', { rawBody: '{"data":{}}' }],
    ['404', 'noFigure', { status: 404 }],
    ['401', 'refused', { status: 401 }],
    ['500', 'unavailable', { status: 500 }],
  ])('of %s is %s', async (_, kind, fault) => {
    expect(await answerTo(fault)).toMatchObject({ kind })
  })
})
