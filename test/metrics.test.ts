import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { connect, Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { Pool, request } from 'undici'
import { afterEach, expect, test } from 'vitest'
import { startWorld, type World } from './world.ts'

const METRICS_TOKEN = 'metrics-token-of-the-test'
const PROMPT = 'the-secret-of-the-prompt'

let world: World | null = null

afterEach(async () => {
  await world?.close()
  world = null
})

async function open(settings: Readonly<Record<string, string>>): Promise<World> {
  world = await startWorld({ settings })
  return world
}

/** A whole answer, byte for byte but for its time and its request id. */
async function rawAnswer(to: World, path: string): Promise<string> {
  const { port, hostname } = new URL(to.gateway.address)
  const socket = connect(Number(port), hostname)
  socket.write(
    `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer x\r\nconnection: close\r\n\r\n`,
  )
  const answer = await text(socket)
  return answer.replace(/^date: .*$/im, 'date').replace(/req_\w+/g, 'req')
}

async function read(address: string, headers: Readonly<Record<string, string>> = {}) {
  const { statusCode, headers: answered, body } = await request(address, { headers })
  return { httpStatus: statusCode, contentType: answered['content-type'], text: await body.text() }
}

async function send(to: World, apiKey: string, body: object = {}) {
  const messages = [{ role: 'user', content: PROMPT }]
  const answer = await to.chat(apiKey, { messages, ...body })
  await answer.text()
  return answer.status
}

test.each([{}, { METRICS_PORT: '0' }, { METRICS_PORT: '0', METRICS_TOKEN }])(
  'with %j the path is answered on the clients’ port like any unknown path',
  async (settings) => {
    const to = await open(settings)
    const answer = await rawAnswer(to, '/metrics')
    expect(answer).toMatch(/^HTTP\/1\.1 404 /)
    // The message names the path; both are of one length.
    expect(answer.replace('GET /metrics', 'GET /nothing')).toBe(await rawAnswer(to, '/nothing'))
  },
)

test('a connection that the system can give to neither port ends nothing', async () => {
  const listening: Server[] = []
  const note = (event: unknown): void => {
    const { server } = Object(event)
    if (server instanceof Server) listening.push(server)
  }
  const channel = 'tracing:net.server.listen:asyncStart'
  subscribe(channel, note)
  const to = await open({ METRICS_PORT: '0' })
  unsubscribe(channel, note)
  const addresses = [to.url('/v1/models'), to.gateway.metricsAddress ?? '']
  for (const address of addresses) {
    const port = Number(new URL(address).port)
    const server = listening.find((each) => Object(each.address()).port === port)
    // As Node does it when the system is out of files or of memory.
    expect(server?.emit('error', new Error('accept ENFILE'))).toBe(true)
  }
  for (const address of addresses) expect(await read(address)).toMatchObject({ httpStatus: 200 })
})

test('on the clients’ port metrics require the token', async () => {
  const to = await open({ METRICS_TOKEN })
  expect(to.gateway.metricsAddress).toBeNull()
  for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: METRICS_TOKEN }]) {
    const refused = await read(to.url('/metrics'), headers)
    expect(refused.httpStatus).toBe(401)
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'invalid_metrics_token' } })
  }
  const page = await read(to.url('/metrics'), { authorization: `Bearer ${METRICS_TOKEN}` })
  expect(page).toMatchObject({
    httpStatus: 200,
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
  })
  expect(page.text).toContain('tollgate_ready{check="store"} 1')
})

test('a separate port asks for the token only if one is set, and serves nothing else', async () => {
  const bare = await open({ METRICS_PORT: '0' })
  const address = bare.gateway.metricsAddress ?? ''
  expect(await read(address)).toMatchObject({
    httpStatus: 200,
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
  })
  expect((await read(new URL('/v1/models', address).href)).httpStatus).toBe(404)
  await bare.close()
  const guarded = await open({ METRICS_PORT: '0', METRICS_TOKEN })
  const guardedAddress = guarded.gateway.metricsAddress ?? ''
  expect((await read(guardedAddress)).httpStatus).toBe(401)
  const authorization = `Bearer ${METRICS_TOKEN}`
  expect((await read(guardedAddress, { authorization })).httpStatus).toBe(200)
})

