import { once } from 'node:events'
import { renameSync } from 'node:fs'
import { createServer } from 'node:http'
import { request } from 'undici'
import { afterEach, expect, test } from 'vitest'
import { createHealth } from '../src/http/health.ts'
import { createPostgresDatabase } from '../src/store/testing/postgres.ts'
import { startSeveringProxy } from '../src/store/testing/severing-proxy.ts'
import { createIdSource } from '../src/vocabulary/ids.ts'
import { listen } from '../src/vocabulary/testing/listen.ts'
import { readReadiness, sendChat } from './readiness.ts'
import { startWorld, type TestAccount, type World } from './world.ts'

let world: World | null = null

afterEach(async () => {
  await world?.close()
  world = null
})

async function ask(to: World, path: string) {
  const { statusCode, body } = await request(to.url(path))
  return { httpStatus: statusCode, json: await body.json() }
}

/** The checks that fail by now, by name; with the status that says whether any does. */
async function readiness(to: World): Promise<{ httpStatus: number; failing: string[] }> {
  const { httpStatus, checks } = await readReadiness(to)
  return { httpStatus, failing: checks.filter(({ ok }) => !ok).map(({ name }) => name) }
}

const READY = { httpStatus: 200, failing: [] }

test('a gateway that serves is alive and ready, for every client and method', async () => {
  world = await startWorld()
  expect(await ask(world, '/healthz')).toEqual({
    httpStatus: 200,
    json: { object: 'health', alive: true },
  })
  expect(await readiness(world)).toEqual(READY)
  expect((await ask(world, '/readyz?verbose=1')).httpStatus).toBe(200)
  const head = await request(world.url('/readyz'), { method: 'HEAD' })
  expect([head.statusCode, await head.body.text()]).toEqual([200, ''])
  for (const path of ['/readyz/', '/healthzz']) {
    expect((await ask(world, path)).httpStatus).toBe(404)
  }
  const posted = await request(world.url('/readyz'), { method: 'POST' })
  expect(posted.statusCode).toBe(404)
  await posted.body.dump()
})

test('from the first moment of stopping it is alive and not ready, while requests go on', async () => {
  world = await startWorld()
  const { apiKey } = await world.account()
  world.simulator.script({ hold: { afterEvents: 1 } })
  const stream = await sendChat(world, { apiKey, stream: true })
  await once(stream.body, 'readable')
  const closed = world.gateway.close()
  expect(await readiness(world)).toEqual({ httpStatus: 503, failing: ['serving'] })
  expect((await ask(world, '/healthz')).httpStatus).toBe(200)
  world.simulator.gate().release()
  expect(await stream.body.text()).toMatch(/data: \[DONE\]\n\n$/)
  await closed
})

test('while the database is down the gateway is not ready, and it is ready as soon as the database answers', async () => {
  const database = await createPostgresDatabase()
  const proxy = await startSeveringProxy(database.url)
  world = await startWorld({ settings: { DATABASE_URL: proxy.url } })
  const { apiKey } = await world.account()
  expect(await readiness(world)).toEqual(READY)
  proxy.shut()
  const refused = await sendChat(world, { apiKey })
  expect(refused.statusCode).toBe(503)
  await refused.body.dump()
  expect(await readiness(world)).toEqual({ httpStatus: 503, failing: ['store'] })
  proxy.open()
  await expect.poll(() => readiness(world as World)).toEqual(READY)
  await world.close()
  world = null
  await proxy.close()
  await database.remove()
})

test('a store whose file was removed makes it unready, with the reason and without a path', async () => {
  world = await startWorld()
  const { apiKey } = await world.account()
  const file = world.gateway.store.location
  if (file.kind !== 'sqlite') throw new Error('this world has SQLite')
  renameSync(file.file, `${file.file}.away`)
  const refused = await sendChat(world, { apiKey })
  expect(refused.statusCode).toBe(503)
  await refused.body.dump()
  const { httpStatus, checks } = await readReadiness(world)
  expect(httpStatus).toBe(503)
  const message = checks.find(({ name }) => name === 'store')?.message
  expect(message).toContain('its file was removed or replaced')
  expect(message).not.toContain('/')
  expect(await world.logged('is not the file that this server opened')).toContain(file.file)
  renameSync(`${file.file}.away`, file.file)
  await expect.poll(() => readiness(world as World)).toEqual(READY)
})

