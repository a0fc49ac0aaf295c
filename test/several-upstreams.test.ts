import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Simulator, startSimulator } from '../simulator/simulator.ts'
import { listRequests } from '../src/ledger/activity/activity.ts'
import type { RequestRow } from '../src/store/schema.ts'
import { PATIENT_TIMEOUTS, upstreamSettings } from '../src/upstreams/testing/upstream-settings.ts'
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

const HELLO = { role: 'user', content: 'Say hello.' }

async function chat(to: World, { apiKey, model }: { apiKey: string; model: string }) {
  const answer = await to.send(apiKey, { model, messages: [HELLO], max_tokens: 16 })
  return { httpStatus: answer.status, headers: answer.headers, body: await answer.text() }
}

/** The model and upstream of each request, the newest first. */
async function sent(to: World): Promise<string[]> {
  const { requests } = await listRequests(to.gateway.store.db, { limit: 10 })
  return requests.map(({ modelId, upstream }) => `${modelId} at ${upstream}`)
}

describe('several upstreams', () => {
  test('each run their own models, and list each ID once', async () => {
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

  test('with one that hangs from the start serve the models of the others', async () => {
    const hanging = upstreamSettings({ name: 'hanging', baseUrl: silent.baseUrl })
    const to = await start({}, hanging)
    const { apiKey } = await to.account()
    expect((await chat(to, { apiKey, model: 'sim/text' })).httpStatus).toBe(200)
    expect((await fetch(to.url('/readyz'))).status).toBe(200)
  })

  test('with one that is unreachable serve the models of the others, and the log names it', async () => {
    const away = upstreamSettings({ name: 'away', baseUrl: 'http://127.0.0.1:9/v1' })
    const to = await start({}, away)
    const { apiKey } = await to.account()
    expect((await chat(to, { apiKey, model: 'sim/text' })).httpStatus).toBe(200)
    expect(await to.logged('could not be refreshed')).toContain('"upstream":"away"')
  })

  test('with one that refuses its key serve the models of the others, and the log names it', async () => {
    other.script({ path: '/models', status: 401, times: 'always' })
    const refusing = upstreamSettings({ name: 'refusing', baseUrl: other.baseUrl })
    const to = await start({}, refusing)
    const { apiKey } = await to.account()
    expect((await chat(to, { apiKey, model: 'sim/text' })).httpStatus).toBe(200)
    expect(await to.logged('could not be refreshed')).toContain('"upstream":"refusing"')
  })
})

describe('of two upstreams, while one', () => {
  /** A gateway on the simulator, and on `second`, which alone has `sim/cached`. */
  function startTwo(settings: Partial<UpstreamSettings> = {}): Promise<World> {
    const { baseUrl } = other
    const second = { name: 'second', baseUrl, only: ['sim/cached'], ...settings }
    return start({ except: ['sim/cached'] }, upstreamSettings(second))
  }

  /** Fails unless the first upstream answers, and the gateway is ready. */
  async function expectOthersServe(to: World, apiKey: string): Promise<void> {
    expect((await chat(to, { apiKey, model: 'sim/text' })).httpStatus).toBe(200)
    expect((await fetch(to.url('/readyz'))).status).toBe(200)
  }

  async function latest(to: World): Promise<RequestRow | undefined> {
    await to.gateway.settled()
    return (await listRequests(to.gateway.store.db, { limit: 1 })).requests[0]
  }

  test('dies in the middle of the run, its requests fail and cost nothing, until it is back', async () => {
    const to = await startTwo()
    const { apiKey } = await to.account()
    expect((await chat(to, { apiKey, model: 'sim/cached' })).httpStatus).toBe(200)
    await other.refuseConnections()
    const failed = await chat(to, { apiKey, model: 'sim/cached' })
    expect(failed.httpStatus).toBe(502)
    expect(JSON.parse(failed.body)).toMatchObject({ error: { code: 'upstream_error' } })
    expect(failed.body).not.toContain('second')
    const row = await latest(to)
    expect(row).toMatchObject({ upstream: 'second', state: 'released', backedChargeMicros: 0 })
    expect(await to.logged(row?.id ?? '')).toContain('"upstream":"second"')
    await to.gateway.refresher.refreshNow()
    expect(await to.logged('could not be refreshed')).toContain('"upstream":"second"')
    await expectOthersServe(to, apiKey)
    await other.acceptConnections()
    expect((await chat(to, { apiKey, model: 'sim/cached' })).httpStatus).toBe(200)
    await to.gateway.settled()
    expect((await to.audit()).ok).toBe(true)
  })

  test('hangs in the middle of the run, its request ends at its own deadline, unresolved', async () => {
    const timeouts = { ...PATIENT_TIMEOUTS, headersTimeoutMs: 300 }
    const to = await startTwo({ timeouts })
    const { apiKey } = await to.account()
    other.script({ path: '/chat/completions', stall: 'beforeHeaders' })
    const hanging = chat(to, { apiKey, model: 'sim/cached' })
    await other.nextRequest()
    await expectOthersServe(to, apiKey)
    const failed = await hanging
    expect(failed.httpStatus).toBe(504)
    expect(JSON.parse(failed.body)).toMatchObject({ error: { code: 'upstream_timeout' } })
    expect(await to.logged('upstream_timeout')).toContain('"upstream":"second"')
    await to.gateway.settled()
    const { requests } = await listRequests(to.gateway.store.db, { limit: 10 })
    const row = requests.find(({ upstream }) => upstream === 'second')
    expect(row).toMatchObject({ state: 'unresolved', backedChargeMicros: 0 })
    expect((await to.audit()).ok).toBe(true)
  })

  test('refuses its key, its clients get 503 and the log names it, until it accepts the key again', async () => {
    const to = await startTwo()
    const { apiKey } = await to.account()
    other.script({ path: '/chat/completions', status: 401 })
    const refused = await chat(to, { apiKey, model: 'sim/cached' })
    expect(refused.httpStatus).toBe(503)
    expect(JSON.parse(refused.body)).toMatchObject({ error: { code: 'service_unavailable' } })
    expect(refused.body).not.toContain('"second"')
    const line = await to.logged('the provider refuses the gateway')
    expect(line).toContain('"upstream":"second"')
    expect(line).toContain('"level":50')
    await expectOthersServe(to, apiKey)
    expect((await chat(to, { apiKey, model: 'sim/cached' })).httpStatus).toBe(200)
    expect(await to.logged('accepts the gateway again')).toContain('"upstream":"second"')
  })

  test('does not know its key, the log says so at the start, although its list of models is public', async () => {
    const to = await startTwo({ apiKey: 'sk-bad' })
    const line = await to.logged('the provider refuses the gateway')
    expect(line).toContain('"upstream":"second"')
    expect(line).toContain('"asker":"key"')
    await expectOthersServe(to, (await to.account()).apiKey)
  })

  test('lists no prices, the log has the lines to write', async () => {
    const unpriced = await startSimulator({ vendor: 'openai-compatible' })
    try {
      const { baseUrl } = unpriced
      const own = { name: 'own', dialect: 'openai-compatible', baseUrl, apiKey: null }
      const to = await start({}, upstreamSettings(own))
      const line = await to.logged('could not be refreshed')
      expect(line).toContain('"upstream":"own"')
      expect(line).toMatch(/lists \d+ models and no prices\. Write the models to offer/)
      expect(line).toContain('prices: { input: 0.05, output: 0.20 }')
      await expectOthersServe(to, (await to.account()).apiKey)
    } finally {
      await unpriced.close()
    }
  })

  test("begins to list another's ID at a refresh, requests stay at the earlier upstream", async () => {
    const { rows } = other.catalog
    other.catalog.replace(rows.filter(({ id }) => id !== 'sim/text'))
    const second = upstreamSettings({ name: 'second', baseUrl: other.baseUrl })
    world = await startWorld({
      configured: (usual) => ({ ...usual, upstreams: [second, usual.upstreams[0]] }),
    })
    const { apiKey } = await world.account()
    await chat(world, { apiKey, model: 'sim/text' })
    other.catalog.replace(rows)
    const { models } = await refreshed(world)
    await chat(world, { apiKey, model: 'sim/text' })
    expect(await sent(world)).toEqual(['sim/text at openrouter', 'sim/text at openrouter'])
    expect(models).toBe((await refreshed(world)).models)
    const shadowing = world.log.filter((line) => line.includes('are shadowed'))
    const ofSecond = shadowing.filter((line) => line.includes('"upstream":"second"'))
    expect(ofSecond).toHaveLength(1)
    expect(ofSecond[0]).toContain('"shadowed":1,"first":["sim/text"]')
  })

  async function refreshed({ gateway }: World): Promise<{ readonly models: number }> {
    const outcome = await gateway.refresher.refreshNow()
    if (outcome.kind === 'failed') throw new Error('no upstream could be refreshed')
    return outcome
  }

  test('fails at a refresh by an admin, the answer names it, and the other is refreshed', async () => {
    const to = await startTwo()
    other.script({ path: '/models', status: 500 })
    const outcome = await to.gateway.refresher.refreshNow()
    const why = 'the upstream answers 500 to its list of models'
    expect(outcome).toMatchObject({ kind: 'refreshed', failed: [{ upstream: 'second', why }] })
  })
})

describe('an upstream with a limit of calls', () => {
  test('refuses a call that waited too long, before anything is held for it', async () => {
    const to = await start({
      inFlightMax: 1,
      timeouts: { ...PATIENT_TIMEOUTS, queueTimeoutMs: 50 },
    })
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
    // On a busy machine the 50 ms of the next one may pass before its place is seen to be free.
    const next = async () => (await chat(to, { apiKey, model: 'sim/text' })).httpStatus
    await expect.poll(next).toBe(200)
  })

  test('frees a place as soon as an answer is complete, although its connection stays open', async () => {
    // The next one waits for the place however long that takes, and would hang without it.
    const to = await start({ inFlightMax: 1, timeouts: PATIENT_TIMEOUTS })
    const { apiKey } = await to.account()
    const body = { model: 'sim/text', stream: true, max_tokens: 16, messages: [HELLO] }
    const ask = (): Promise<Response> => to.send(apiKey, body)
    const events = (await (await ask()).text()).split('data: ').length - 1
    to.simulator.script({ stall: { afterEvents: events } })
    const stalled = await ask()
    let seen = ''
    for await (const piece of stalled.body ?? []) {
      seen += Buffer.from(piece).toString()
      if (!seen.includes('[DONE]')) continue
      expect((await chat(to, { apiKey, model: 'sim/text' })).httpStatus).toBe(200)
      const [, held] = to.simulator.requests.filter(({ isInference }) => isInference)
      expect(held?.ending).toBeNull()
      break
    }
    expect(seen).toContain('[DONE]')
  })
})
