import { once } from 'node:events'
import { connect } from 'node:net'
import { Client } from 'undici'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createPostgresDatabase } from '../../src/store/testing/postgres.ts'
import { type CrashBench, openCrashBench } from '../crash/crash-bench.ts'
import { isRunning, type ServeProcess } from '../tollgate-process.ts'
import {
  connectToEach,
  post,
  read,
  sumOf,
  type WholeAnswer,
  type WorkerClients,
} from './worker-clients.ts'

const METRICS = 'metrics-token'
const MIB = 1024 * 1024
const BUFFER_BYTES_MAX = 64 * MIB
const IN_FLIGHT_MAX = 8
const PER_MINUTE_MAX = 300
const CHAT = '{"model":"sim/open","max_tokens":16,"messages":[{"role":"user","content":"Hi"}]}'
const STREAM = CHAT.replace('{', '{"stream":true,')

let bench: CrashBench
let server: ServeProcess

beforeEach(async () => {
  bench = await openCrashBench({ createDatabase: createPostgresDatabase, apiKeys: 2 })
  server = await bench.serve({
    WORKERS: '2',
    METRICS_PORT: '0',
    METRICS_TOKEN: METRICS,
    TOLLGATE_BUFFER_BYTES_MAX: String(BUFFER_BYTES_MAX),
    TOLLGATE_REQUESTS_PER_MINUTE: String(PER_MINUTE_MAX),
  })
})
afterEach(() => bench.close())

/** Two keys: the first finds the workers, the second is the test's. */
function connectEach(clients: number): Promise<[WorkerClients, WorkerClients]> {
  const { apiKeys, closing } = bench
  return connectToEach(server, { apiKey: apiKeys[0].text, clients, closing })
}

function testKey(): string {
  return bench.apiKeys[1]?.text ?? ''
}

test('of ten requests at once on one key, five on each worker, exactly eight run', async () => {
  const apiKey = testKey()
  const workers = await connectEach(5)
  const { simulator } = bench
  simulator.script({ hold: 'beforeHeaders', times: 'always' })
  const answers = workers.flatMap(({ clients }) =>
    clients.slice(0, 5).map((client) => post(client, { apiKey, body: CHAT })),
  )
  await answeredCount(answers, 10 - IN_FLIGHT_MAX)
  const open = (await bench.requests()).filter(({ state }) => state === 'open')
  expect(open).toHaveLength(IN_FLIGHT_MAX)
  expect(new Set(open.map(({ instanceId }) => instanceId)).size).toBe(2)
  simulator.gate().release()
  expect(verdicts(await Promise.all(answers))).toEqual({
    '200 answered': IN_FLIGHT_MAX,
    '429 too_many_concurrent_requests': 10 - IN_FLIGHT_MAX,
  })
  await bench.audit()
})

test('of 320 requests in a minute on one key, half on each worker, exactly 300 run', async () => {
  const apiKey = testKey()
  const [one, two] = await connectEach(4)
  const together = [...one.clients.slice(0, 4), ...two.clients.slice(0, 4)]
  const answers: WholeAnswer[] = []
  for (let round = 0; round < 40; round++) {
    answers.push(
      ...(await Promise.all(together.map((client) => post(client, { apiKey, body: CHAT })))),
    )
  }
  expect(verdicts(answers)).toEqual({
    '200 answered': PER_MINUTE_MAX,
    '429 rate_limited': 320 - PER_MINUTE_MAX,
  })
  await bench.audit()
})

test.each(['SIGTERM', 'SIGINT'] as const)(
  'at a %s a stream on each worker ends whole, then all is closed, no process is left, and it ends with 0',
  async (signal) => {
    const apiKey = testKey()
    const workers = await connectEach(1)
    const { simulator } = bench
    simulator.script({ hold: { afterEvents: 2 }, times: 'always' })
    const streams = workers.map(({ clients: [client] }) => post(client, { apiKey, body: STREAM }))
    await simulator.gate().arrived(2)
    const ended = server.stop(signal)
    await server.logged('"msg":"stopping')
    simulator.gate().release()
    for (const { httpStatus, text } of await Promise.all(streams)) {
      expect([httpStatus, text.endsWith('data: [DONE]\n\n')]).toEqual([200, true])
    }
    expect(await ended).toEqual({ code: 0, signal: null })
    expect(workers.map(({ pid }) => isRunning(pid))).toEqual([false, false])
    const alive = await bench.look(({ db }) =>
      db.selectFrom('instances').select('id').where('stopped_at_ms', 'is', null).execute(),
    )
    expect(alive).toEqual([])
    const open = (await bench.requests()).filter(({ state }) => state === 'open')
    expect(open).toEqual([])
    await bench.audit()
  },
)

