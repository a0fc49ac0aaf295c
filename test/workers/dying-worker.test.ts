import { afterEach, beforeEach, expect, test } from 'vitest'
import { createPostgresDatabase } from '../../src/store/testing/postgres.ts'
import { type CrashBench, openCrashBench } from '../crash/crash-bench.ts'
import type { ServeProcess } from '../tollgate-process.ts'
import { connectToEach, post, read, sumOf, type WorkerClients } from './worker-clients.ts'

const METRICS = 'metrics-token'
const CHAT = '{"model":"sim/open","max_tokens":16,"messages":[{"role":"user","content":"Hi"}]}'
const STREAM = CHAT.replace('{', '{"stream":true,')

let bench: CrashBench
let server: ServeProcess
let dying: WorkerClients
let other: WorkerClients

beforeEach(async () => {
  bench = await openCrashBench({ createDatabase: createPostgresDatabase })
  server = await bench.serve({ WORKERS: '2', METRICS_TOKEN: METRICS })
  ;[dying, other] = await connect()
})
afterEach(() => bench.close())

function connect(): Promise<[WorkerClients, WorkerClients]> {
  const { apiKeys, closing } = bench
  return connectToEach(server, { apiKey: apiKeys[0].text, clients: 2, closing })
}

test("a worker that is killed is replaced, another's streams go on, and its holds end as those of any dead instance", async () => {
  const apiKey = bench.apiKeys[0].text
  const { simulator } = bench
  simulator.script({ hold: { afterEvents: 2 }, times: 'always' })
  const streamsOf = ({ clients }: WorkerClients) =>
    clients.slice(0, 2).map((client) => post(client, { apiKey, body: STREAM }))
  const broken = Promise.allSettled(streamsOf(dying))
  const whole = streamsOf(other)
  await simulator.gate().arrived(4)

  process.kill(dying.pid, 'SIGKILL')
  expect((await broken).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  const ended = JSON.parse(await server.logged('worker ended'))
  expect(ended).toMatchObject({ workerPid: dying.pid, cause: 'it ended by SIGKILL' })
  simulator.gate().release()
  for (const { httpStatus, text } of await Promise.all(whole)) {
    expect([httpStatus, text.endsWith('data: [DONE]\n\n')]).toEqual([200, true])
  }
  simulator.reset()
  const again = (await connect()).map(({ pid }) => pid)
  expect(again).toContain(other.pid)
  expect(again).not.toContain(dying.pid)

  // The other worker, or the new one, has watched its heartbeat stand still for half a minute.
  const swept = JSON.parse(await server.logged('requests of a dead process were in flight'))
  expect(swept).toMatchObject({ swept: 2 })
  expect(again).toContain(swept.pid)
  const left = (await bench.requests()).filter(({ stream }) => stream)
  expect(left.filter((row) => row.swept).map(({ state }) => state)).toEqual([
    'unresolved',
    'unresolved',
  ])
  for (const { state } of left.filter((row) => !row.swept)) {
    expect(state).toMatch(/^(final|provisional)$/)
  }
  await bench.audit()
})

test('a worker that was stopped by hand ends its streams when its server stops too, a second later', async () => {
  const [client] = dying.clients
  const messages = [{ role: 'user', content: '{"events":60,"interval_ms":50}' }]
  const { statusCode, body } = await client.request({
    path: '/v1/chat/completions',
    method: 'POST',
    headers: { 'x-api-key': bench.apiKeys[0].text },
    body: JSON.stringify({ model: 'sim/paced', stream: true, messages }),
  })
  expect(statusCode).toBe(200)
  let text = ''
  let ended: ReturnType<typeof server.stop> | undefined
  for await (const piece of body) {
    if (text === '') process.kill(dying.pid, 'SIGTERM')
    text += String(piece)
    // After a second and a half of the stream.
    if (text.split('data: ').length > 30) ended ??= server.stop('SIGTERM')
  }
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
  expect(await ended).toEqual({ code: 0, signal: null })
})

test('while a worker is missing the server is not ready, and what the worker counted is not lost', async () => {
  const apiKey = bench.apiKeys[0].text
  const [client] = other.clients
  for (const { clients } of [dying, other]) await post(clients[0], { apiKey, body: CHAT })
  await expect.poll(counted).toBe(2)

  process.kill(dying.pid, 'SIGKILL')
  await readiness(503)
  await readiness(200)
  expect(await counted()).toBe(2)

  async function counted(): Promise<number> {
    const { text } = await read(client, { path: '/metrics', bearer: METRICS })
    return sumOf(text, 'tollgate_requests_total{endpoint="chat",model="sim/open"')
  }

  /** Asks until it is answered so. */
  async function readiness(httpStatus: number): Promise<void> {
    while ((await read(client, { path: '/readyz' })).httpStatus !== httpStatus);
  }
})
