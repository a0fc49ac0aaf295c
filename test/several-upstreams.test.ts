import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Simulator, startSimulator } from '../simulator/simulator.ts'
import { listRequests } from '../src/ledger/activity/activity.ts'
import { upstreamSettings } from '../src/upstreams/testing/upstream-settings.ts'
import type { UpstreamSettings } from '../src/upstreams/upstream-settings.ts'
import { type RawServer, startRawServer } from './raw-server.ts'
import { startWorld, type World } from './world.ts'

let other: Simulator
let silent: RawServer
let world: World | null

beforeEach(async () => {
  other = await startSimulator()
  // Takes connections and never answers.
  silent = await startRawServer(() => {})
  world = null
})
afterEach(async () => {
  await world?.close()
  await silent.close()
  await other.close()
})

/** A gateway on the simulator, and on these upstreams after it. */
async function start(
  first: Partial<UpstreamSettings>,
  ...others: readonly UpstreamSettings[]
): Promise<World> {
  world = await startWorld({
    configured: (usual) => ({
      ...usual,
      upstreams: [{ ...usual.upstreams[0], ...first }, ...others],
    }),
  })
  return world
}

async function chat(to: World, { apiKey, model }: { apiKey: string; model: string }) {
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const answer = await fetch(to.url('/v1/chat/completions'), {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages, max_tokens: 16 }),
  })
  return { httpStatus: answer.status, headers: answer.headers, body: await answer.text() }
}

/** The model and upstream of each request, the newest first. */
async function sent(to: World): Promise<string[]> {
  const { requests } = await listRequests(to.gateway.store.db, { limit: 10 })
  return requests.map(({ modelId, upstream }) => `${modelId} at ${upstream}`)
}

describe('several upstreams', () => {
  test('each run the models that are theirs, and list each id once', async () => {
    const second = upstreamSettings({ name: 'second', baseUrl: other.baseUrl })
    const to = await start({ except: ['sim/text'] }, second)
    const { apiKey } = await to.account()
    expect((await chat(to, { apiKey, model: 'sim/text' })).httpStatus).toBe(200)
    expect((await chat(to, { apiKey, model: 'sim/cached' })).httpStatus).toBe(200)
    expect(await sent(to)).toEqual(['sim/cached at openrouter', 'sim/text at second'])
    const ids = [
      ...(await (await fetch(to.url('/v1/models'))).text()).matchAll(/"id":"([^"]+)"/g),
    ].map(([, modelId]) => modelId)
    expect(ids).toContain('sim/text')
    expect(new Set(ids).size).toBe(ids.length)
    expect(await to.logged('are shadowed')).toContain('"upstream":"second"')
    await to.gateway.settled()
    expect((await to.audit()).ok).toBe(true)
  })

  test('of which one hangs from the start serve the models of the others', async () => {
    const hanging = upstreamSettings({ name: 'hanging', baseUrl: silent.baseUrl })
    const to = await start({}, hanging)
    const { apiKey } = await to.account()
    expect((await chat(to, { apiKey, model: 'sim/text' })).httpStatus).toBe(200)
    expect((await fetch(to.url('/readyz'))).status).toBe(200)
  })

  test('of which one is away serve the models of the others, and the log names it', async () => {
    const away = upstreamSettings({ name: 'away', baseUrl: 'http://127.0.0.1:9/v1' })
    const to = await start({}, away)
    const { apiKey } = await to.account()
    expect((await chat(to, { apiKey, model: 'sim/text' })).httpStatus).toBe(200)
    expect(await to.logged('could not be refreshed')).toContain('"upstream":"away"')
  })

  test('of which one refuses its key serve the models of the others, and the log names it', async () => {
    other.script({ path: '/models', status: 401, times: 'always' })
    const refusing = upstreamSettings({ name: 'refusing', baseUrl: other.baseUrl })
    const to = await start({}, refusing)
    const { apiKey } = await to.account()
    expect((await chat(to, { apiKey, model: 'sim/text' })).httpStatus).toBe(200)
    expect(await to.logged('could not be refreshed')).toContain('"upstream":"refusing"')
  })
})

describe('an upstream with a limit of calls', () => {
  test('refuses a call that waited too long, before anything is held for it', async () => {
    const { timeouts } = upstreamSettings({ baseUrl: other.baseUrl })
    const to = await start({ inFlightMax: 1, timeouts: { ...timeouts, queueTimeoutMs: 50 } })
    const { apiKey } = await to.account()
    to.simulator.script({ path: '/chat/completions', hold: 'beforeHeaders' })
    const first = chat(to, { apiKey, model: 'sim/text' })
    await to.simulator.nextRequest()
    const second = await chat(to, { apiKey, model: 'sim/text' })
    expect(second.httpStatus).toBe(503)
    expect(second.headers.get('retry-after')).toBe('1')
    expect(await sent(to)).toHaveLength(1)
    to.simulator.gate().release()
    expect((await first).httpStatus).toBe(200)
    expect((await chat(to, { apiKey, model: 'sim/text' })).httpStatus).toBe(200)
  })
})
