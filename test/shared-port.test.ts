import { Client } from 'undici'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createPostgresDatabase } from '../src/store/testing/postgres.ts'
import { type CrashBench, openCrashBench } from './crash/crash-bench.ts'
import type { ServeProcess } from './tollgate-process.ts'

const CHAT = '{"model":"sim/text","max_tokens":16,"messages":[{"role":"user","content":"Hi"}]}'
const STREAM = CHAT.replace('{', '{"stream":true,')

let bench: CrashBench
let servers: readonly [ServeProcess, ServeProcess]

beforeEach(async () => {
  bench = await openCrashBench({ createDatabase: createPostgresDatabase })
  const first = await serveOn('0')
  servers = [first, await serveOn(new URL(first.address).port)]
})
afterEach(() => bench.close())

function serveOn(PORT: string): Promise<ServeProcess> {
  return bench.serve({ PORT, METRICS_PORT: '0', TOLLGATE_REUSE_PORT: 'on' })
}

/** A new connection, which the system gives to one of the processes. */
function connection(): Client {
  const client = new Client(servers[0].address, { pipelining: 1 })
  bench.closing.defer(() => client.destroy())
  return client
}

async function post(client: Client, body = CHAT) {
  const headers = { 'x-api-key': bench.apiKeys[0].text }
  const answer = await client.request({
    path: '/v1/chat/completions',
    method: 'POST',
    headers,
    body,
  })
  return { httpStatus: answer.statusCode, text: await answer.body.text() }
}

/** Sends requests on new connections until so many instances have answered some. */
async function answeredBy(instances: number): Promise<ReadonlySet<string>> {
  for (;;) {
    expect((await post(connection())).httpStatus).toBe(200)
    const ids = new Set((await bench.requests()).map(({ instanceId }) => instanceId))
    if (ids.size >= instances) return ids
  }
}

/** The answer of a process on its own metrics port. */
async function ownPage(server: ServeProcess, path: string) {
  const { metricsAddress } = JSON.parse(await server.logged('metrics are served'))
  const answer = await fetch(new URL(path, metricsAddress))
  return { httpStatus: answer.status, text: await answer.text() }
}

/** How many requests the metrics of a process have counted. */
async function counted(server: ServeProcess): Promise<number> {
  const { text } = await ownPage(server, '/metrics')
  const counts = text.matchAll(/^tollgate_requests_total\{.*\} (\d+)$/gm)
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}

test('two processes on one port both answer, and each has its own metrics and probes', async () => {
  expect(servers[1].address).toBe(servers[0].address)
  await answeredBy(2)
  await bench.until((rows) => rows.every(({ state }) => state !== 'open'))
  const counts = [await counted(servers[0]), await counted(servers[1])]
  expect(Math.min(...counts)).toBeGreaterThan(0)
  expect((counts[0] ?? 0) + (counts[1] ?? 0)).toBe((await bench.requests()).length)
  for (const server of servers) {
    const ready = await ownPage(server, '/readyz')
    expect([ready.httpStatus, JSON.parse(ready.text)]).toMatchObject([200, { ready: true }])
    expect((await ownPage(server, '/healthz')).httpStatus).toBe(200)
  }
  await bench.audit()
})

test('a process that is stopped ends its streams, and the other answers alone', async () => {
  const { simulator } = bench
  await answeredBy(2)
  simulator.script({ hold: { afterEvents: 2 }, times: 'always' })
  // Streams on both processes, held by the provider: the streams of the one that stops are among them.
  const streams = Array.from({ length: 8 }, () => post(connection(), STREAM))
  await simulator.gate().arrived(8)
  const [stopping, staying] = servers
  const ended = stopping.stop('SIGTERM')
  await stopping.logged('"msg":"stopping')
  simulator.gate().release()
  for (const { httpStatus, text } of await Promise.all(streams)) {
    expect([httpStatus, text.endsWith('data: [DONE]\n\n')]).toEqual([200, true])
  }
  expect(await ended).toEqual({ code: 0, signal: null })
  simulator.reset()
  const before = await counted(staying)
  for (let count = 0; count < 5; count++) expect((await post(connection())).httpStatus).toBe(200)
  expect(await counted(staying)).toBe(before + 5)
  await bench.audit()
})

test('a process that does not share its port cannot take a port that others share', async () => {
  const { port } = new URL(servers[0].address)
  await expect(bench.serve({ PORT: port })).rejects.toThrow(`port ${port} of 127.0.0.1 is taken`)
  expect((await post(connection())).httpStatus).toBe(200)
})
