import { afterEach, beforeEach, expect, test } from 'vitest'
import { getRequest, listRequests } from '../src/ledger/activity.ts'
import { createPostgresDatabase } from '../src/store/testing/postgres.ts'
import { startSeveringProxy } from '../src/store/testing/severing-proxy.ts'
import type { TestDatabase } from '../src/store/testing/test-databases.ts'
import { startWorld, type World } from './world.ts'

const FITTING = 50
const REQUESTS = 200
const KEYS = 25
const BODY = JSON.stringify({
  model: 'sim/text',
  max_tokens: 64,
  messages: [{ role: 'user', content: 'Say hello.' }],
})

let database: TestDatabase
let worlds: World[]

beforeEach(async () => {
  database = await createPostgresDatabase()
  worlds = []
})

afterEach(async () => {
  for (const world of worlds) await world.close()
  await database.remove()
})

async function open(url = database.url): Promise<World> {
  const world = await startWorld({ settings: { DATABASE_URL: url } })
  worlds.push(world)
  return world
}

function send(world: World, apiKey: string): Promise<Response> {
  return fetch(world.url('/v1/chat/completions'), {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: BODY,
  })
}

function callsOf({ simulator }: World): number {
  return simulator.requests.filter(({ path }) => path === '/v1/chat/completions').length
}

test('of 200 requests to two gateways at once on credit for exactly 50, 50 run and the balance is exact', async () => {
  const [one, two] = [await open(), await open()]
  const probe = await one.account()
  const probed = await send(one, probe.apiKey)
  await probed.text()
  const requestId = probed.headers.get('x-request-id') ?? ''
  const row = await getRequest(one.gateway.store.db, requestId)
  const creditMicros = (row?.backedGrantedMicros ?? 0) * FITTING
  expect(creditMicros).toBeGreaterThan(0)

  const account = await one.account({ creditMicros, apiKeys: KEYS })
  for (const { simulator } of worlds) simulator.script({ hold: 'beforeHeaders', times: 'always' })
  const answers = Array.from({ length: REQUESTS }, (_, place) =>
    send(place % 2 === 0 ? one : two, account.apiKeys[place % KEYS] ?? ''),
  )
  let refused = 0
  const allRefused = Promise.withResolvers<void>()
  for (const answer of answers) {
    void answer.then(({ status }) => {
      if (status === 402 && ++refused === REQUESTS - FITTING) allRefused.resolve()
    })
  }
  await allRefused.promise
  for (const { simulator } of worlds) simulator.gate().release()

  let charged = 0
  const statuses = new Map<number, number>()
  for (const answer of await Promise.all(answers)) {
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    await answer.text()
    if (answer.status === 200) charged += Number(answer.headers.get('x-service-cost'))
  }
  expect(Object.fromEntries(statuses)).toEqual({ 200: FITTING, 402: REQUESTS - FITTING })
  expect(await two.backedBalanceMicros(account.id)).toBe(creditMicros - charged)
  expect(await two.audit()).toMatchObject({ ok: true, differences: [] })
})

test('while the database is away requests get 503 and nothing is forwarded, and when it is back they run', async () => {
  const proxy = await startSeveringProxy(database.url)
  const world = await open(proxy.url)
  const { apiKey } = await world.account()
  const before = await send(world, apiKey)
  expect(before.status, await before.text()).toBe(200)
  const forwarded = callsOf(world)

  proxy.shut()
  const away = await Promise.all(Array.from({ length: 5 }, () => send(world, apiKey)))
  for (const answer of away) {
    expect(answer.status).toBe(503)
    expect(await answer.json()).toMatchObject({ error: { code: 'service_unavailable' } })
  }
  expect(callsOf(world)).toBe(forwarded)

  proxy.open()
  const after = await send(world, apiKey)
  expect(after.status, await after.text()).toBe(200)
  await world.gateway.ledger.sure()
  const { requests } = await listRequests(world.gateway.store.reports, { limit: 10 })
  expect(requests).toHaveLength(2)
  expect(await world.audit()).toMatchObject({ ok: true })
  await worlds.pop()?.close()
  await proxy.close()
})
