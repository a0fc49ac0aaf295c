import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStore } from '../store/open-store.ts'
import { type PostgresServer, startPostgresServer } from '../store/testing/postgres-server.ts'
import { micros } from '../vocabulary/money.ts'
import { LEDGER_LIMITS_DEFAULT, StoreUnavailable } from './ledger.ts'
import { PostgresLedger } from './postgres-ledger.ts'
import { FACTS, holdInput, runScript } from './testing/script.ts'
import { benchOnStore } from './testing/store-bench.ts'

const LIMITS = { ...LEDGER_LIMITS_DEFAULT, keyRequestsPerMinuteMax: 1_000_000 }
const KEYS = Array.from({ length: 16 }, (_, place) => `K${place}`)

// A server of its own, that syncs its disk: this one is killed.
let server: PostgresServer

beforeAll(async () => {
  server = await startPostgresServer({ settings: ['max_connections=30'] })
}, 60_000)

afterAll(() => server.stop())

test('a server that is killed under load fails requests until it is back, and loses nothing that it answered', async () => {
  const url = server.url('postgres')
  const store = await openStore({ url })
  const ledger = new PostgresLedger({ url, limits: LIMITS, unsureRetryMs: 20 })
  const bench = benchOnStore({ store, ledger, setNowMs: () => {}, remove: async () => {} })
  await bench.createAccount('A')
  for (const apiKey of KEYS) await bench.createApiKey(apiKey, 'A')
  await runScript(bench, 'credit A backed 1000000000 first')

  const opened: string[] = []
  const settled: string[] = []
  let refused = 0
  let requests = 0
  const killed = Promise.withResolvers<void>()
  let over = false

  /** As a client and a settler do: a refused open is a 503, a settle is asked for until it is done. */
  async function runRequests(apiKeyId: string): Promise<void> {
    while (!over) {
      const requestId = `R${requests++}`
      try {
        await ledger.openHold({
          ...holdInput(requestId),
          accountId: 'A',
          apiKeyId,
          instanceId: 'I',
          neededMicros: micros(100),
          leastMicros: micros(100),
          freeCreditQualifies: false,
          freeCreditAloneRunsOnLess: false,
        })
      } catch (error) {
        expect(error).toBeInstanceOf(StoreUnavailable)
        refused++
        continue
      }
      opened.push(requestId)
      await settleAtLast(requestId)
      settled.push(requestId)
      if (settled.length === 500) killed.resolve()
    }
  }

  async function settleAtLast(requestId: string): Promise<void> {
    const resolution = { kind: 'released' } as const
    for (;;) {
      try {
        await ledger.settle({ requestId, resolution, facts: FACTS })
        return
      } catch (error) {
        expect(error).toBeInstanceOf(StoreUnavailable)
      }
    }
  }

  const load = Promise.all(KEYS.map(runRequests))
  await killed.promise
  await server.kill()
  while (refused < 100) await new Promise((resolve) => setImmediate(resolve))
  await server.start()
  const settledBefore = settled.length
  while (settled.length < settledBefore + 500) await new Promise((resolve) => setImmediate(resolve))
  over = true
  await load
  await ledger.sure()

  const rows = await store.reports.selectFrom('requests').select(['id', 'state']).execute()
  const states = new Map(rows.map(({ id, state }) => [id, state]))
  expect(settled.filter((requestId) => states.get(requestId) !== 'released')).toEqual([])
  expect(opened.length).toBe(settled.length)
  // What was not answered was committed or not; nothing is held for it any more.
  expect(rows.filter(({ state }) => state !== 'released')).toEqual([])
  await bench.audit()
  await bench.close()
}, 60_000)
