import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { readConfig } from '../../src/app/config.ts'
import { configuredUpstreams } from '../../src/app/configured-upstreams.ts'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import type { RequestRow } from '../../src/store/schema.ts'
import { tollgate } from '../tollgate-process.ts'
import { readToEnd, startWorld, type World } from '../world.ts'
import { LITELLM_KEY, type RealServer, startLitellm, startLlama } from './real-server.ts'

/* A gateway in front of foreign servers: their counts are charged, at the prices written here. */

const PRICES = { input: 7, cache_read: 2, output: 13 }
const HELLO = [{ role: 'user', content: 'Say hello.' }]

let servers: {
  readonly litellm: RealServer
  readonly llama: RealServer
  readonly embeds: RealServer
}
let file: string
let world: World
let apiKey: string
let accountId: string

beforeAll(async () => {
  const place = inject('servers')
  const [litellm, llama, embeds] = await Promise.all([
    startLitellm(place),
    startLlama(place, 'answers'),
    startLlama(place, 'embeddings'),
  ])
  servers = { litellm, llama, embeds }
  file = join(place.folder, 'upstreams.yaml')
  writeFileSync(file, upstreams())
  const settings = { TOLLGATE_UPSTREAMS: file }
  const configured = await configuredUpstreams(readConfig(settings), { LITELLM_KEY })
  if (configured === null) throw new Error('the file has no upstreams')
  world = await startWorld({ settings, configured: () => configured })
  ;({ apiKey, id: accountId } = await world.account())
})

afterAll(async () => {
  await world?.close()
  await Promise.all(Object.values(servers ?? {}).map((server) => server.stop()))
})

function upstreams(): string {
  const model = (id: string, more: object = {}) => {
    const upstream_id = id.split('/')[1]
    const figures = { context: 8192, max_output: 8000, prices: PRICES }
    return `      - ${JSON.stringify({ id, upstream_id, ...figures, ...more })}`
  }
  const embeds = { outputs: ['embeddings'], prices: { input: PRICES.input, output: 0 } }
  const upstream = (name: string, lines: readonly string[]) => [
    `  ${name}:\n    dialect: openai-compatible`,
    ...lines,
  ]
  const { litellm, llama } = servers
  return [
    'upstreams:',
    ...upstream('litellm', [
      `    base_url: ${litellm.baseUrl}\n    api_key: "\${LITELLM_KEY}"`,
      '    formats: [chat, completions, embeddings]\n    models:',
      ...['mock-chat', 'mock-slow', 'mock-limited', 'mock-broken', 'no-such-mock'].map((name) =>
        model(`litellm/${name}`),
      ),
      model('litellm/mock-embed', embeds),
    ]),
    ...upstream('llama', [
      `    base_url: ${llama.baseUrl}\n    formats: [chat, completions]\n    models:`,
      model('llama/tiny'),
      model('llama/too-small', { context: 100_000 }),
    ]),
    ...upstream('llama-embeddings', [
      `    base_url: ${servers.embeds.baseUrl}\n    formats: [embeddings]\n    models:`,
      model('llama/tiny-embed', embeds),
    ]),
    '',
  ].join('\n')
}

interface Counts {
  readonly prompt_tokens: number
  readonly completion_tokens?: number
  readonly prompt_tokens_details?: { readonly cached_tokens?: number | null } | null
}

/** The charge of a server's own counts: their cost in micro-dollars and 5%, rounded once. */
function chargeOf(counts: Counts): number {
  const { prompt_tokens: prompt, completion_tokens: output = 0, prompt_tokens_details } = counts
  const cached = prompt_tokens_details?.cached_tokens ?? 0
  const costMicros =
    (prompt - cached) * PRICES.input + cached * PRICES.cache_read + output * PRICES.output
  return Math.floor((costMicros * 105 + 50) / 100)
}

function send(path: string, body: object) {
  return readToEnd(world.send(apiKey, body, path))
}

/** The last counts of a stream. */
function countsIn(stream: string): Counts {
  const events = stream.split('\n').filter((line) => line.startsWith('data: {'))
  const counts = events.flatMap((line): Counts[] => {
    const { usage } = JSON.parse(line.slice('data: '.length))
    return usage === undefined || usage === null ? [] : [usage]
  })
  const last = counts.at(-1)
  if (last === undefined) throw new Error(`no counts: ${stream}`)
  return last
}