test('metrics can be read until the last request has ended', async () => {
  const to = await open({ METRICS_PORT: '0' })
  const { apiKey } = await to.account()
  to.simulator.script({ hold: 'beforeHeaders' })
  const sent = send(to, apiKey)
  await to.simulator.gate().arrived()
  const closed = to.gateway.close()
  const page = await read(to.gateway.metricsAddress ?? '')
  expect(page.text).toContain('tollgate_requests_in_flight 1\n')
  expect(page.text).toContain('tollgate_ready{check="serving"} 0\n')
  to.simulator.gate().release()
  expect(await sent).toBe(200)
  await closed
})

test('the metrics count commits, refreshes, holds and reconciled requests', async () => {
  const to = await open({ METRICS_PORT: '0', TOLLGATE_LOOKUPS: 'all' })
  const { apiKey } = await to.account()
  await send(to, apiKey)
  await to.gateway.settled()
  const address = to.gateway.metricsAddress ?? ''
  const { text: page } = await read(address)
  expect(page).toMatch(/^tollgate_commit_commands_count [1-9]/m)
  expect(page).toContain('tollgate_commit_failures_total 0\n')
  expect(page).toMatch(/^tollgate_catalog_models [1-9]/m)
  expect(page).toContain('tollgate_holds{state="open"} 0\n')
  expect(page).toContain('tollgate_upstream_account_refused{upstream="openrouter"} 0\n')
  await expect
    .poll(async () => (await read(address)).text)
    .toContain('tollgate_reconciled_total{outcome="found"} 1\n')
  await to.gateway.refresher.refreshNow()
  expect((await read(address)).text).toContain(
    'tollgate_catalog_refreshes_total{outcome="refreshed",upstream="openrouter"} 2\n',
  )
})

test('hundreds of unknown model names make no new series, and none of them is on the page', async () => {
  const to = await open({ METRICS_PORT: '0', TOLLGATE_REQUESTS_PER_MINUTE: '1000000' })
  const { apiKey } = await to.account()
  await send(to, apiKey)
  await send(to, apiKey, { model: 'no/name-0' })
  await to.gateway.settled()
  const address = to.gateway.metricsAddress ?? ''
  const namesOf = (page: string) => page.split('\n').map((line) => line.replace(/ [^ ]*$/, ''))
  const before = namesOf((await read(address)).text).filter((name) => /^tollgate_/.test(name))

  const pool = new Pool(to.gateway.address, { connections: 6 })
  let next = 1
  const sender = async (): Promise<void> => {
    while (next <= 500) {
      const name = `no/name-${next++}`
      const { statusCode, body } = await pool.request({
        method: 'POST',
        path: '/v1/chat/completions',
        headers: { authorization: `Bearer ${apiKey}` },
        body: JSON.stringify({ model: name, messages: [] }),
      })
      expect(statusCode).toBe(404)
      await body.dump()
    }
  }
  await Promise.all(Array.from({ length: 6 }, sender))
  await pool.close()

  const { text: page } = await read(address)
  expect(page).toContain(
    'tollgate_requests_total{endpoint="chat",model="",status="4xx",state="none",upstream=""} 501\n',
  )
  const after = namesOf(page).filter((name) => /^tollgate_/.test(name))
  // Findings of the reconciler meanwhile are not about these requests.
  const ofRequests = (names: readonly string[]) =>
    names.filter((name) => !/^tollgate_reconciled|^tollgate_corrections/.test(name))
  expect(ofRequests(after)).toEqual(ofRequests(before))
  expect(page).not.toContain('no/name')
})

test('a model that leaves the catalog leaves the page, and neither prompts nor keys are ever on it', async () => {
  const to = await open({ METRICS_PORT: '0' })
  const { apiKey, id } = await to.account()
  await send(to, apiKey)
  await send(to, apiKey, { model: 'sim/open' })
  const address = to.gateway.metricsAddress ?? ''
  const { text: page } = await read(address)
  expect(page).toContain('model="sim/text"')
  expect(page).toContain('model="sim/open"')
  for (const secret of [PROMPT, apiKey, id, 'upstream-key']) expect(page).not.toContain(secret)

  const row = to.simulator.catalog.find('sim/text')
  to.simulator.catalog.replace(row === null ? [] : [row])
  await to.gateway.refresher.refreshNow()
  const { text: later } = await read(address)
  expect(later).toContain('model="sim/text"')
  expect(later).not.toContain('sim/open')
})
