import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listRequests } from '../src/ledger/activity/activity.ts'
import { createPostgresDatabase } from '../src/store/testing/postgres.ts'
import { startSeveringProxy } from '../src/store/testing/severing-proxy.ts'
import { startSharingPooler } from '../src/store/testing/sharing-pooler.ts'
import type { TestDatabase } from '../src/store/testing/test-databases.ts'
import { startWorld, type World } from './world.ts'

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
  // Requests are sent until one is answered: a limit of the key would make the rest of a minute of them refusals.
  const settings = { DATABASE_URL: url, TOLLGATE_REQUESTS_PER_MINUTE: '1000000' }
  const world = await startWorld({ settings })
  worlds.push(world)
  return world
}

function send(world: World, apiKey: string): Promise<Response> {
  return world.send(apiKey, BODY)
}

function callsOf({ simulator }: World): number {
  return simulator.requests.filter(({ isInference }) => isInference).length
}

test('while the database is away requests get 503 and nothing is forwarded, and when it is back they run', async () => {
  const proxy = await startSeveringProxy(database.url)
  const world = await open(proxy.url)
  const { apiKey } = await world.account()
  const before = await send(world, apiKey)
  expect(before.status, await before.text()).toBe(200)
  const forwarded = callsOf(world)
  expect(forwarded).toBe(1)

  proxy.shut()
  const away = await Promise.all(Array.from({ length: 5 }, () => send(world, apiKey)))
  for (const answer of away) {
    expect(answer.status).toBe(503)
    expect(await answer.json()).toMatchObject({ error: { code: 'service_unavailable' } })
  }
  expect(callsOf(world)).toBe(forwarded)

  proxy.open()
  // The first may still share a connection that was refused.
  while ((await send(world, apiKey)).status !== 200) expect(callsOf(world)).toBe(forwarded)
  expect(callsOf(world)).toBe(forwarded + 1)
  await world.gateway.ledger.sure()
  const { requests } = await listRequests(world.gateway.store.reports, { limit: 10 })
  expect(requests).toHaveLength(2)
  expect(await world.audit()).toMatchObject({ ok: true })
  await worlds.pop()?.close()
  await proxy.close()
})

test('a gateway refuses to start behind a pooler whose connections share a session', async () => {
  const pooler = await startSharingPooler(database.url)
  await expect(open(pooler.url)).rejects.toThrow('is a pooler that gives each transaction another')
  await pooler.close()
})

test('a key that one of two gateways disables works on neither, and the other refuses it from memory after its next poll', async () => {
  const [one, other] = [await open(), await open()]
  const { apiKey } = await one.account()
  expect((await send(other, apiKey)).status).toBe(200)
  const keyStatus = async (): Promise<number> =>
    (await fetch(other.url('/v1/key'), { headers: { 'x-api-key': apiKey } })).status
  const [{ id } = { id: '' }] = await one.gateway.store.db
    .selectFrom('api_keys')
    .select('id')
    .execute()
  const forwarded = callsOf(other)
  await one.gateway.ledger.updateApiKey({ id, disabled: true })
  for (let calls = 0; calls < 3; calls++) {
    const refused = await send(other, apiKey)
    expect(refused.status).toBe(401)
    expect(await refused.json()).toMatchObject({ error: { code: 'api_key_disabled' } })
  }
  await expect.poll(keyStatus).toBe(401)
  expect((await send(other, apiKey)).status).toBe(401)
  expect(callsOf(other)).toBe(forwarded)
  await one.gateway.ledger.updateApiKey({ id, disabled: false })
  await expect.poll(keyStatus).toBe(200)
  expect((await send(other, apiKey)).status).toBe(200)
})

test('while another program locks the row of an account, its requests are refused, and those of other accounts are answered', async () => {
  const world = await open()
  const [stuck, other] = [await world.account(), await world.account()]
  const locking = new Client(database.url)
  await locking.connect()
  await locking.query('begin')
  await locking.query('select from accounts where id = $1 for update', [stuck.id])
  const refused = send(world, stuck.apiKey)
  // Ten one after another: each would wait for the row if a commit waited for it.
  for (let count = 0; count < 10; count++) {
    const answer = await send(world, other.apiKey)
    expect(answer.status, await answer.text()).toBe(200)
  }
  expect((await refused).status).toBe(503)
  const again = await send(world, stuck.apiKey)
  expect(await again.json()).toMatchObject({ error: { code: 'service_unavailable' } })
  await locking.end()
  while ((await send(world, stuck.apiKey)).status !== 200);
  await world.gateway.settled()
  expect(await world.audit()).toMatchObject({ ok: true })
})