test.each([401, 402])(
  'a provider that answers %i makes it unready until one request runs, and the answer gives no details',
  async (status) => {
    world = await startWorld()
    const { apiKey } = await world.account()
    world.simulator.script({ status })
    const refused = await sendChat(world, { apiKey })
    expect(refused.statusCode).toBe(503)
    await refused.body.dump()
    expect(await readiness(world)).toEqual({ httpStatus: 503, failing: ['upstream_account'] })
    expect(JSON.stringify(await ask(world, '/readyz'))).not.toMatch(/upstream-key|\b40[12]\b/)
    const said = world.log.filter((line) => line.includes('the provider refuses the gateway'))
    expect(said.map((line) => JSON.parse(line).level)).toEqual([50])
    await (await sendChat(world, { apiKey })).body.dump()
    expect(await readiness(world)).toEqual(READY)
  },
)

test('a firewall of the vendor that blocks the prompts of one account leaves it ready', async () => {
  world = await startWorld({ vendor: 'openai' })
  const accounts = [await world.account(), await world.account()]
  world.simulator.script({ status: 403, errorBody: 'html', times: 'always' })
  const send = async ({ apiKey }: { apiKey: string }) => {
    const refused = await sendChat(world as World, { apiKey })
    await refused.body.dump()
    return refused.statusCode
  }
  const [one, another] = accounts as [TestAccount, TestAccount]
  expect([await send(one), await send(one), await send(one)]).toEqual([503, 503, 503])
  expect(await readiness(world)).toEqual(READY)
  // Then it is more likely to be about the gateway.
  expect(await send(another)).toBe(503)
  expect(await readiness(world)).toEqual({ httpStatus: 503, failing: ['upstream_account'] })
})

test('prices past their age make it unready', async () => {
  let aheadMs = 0
  world = await startWorld({ clock: { nowMs: () => Date.now() + aheadMs } })
  world.simulator.script({ path: '/models', status: 500 })
  aheadMs = 3_600_001
  // The time has leapt for the heartbeat too.
  expect((await readiness(world)).failing).toContain('prices')
  aheadMs = 0
  expect(await readiness(world)).toEqual(READY)
})

test('an answer is given within the same call, so that no store can delay it', async () => {
  const health = createHealth({
    ids: createIdSource({ clock: { nowMs: () => 0 }, fillRandom: (bytes) => bytes.fill(1) }),
    readiness: () => [{ name: 'store', fault: 'It is away.' }],
  })
  const ended: boolean[] = []
  const server = createServer((asked, client) => {
    expect(health.serve(asked, client)).toBe(true)
    ended.push(client.writableEnded)
  })
  const port = await listen(server)
  const { statusCode, headers, body } = await request(`http://127.0.0.1:${port}/readyz`)
  expect(statusCode).toBe(503)
  expect(headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'application/json' })
  expect(await body.json()).toEqual({
    object: 'readiness',
    ready: false,
    checks: [{ name: 'store', ok: false, message: 'It is away.' }],
  })
  expect(ended).toEqual([true])
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

test('a proxy that is not configured is one warning in the log, and a check that does not fail', async () => {
  world = await startWorld()
  const through = (address: string) =>
    request(world?.url('/v1/key') ?? '', {
      headers: { 'x-forwarded-for': address, authorization: 'Bearer sk-tollgate-unknown' },
    }).then(({ body }) => body.dump())
  for (const address of ['198.51.100.9', '198.51.100.10']) await through(address)
  const warning =
    '127.0.0.1 sends x-forwarded-for and is not in TOLLGATE_TRUSTED_PROXIES: all its clients count as one'
  expect(world.log.filter((line) => JSON.parse(line).msg === warning)).toHaveLength(1)
  const { httpStatus, checks } = await readReadiness(world)
  expect(httpStatus).toBe(200)
  const check = checks.find(({ name }) => name === 'proxies')
  expect(check).toMatchObject({ ok: true, message: expect.stringContaining('count as one') })
  expect(check?.message).not.toContain('127.0.0.1')
})

test.each([
  [402, "the provider's account has no credit left"],
  [403, 'the provider does not allow this key'],
])(
  'a usage of the key that is answered %d is reported by the log and readiness, with the reason',
  async (status, why) => {
    world = await startWorld()
    world.simulator.script({ path: '/key', status, times: 'always' })
    await world.gateway.refresher.refreshNow()
    expect(await world.logged('the provider refuses the gateway')).toContain(why)
    const { httpStatus, checks } = await readReadiness(world)
    expect(httpStatus).toBe(503)
    expect(checks.find(({ name }) => name === 'upstream_account')?.message).toContain(why)
  },
)