describe.each([
  { server: 'litellm', chat: 'litellm/mock-chat', embeds: 'litellm/mock-embed', asked: 'litellm' },
  { server: 'llama', chat: 'llama/tiny', embeds: 'llama/tiny-embed', asked: 'llama' },
])('$server', ({ chat, embeds, asked }) => {
  const bodies = [
    ['/v1/chat/completions', { model: chat, messages: HELLO, max_tokens: 24 }],
    ['/v1/completions', { model: chat, prompt: 'Say hello.', max_tokens: 24 }],
  ] as const

  test('is reached, accepts its key and answers a token, in `tollgate upstream check --spend`', async () => {
    const { folder } = inject('servers')
    const env = { TOLLGATE_UPSTREAMS: file, LITELLM_KEY }
    const checked = await tollgate(['upstream', 'check', asked, '--spend'], { folder, env })
    expect(checked.code, checked.out + checked.notes).toBe(0)
  })

  test('has its models in the list of the gateway', async () => {
    const list = await fetch(world.url('/v1/models'))
    const ids = [...(await list.text()).matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id)
    expect(ids).toEqual(expect.arrayContaining([chat, embeds]))
  })

  test.each(bodies)('%s: a whole answer is charged its counts, finally', async (path, body) => {
    const answer = await send(path, body)
    expect(answer.httpStatus, answer.text).toBe(200)
    const due = chargeOf(JSON.parse(answer.text).usage)
    expect(due).toBeGreaterThan(0)
    expect(Number(answer.headers.get('x-service-cost'))).toBe(due)
    const { state, backedChargeMicros, backedHeldMicros } = await world.rowOf(answer.requestId)
    expect([state, backedChargeMicros, backedHeldMicros]).toEqual(['final', due, 0])
  })

  test.each(
    bodies.flatMap(([path, body]) => [
      [path, 'asks for them', { ...body, stream_options: { include_usage: true } }] as const,
      [path, 'does not', body] as const,
    ]),
  )('%s: a stream is charged its counts if the client %s', async (path, _, body) => {
    const answer = await send(path, { ...body, stream: true })
    expect(answer.httpStatus, answer.text).toBe(200)
    expect(answer.text).toContain('[DONE]')
    const due = chargeOf(countsIn(answer.text))
    const { state, backedChargeMicros, backedHeldMicros } = await world.rowOf(answer.requestId)
    expect([state, backedChargeMicros, backedHeldMicros]).toEqual(['final', due, 0])
  })

  test('embeddings are charged their counts', async () => {
    const answer = await send('/v1/embeddings', { model: embeds, input: ['Say hello.', 'Twice.'] })
    expect(answer.httpStatus, answer.text).toBe(200)
    const due = chargeOf({ ...JSON.parse(answer.text).usage, completion_tokens: 0 })
    expect(due).toBeGreaterThan(0)
    const { state, backedChargeMicros } = await world.rowOf(answer.requestId)
    expect([state, backedChargeMicros]).toEqual(['final', due])
  })
})

/** Sends a stream and leaves it at its first bytes, or when its hold is open; the record of the request after its end. */
async function leave(model: string, when: 'atFirstBytes' | 'beforeText'): Promise<RequestRow> {
  const leaving = new AbortController()
  const sent = request(world.url('/v1/chat/completions'), {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model, messages: HELLO, max_tokens: 8_000, stream: true }),
    signal: leaving.signal,
  })
  if (when === 'atFirstBytes') {
    const { body } = await sent
    await body[Symbol.asyncIterator]().next()
  } else {
    while ((await latest())?.state !== 'open') await nextTurn()
  }
  leaving.abort()
  await sent.then(({ body }) => body.dump()).catch(() => null)
  let row = await latest()
  while (row === undefined || row.state === 'open') row = await latest()
  expect(row.modelId).toBe(model)
  return row
}

async function latest(): Promise<RequestRow | undefined> {
  const { requests } = await listRequests(world.gateway.store.db, { accountId, limit: 1 })
  return requests[0]
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

test('a client that leaves a stream of llama.cpp is charged an estimate, and the server stops', async () => {
  const row = await leave('llama/tiny', 'atFirstBytes')
  expect(row.state).toBe('provisional')
  // At least the prompt, and far from all of the answer.
  expect(row.backedChargeMicros).toBeGreaterThanOrEqual(chargeOf({ prompt_tokens: 10 }))
  expect(row.backedChargeMicros).toBeLessThan(
    chargeOf({ prompt_tokens: 0, completion_tokens: 8_000 }),
  )
  const slots = new URL('/slots', servers.llama.baseUrl)
  const isBusy = async () => (await (await fetch(slots)).text()).includes('"is_processing":true')
  while (await isBusy()) await nextTurn()
})

test('a client that leaves before the first text of LiteLLM is charged an estimate of the prompt', async () => {
  const row = await leave('litellm/mock-slow', 'beforeText')
  expect(row.state).toBe('provisional')
  expect(row.backedChargeMicros).toBeLessThanOrEqual(chargeOf({ prompt_tokens: 20 }))
})

describe('an error of the server', () => {
  test.each([
    ['litellm/mock-limited', 429, 'provider_rate_limited'],
    ['litellm/mock-broken', 502, 'upstream_error'],
    ['litellm/no-such-mock', 400, 'provider_rejected_request'],
    ['llama/too-small', 400, 'context_length_exceeded'],
  ])(
    "of %s is answered in the gateway's words with %d, and charged nothing",
    async (model, httpStatus, code) => {
      // More than the server's own window, which is smaller than the one that is written for it.
      const content = model === 'llama/too-small' ? 'hello '.repeat(9_000) : 'Say hello.'
      const messages = [{ role: 'user', content }]
      const answer = await send('/v1/chat/completions', { model, messages, max_tokens: 24 })
      expect([answer.httpStatus, JSON.parse(answer.text).error.code]).toEqual([httpStatus, code])
      expect(answer.text).not.toMatch(/litellm|mock|llama|n_ctx/i)
      const row = await world.rowOf(answer.requestId)
      expect([row.state, row.backedChargeMicros, row.backedHeldMicros]).toEqual(['released', 0, 0])
    },
  )

  test('that is away is a 502 or 503, and nothing is charged', async () => {
    await servers.embeds.stop()
    const answer = await send('/v1/embeddings', { model: 'llama/tiny-embed', input: 'Say hello.' })
    expect([502, 503]).toContain(answer.httpStatus)
    const row = await world.rowOf(answer.requestId)
    expect([row.state, row.backedChargeMicros]).toEqual(['released', 0])
  })
})

test('after all of it the ledger is exact, and only the two estimates are not final', async () => {
  await world.gateway.settled()
  const { requests } = await listRequests(world.gateway.store.db, { accountId, limit: 100 })
  const waiting = requests.filter(({ state }) => state !== 'final' && state !== 'released')
  expect(waiting.map(({ state }) => state)).toEqual(['provisional', 'provisional'])
  expect((await world.audit()).ok).toBe(true)
})
