import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStore } from '../../store/open-store.ts'
import { StoreUnavailable } from '../../store/store-failure.ts'
import { type PostgresServer, startPostgresServer } from '../../store/testing/postgres-server.ts'
import { micros } from '../../vocabulary/money.ts'
import { LEDGER_LIMITS_DEFAULT } from '../ledger.ts'
import { costOfCharge, FACTS, holdInput, runScript } from '../testing/script.ts'
import { benchOnStore } from '../testing/store-bench.ts'
import type { BatchedLedger } from './batched-ledger.ts'
import { postgresLedger } from './create-ledger.ts'

const LIMITS = { ...LEDGER_LIMITS_DEFAULT, keyRequestsPerMinuteMax: 1_000_000 }
const COST = costOfCharge(micros(7))
const KEYS = Array.from({ length: 16 }, (_, place) => `K${place}`)

// A separate server that syncs its disk: it is killed.
let server: PostgresServer

beforeAll(async () => {
  server = await startPostgresServer({ settings: ['max_connections=30'] })
})

afterAll(() => server.stop())

/** The ends of the requests of many keys at once, as their clients and the settler see them. */
class Load {
  readonly settled: string[] = []
  /** Opens and settles that the store did not answer: at its death all may be waiting to settle. */
  unanswered = 0
  over = false
  readonly #ledger: BatchedLedger
  #requests = 0

  constructor(ledger: BatchedLedger) {
    this.#ledger = ledger
  }

  /** A refused open is a 503; a settle is asked for until it is done. */
  async run(apiKeyId: string): Promise<void> {
    while (!this.over) {
      const requestId = `R${this.#requests++}`
      if (await this.#opens(requestId, apiKeyId)) await this.#settleAtLast(requestId)
    }
  }

  async #opens(requestId: string, apiKeyId: string): Promise<boolean> {
    try {
      await this.#ledger.openHold(holdInput(requestId, { apiKeyId, amountMicros: 100 }))
      return true
    } catch (error) {
      expect(error).toBeInstanceOf(StoreUnavailable)
      this.unanswered++
      return false
    }
  }

  async #settleAtLast(requestId: string): Promise<void> {
    const resolution = { kind: 'final', chargeMicros: micros(7), costUsd: COST } as const
    for (;;) {
      try {
        await this.#ledger.settle({ requestId, resolution, facts: FACTS })
        this.settled.push(requestId)
        return
      } catch (error) {
        expect(error).toBeInstanceOf(StoreUnavailable)
        this.unanswered++
      }
    }
  }

  /** Resolves once the load has come so far. */
  async until(reached: () => boolean): Promise<void> {
    while (!reached()) await new Promise((resolve) => setImmediate(resolve))
  }
}

test('a server that is killed under load fails requests until it is back, and loses nothing that it answered', async () => {
  const url = server.url('postgres')
  const store = await openStore({ url })
  const ledger = postgresLedger({ url, limits: LIMITS, unsureRetryMs: 20 })
  const bench = benchOnStore({ store, ledger, remove: async () => {} })
  await bench.createAccount('A')
  for (const apiKey of KEYS) await bench.createApiKey(apiKey, 'A')
  await runScript(bench, 'credit A backed 1000000000 first')

  const load = new Load(ledger)
  const loaded = Promise.all(KEYS.map((apiKey) => load.run(apiKey)))
  await load.until(() => load.settled.length >= 500)
  expect(load.unanswered).toBe(0)
  await server.kill()
  await load.until(() => load.unanswered >= 100)
  await server.start()
  const settledBefore = load.settled.length
  await load.until(() => load.settled.length >= settledBefore + 500)
  load.over = true
  await loaded
  await ledger.sure()

  const rows = await store.reports.selectFrom('all_requests').select(['id', 'state']).execute()
  const finalIds = rows.filter(({ state }) => state === 'final').map(({ id }) => id)
  expect(finalIds.toSorted()).toEqual(load.settled.toSorted())
  // Commands without an answer may be committed or not, but they hold nothing.
  expect(rows.filter(({ state }) => state !== 'final' && state !== 'released')).toEqual([])
  const { backedBalanceMicros, backedHeldMicros } = await bench.account('A')
  expect(backedBalanceMicros).toBe(1_000_000_000 - 7 * load.settled.length)
  expect(backedHeldMicros).toBe(0)
  await bench.auditAndClose()
})
