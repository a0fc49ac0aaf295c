import type { Client } from 'undici'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import { auditStore } from '../../src/ledger/audit/audit.ts'
import { openStore } from '../../src/store/open-store.ts'
import { TEST_DATABASES, type TestDatabase } from '../../src/store/testing/test-databases.ts'
import { startWorld, type World } from '../world.ts'
import { ask, connectToEach, post, type WholeAnswer, type WorkerClients } from './worker-clients.ts'

const ADMIN = 'admin-token'
const METRICS = 'metrics-token'
const NEVER_MS = '600000'
const IN_FLIGHT_MAX = 8
const PER_MINUTE_MAX = 300
const CHAT = '{"model":"sim/open","max_tokens":16,"messages":[{"role":"user","content":"Hi"}]}'
const STREAM = CHAT.replace('{', '{"stream":true,')

for (const { engine, create } of TEST_DATABASES) {
  describe(engine, () => {
    let database: TestDatabase
    let world: World
    let closing: DisposableStack

    beforeEach(async () => {
      database = await create()
      closing = new DisposableStack()
      world = await startWorld({
        settings: {
          DATABASE_URL: database.url,
          WORKERS: '2',
          ADMIN_API_TOKEN: ADMIN,
          METRICS_TOKEN: METRICS,
          TOLLGATE_MAINTENANCE_POLL_MS: NEVER_MS,
        },
      })
    })

    afterEach(async () => {
      closing.dispose()
      await world.close()
      await database.remove()
    })

    const connect = (clients: number): Promise<[WorkerClients, WorkerClients]> =>
      connectToEach(world, { clients, closing })

    test('of ten requests at once on one key, five on each worker, exactly eight run', async () => {
      const { apiKey } = await world.account()
      const workers = await connect(5)
      world.simulator.script({ hold: 'beforeHeaders', times: 'always' })
      const answers = workers.flatMap(({ clients }) =>
        clients.slice(0, 5).map((client) => post(client, { apiKey, body: CHAT })),
      )
      await answeredCount(answers, 10 - IN_FLIGHT_MAX)
      const open = await openHoldsByInstance(world)
      expect([...open.keys()].sort()).toEqual(workers.map(({ instanceId }) => instanceId).sort())
      expect([...open.values()].reduce((sum, holds) => sum + holds, 0)).toBe(IN_FLIGHT_MAX)
      world.simulator.gate().release()
      expect(verdicts(await Promise.all(answers))).toEqual({
        '200 answered': IN_FLIGHT_MAX,
        '429 too_many_concurrent_requests': 10 - IN_FLIGHT_MAX,
      })
      expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
    })

    test('of 320 requests in a minute on one key, half on each worker, exactly 300 run', async () => {
      const { apiKey } = await world.account()
      const [one, two] = await connect(4)
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
      expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
    })

    test('a stream on each worker ends whole while the server stops, and then all is closed', async () => {
      const { apiKey } = await world.account()
      const workers = await connect(1)
      world.simulator.script({ hold: { afterEvents: 2 }, times: 'always' })
      const streams = workers.map(({ clients: [client] }) => post(client, { apiKey, body: STREAM }))
      await world.simulator.gate().arrived(2)
      const closed = world.gateway.close()
      world.simulator.gate().release()
      for (const { httpStatus, text } of await Promise.all(streams)) {
        expect([httpStatus, text.endsWith('data: [DONE]\n\n')]).toEqual([200, true])
      }
      await closed
      const store = await openStore({ url: database.url })
      const open = await store.db
        .selectFrom('requests')
        .select('id')
        .where('state', '=', 'open')
        .execute()
      const alive = await store.db
        .selectFrom('instances')
        .select('id')
        .where('stopped_at_ms', 'is', null)
        .execute()
      expect([open, alive]).toEqual([[], []])
      expect(await auditStore(store)).toMatchObject({ ok: true, differences: [] })
      await store.close()
    })

    test('maintenance, a disabled key and a refreshed catalog hold on all workers as soon as one has answered', async () => {
      const { apiKey } = await world.account()
      const workers = await connect(1)
      const [asked, others] = [clientOf(workers[0]), workers.map(clientOf)]
      const turn = (enabled: boolean) =>
        ask(asked, {
          path: '/v1/admin/maintenance',
          method: 'PUT',
          bearer: ADMIN,
          body: JSON.stringify({ enabled }),
        })
      const statuses = async (): Promise<number[]> => {
        const answers = await Promise.all(
          others.map((client) => post(client, { apiKey, body: CHAT })),
        )
        return answers.map(({ httpStatus }) => httpStatus)
      }
      expect(await statuses()).toEqual([200, 200])
      await turn(true)
      expect(await statuses()).toEqual([503, 503])
      await turn(false)
      expect(await statuses()).toEqual([200, 200])

      const key = await Promise.all(
        others.map((client) => ask(client, { path: '/v1/key', bearer: apiKey })),
      )
      expect(key.map(({ httpStatus }) => httpStatus)).toEqual([200, 200])
      const { id }: { id: string } = JSON.parse(key[0]?.text ?? '')
      const path = `/v1/admin/keys/${id}`
      await ask(asked, { path, method: 'PATCH', bearer: ADMIN, body: '{"disabled":true}' })
      for (const client of others) {
        const refused = await ask(client, { path: '/v1/key', bearer: apiKey })
        expect([refused.httpStatus, codeIn(refused.text)]).toEqual([401, 'api_key_disabled'])
      }

      const { catalog } = world.simulator
      catalog.replace(catalog.rows.filter((row) => row['id'] !== 'sim/open'))
      await ask(asked, { path: '/v1/admin/catalog/refresh', method: 'POST', bearer: ADMIN })
      for (const client of others) {
        const gone = await ask(client, { path: '/v1/models/sim/open' })
        expect(gone.httpStatus).toBe(404)
      }
    })

    test('what a worker charged provisionally is corrected by the main thread within its first look-up', async () => {
      const { apiKey } = await world.account()
      const [one, two] = await connect(1)
      for (const worker of [one, two]) {
        const { requestId } = await post(clientOf(worker), { apiKey, body: CHAT })
        const line = await world.logged(`"requestId":"${requestId}","by":`)
        expect(JSON.parse(line)).toMatchObject({ by: 'final', msg: 'request reconciled' })
      }
    })

    test('whichever worker is asked, the metrics are those of all', async () => {
      const { apiKey } = await world.account()
      const [one, two] = await connect(1)
      for (const { clients } of [one, one, two])
        await post(clientOf({ clients }), { apiKey, body: CHAT })
      await world.gateway.settled()
      for (const worker of [one, two]) {
        const { text } = await ask(clientOf(worker), { path: '/metrics', bearer: METRICS })
        expect(countOf(text, 'tollgate_requests_total{endpoint="chat",model="sim/open"')).toBe(3)
        expect(countOf(text, 'tollgate_requests_in_flight')).toBe(0)
        expect(countOf(text, 'tollgate_buffer_limit_bytes')).toBe(1024 ** 3)
        expect(countOf(text, 'tollgate_catalog_refreshes_total')).toBe(1)
        expect(countOf(text, 'tollgate_ready{check="serving"')).toBe(1)
        expect(text.match(/^process_resident_memory_bytes /gm)).toHaveLength(1)
      }
    })
  })
}

