import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OwnTime } from '../src/store/testing/own-time.ts'
import {
  type PostgresServer,
  type StandbyServer,
  startPostgresServer,
} from '../src/store/testing/postgres-server.ts'
import { startSeveringProxy } from '../src/store/testing/severing-proxy.ts'
import { readReadiness, sendChat } from './readiness.ts'
import { startWorld, type World } from './world.ts'

/** The most that a refused client waits, and the most until requests are served again. */
const REFUSED_MS_MAX = 8_000
const SERVED_MS_MAX = 6_000

const STREAMS = 10

let primary: PostgresServer
let standby: StandbyServer
let ownTime: OwnTime

beforeAll(async () => {
  ownTime = new OwnTime()
  primary = await startPostgresServer({ settings: ['max_connections=60', 'fsync=off'] })
  standby = await primary.standby('s1')
})

afterAll(async () => {
  ownTime.close()
  await standby.stop()
  await primary.stop()
})

async function chat(world: World, sent: Parameters<typeof sendChat>[1]) {
  const startedAtMs = ownTime.nowMs()
  const answer = await sendChat(world, sent)
  return { ...answer, waitedMs: ownTime.nowMs() - startedAtMs }
}

/** The status of readiness, and what its check of the store says. */
async function readiness(world: World) {
  const { httpStatus, checks } = await readReadiness(world)
  return { httpStatus, message: checks.find(({ name }) => name === 'store')?.message }
}

test('a gateway that connects to a standby answers 503 and is not ready, and then serves again and charges each stream', async () => {
  const proxy = await startSeveringProxy(primary.url('postgres'))
  // Requests are sent until one is answered: a limit of the key would make the rest of a minute of them refusals.
  const settings = { DATABASE_URL: proxy.url, TOLLGATE_REQUESTS_PER_MINUTE: '1000000' }
  const world = await startWorld({ settings })
  // A key has eight requests in flight at most.
  const keys = await Promise.all(Array.from({ length: STREAMS }, () => world.account()))
  world.simulator.script({ hold: { afterEvents: 1 }, times: STREAMS })
  const streams = await Promise.all(keys.map(({ apiKey }) => chat(world, { apiKey, stream: true })))
  await Promise.all(streams.map(({ body }) => once(body, 'readable')))
  const streamIds = streams.map(({ headers }) => String(headers['x-request-id']))
  const [{ apiKey } = { apiKey: '' }] = keys

  proxy.to(standby.url('postgres'))
  // The first may still be sent on the connection that was cut.
  for (let count = 0; count < 3; count++) {
    const refused = await chat(world, { apiKey })
    expect(refused.statusCode).toBe(503)
    expect(refused.waitedMs).toBeLessThan(REFUSED_MS_MAX)
    await refused.body.dump()
  }
  expect(await readiness(world)).toMatchObject({
    httpStatus: 503,
    message: expect.stringMatching(/^The store takes no writes: \S+ is read-only/),
  })
  world.simulator.gate().release()
  for (const { body } of streams) expect(await body.text()).toMatch(/data: \[DONE\]\n\n$/)

  proxy.to(primary.url('postgres'))
  const backAtMs = ownTime.nowMs()
  await expect.poll(() => chat(world, { apiKey })).toMatchObject({ statusCode: 200 })
  expect(ownTime.nowMs() - backAtMs).toBeLessThan(SERVED_MS_MAX)
  expect(await readiness(world)).toMatchObject({ httpStatus: 200 })
  await world.gateway.settled()
  const charged = await world.gateway.store.db
    .selectFrom('all_requests')
    .select('id')
    .where('id', 'in', streamIds)
    .where('state', 'in', ['provisional', 'final'])
    .where(({ eb }) => eb(eb('backed_charge_micros', '+', eb.ref('free_charge_micros')), '>', 0))
    .execute()
  expect(charged).toHaveLength(STREAMS)
  expect(await world.audit()).toMatchObject({ ok: true })
  await world.close()
  await proxy.close()
})
