import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import type { RequestRow } from '../../src/store/schema.ts'
import { TEST_DATABASES, type TestDatabase } from '../../src/store/testing/test-databases.ts'
import { startWorld, type World } from '../world.ts'
import { CRASHES } from './crashes.ts'
import { ask, connectToEach, post, type WorkerClients } from './worker-clients.ts'

const METRICS = 'metrics-token'
const CHAT = '{"model":"sim/open","max_tokens":16,"messages":[{"role":"user","content":"Hi"}]}'
const STREAM = CHAT.replace('{', '{"stream":true,')

for (const { engine, create } of TEST_DATABASES) {
  describe(engine, () => {
    let database: TestDatabase
    let world: World
    let closing: DisposableStack
    let crashes: InstanceType<typeof BroadcastChannel>

    beforeEach(async () => {
      database = await create()
      closing = new DisposableStack()
      crashes = new BroadcastChannel(CRASHES)
      closing.defer(() => crashes.close())
      world = await startWorld({
        settings: { DATABASE_URL: database.url, WORKERS: '2', METRICS_TOKEN: METRICS },
        workerEntry: new URL('./faulty-worker.ts', import.meta.url),
      })
    })

    afterEach(async () => {
      closing.dispose()
      await world.close()
      await database.remove()
    })

    const requests = async (): Promise<readonly RequestRow[]> =>
      (await listRequests(world.gateway.store.db, { limit: 100 })).requests

    test("a worker that crashes leaves its holds unresolved, another's streams go on, and a third takes its place", async () => {
      const { apiKey } = await world.account()
      const [dying, other] = await connectToEach(world, { clients: 2, closing })
      world.simulator.script({ hold: { afterEvents: 2 }, times: 'always' })
      const streamsOf = ({ clients }: WorkerClients) =>
        clients.slice(0, 2).map((client) => post(client, { apiKey, body: STREAM }))
      const broken = Promise.allSettled(streamsOf(dying))
      const whole = streamsOf(other)
      await world.simulator.gate().arrived(4)

      crashes.postMessage(dying.instanceId)
      expect((await broken).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
      expect(await world.logged('worker ended')).toContain('/test/workers/faulty-worker.ts')
      expect(await world.logged('requests of a worker that ended')).toContain('"swept":2')
      world.simulator.gate().release()
      for (const { httpStatus, text } of await Promise.all(whole)) {
        expect([httpStatus, text.endsWith('data: [DONE]\n\n')]).toEqual([200, true])
      }
      await world.gateway.settled()
      const left = (await requests()).filter(({ stream }) => stream)
      const statesOf = ({ instanceId }: WorkerClients) =>
        left
          .filter((row) => row.instanceId === instanceId)
          .map(({ state, swept }) => [state, swept])
      expect(statesOf(dying)).toEqual([
        ['unresolved', true],
        ['unresolved', true],
      ])
      for (const [state, swept] of statesOf(other)) {
        expect([['final', 'provisional'].includes(String(state)), swept]).toEqual([true, false])
      }

      world.simulator.reset()
      const again = await connectToEach(world, { clients: 1, closing })
      const instances = again.map(({ instanceId }) => instanceId)
      expect(instances).toContain(other.instanceId)
      expect(instances).not.toContain(dying.instanceId)
      expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
    })

    test('while a worker is missing the server is not ready, and what the worker counted is not lost', async () => {
      const { apiKey } = await world.account()
      const [dying, other] = await connectToEach(world, { clients: 1, closing })
      const [client] = other.clients
      for (const { clients } of [dying, other]) await post(clients[0], { apiKey, body: CHAT })
      await world.gateway.settled()
      expect(await counted()).toBe(2)

      crashes.postMessage(dying.instanceId)
      await readiness(503)
      await readiness(200)
      expect(await counted()).toBe(2)

      async function counted(): Promise<number> {
        const { text } = await ask(client, { path: '/metrics', bearer: METRICS })
        const series = /^tollgate_requests_total\{endpoint="chat",model="sim\/open".* (\d+)$/m
        return Number(series.exec(text)?.[1])
      }

      /** Asks until it is answered so. */
      async function readiness(httpStatus: number): Promise<void> {
        while ((await ask(client, { path: '/readyz' })).httpStatus !== httpStatus);
      }
    })
  })
}