test('a server that is killed leaves no worker behind', async () => {
  const apiKey = testKey()
  const workers = await connectEach(1)
  // Their log lines are not written yet, and the reader will be gone.
  await Promise.all(workers.map(({ clients: [client] }) => post(client, { apiKey, body: CHAT })))
  const gone = workers.map(({ clients: [client] }) => once(client, 'disconnect'))
  await server.stop('SIGKILL')
  await Promise.all(gone)
  await expect.poll(() => workers.map(({ pid }) => isRunning(pid))).toEqual([false, false])
})

test('on a port of their own the metrics are those of all workers', async () => {
  const apiKey = testKey()
  const { metricsAddress } = JSON.parse(await server.logged('metrics are served'))
  const { origin } = new URL(metricsAddress)
  const alone = new Client(origin)
  bench.closing.defer(() => alone.destroy())
  const workers = await connectEach(1)
  const [one, two] = workers.map(({ clients: [client] }) => client)
  for (const client of [one, one, two]) if (client) await post(client, { apiKey, body: CHAT })
  await bench.until((rows) => rows.every(({ state }) => state !== 'open'))
  const { httpStatus, text } = await read(alone, { path: '/metrics', bearer: METRICS })
  expect(httpStatus).toBe(200)
  expect(sumOf(text, 'tollgate_requests_total{endpoint="chat",model="sim/open"')).toBe(3)
  expect(sumOf(text, 'tollgate_requests_in_flight')).toBe(0)
  expect(sumOf(text, 'tollgate_buffer_limit_bytes')).toBe(BUFFER_BYTES_MAX)
  expect(sumOf(text, 'tollgate_catalog_refreshes_total')).toBe(2)
  expect(sumOf(text, 'tollgate_ready{check="serving"')).toBe(1)
  expect(text.match(/^process_resident_memory_bytes /gm)).toHaveLength(1)
})

test('the memory for bodies is divided among the workers', async () => {
  // Two fit into the whole budget and one into a half of it.
  const bodyBytes = 20 * MIB
  const verdictsSoFar: string[] = []
  const accepted = (): number => verdictsSoFar.filter((line) => line.includes(' 100 ')).length
  while (accepted() < 2) verdictsSoFar.push(await withheld(bodyBytes))
  for (let further = 0; further < 10; further++) {
    expect(await withheld(bodyBytes)).toMatch(/^HTTP\/1\.1 503 /)
  }
})

/** Begins an upload of which nothing comes, and answers with its first line of answer. */
async function withheld(bytes: number): Promise<string> {
  const { hostname, port } = new URL(server.address)
  const socket = connect(Number(port), hostname)
  bench.closing.defer(() => void socket.destroy())
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: ${testKey()}\r\nexpect: 100-continue\r\ncontent-length: ${bytes}\r\n\r\n`,
  )
  const [answer] = await once(socket, 'data')
  return String(answer)
}

/** Resolves once so many of the answers are there. */
async function answeredCount(answers: readonly Promise<unknown>[], count: number): Promise<void> {
  const enough = Promise.withResolvers<void>()
  let seen = 0
  for (const answer of answers) void answer.then(() => ++seen === count && enough.resolve())
  await enough.promise
}

function verdicts(answers: readonly WholeAnswer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { httpStatus, text } of answers) {
    const { error }: { error?: { code?: string } } = JSON.parse(text)
    const verdict = `${httpStatus} ${error?.code ?? 'answered'}`
    counts[verdict] = (counts[verdict] ?? 0) + 1
  }
  return counts
}