function clientOf({ clients: [client] }: Pick<WorkerClients, 'clients'>): Client {
  return client
}

/** Resolves once so many of the answers are there. */
async function answeredCount(answers: readonly Promise<unknown>[], count: number): Promise<void> {
  const enough = Promise.withResolvers<void>()
  let seen = 0
  for (const answer of answers) void answer.then(() => ++seen === count && enough.resolve())
  await enough.promise
}

async function openHoldsByInstance(world: World): Promise<Map<string, number>> {
  const { requests } = await listRequests(world.gateway.store.db, { limit: 1_000 })
  const holds = new Map<string, number>()
  for (const { state, instanceId } of requests) {
    if (state === 'open') holds.set(instanceId, (holds.get(instanceId) ?? 0) + 1)
  }
  return holds
}

function verdicts(answers: readonly WholeAnswer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { httpStatus, text } of answers) {
    const verdict = `${httpStatus} ${codeIn(text) ?? 'answered'}`
    counts[verdict] = (counts[verdict] ?? 0) + 1
  }
  return counts
}

function codeIn(text: string): string | undefined {
  const { error }: { error?: { code?: string } } = JSON.parse(text)
  return error?.code
}

/** What the series of a page whose names begin so add up to. */
function countOf(page: string, beginning: string): number {
  const lines = page.split('\n').filter((line) => line.startsWith(beginning))
  expect(lines).not.toEqual([])
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}
