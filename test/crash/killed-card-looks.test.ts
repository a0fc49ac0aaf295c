import { expect, test } from 'vitest'
import { STORE_BENCHES } from '../../src/ledger/testing/benches.ts'
import { CardBench, CREDIT, MINUTE_MS } from '../../src/sale/testing/card-bench.ts'
import { bundled } from '../bundled.ts'
import type { KilledCardLook } from './killed-card-look.ts'
import { runKilled } from './run-killed.ts'

const KILLS_MIN = 8

test.each(
  STORE_BENCHES.map((each) => ({
    ...each,
    ...(each.engine === 'SQLite' ? { first: 1, steps: 2 } : { first: 3, steps: 4 }),
  })),
)(
  'on $engine, payments and refunds by card count once after a process is killed at a step of a look',
  async ({ open, first, steps }) => {
    const bench = await CardBench.open(open)
    const { stripe } = bench
    const { location } = bench.store.store
    const databaseUrl = location.kind === 'sqlite' ? `sqlite:${location.file}` : location.url
    let expected = 0
    let kills = 0
    let latest: string | null = null
    // Each process dies later than the one before, until one reaches its end. What is stored after a statement is what is stored
    // before the next one, so steps of two see all that can be stored: on SQLite, and on PostgreSQL every second of these.
    for (let killAt: number = first; ; killAt += steps) {
      const before = expected
      const source = await bench.gateway().begin()
      stripe.pay(source)
      expected += CREDIT
      if (latest !== null) {
        stripe.refund(latest, 250)
        expected -= CREDIT / 4
      }
      latest = source
      const { secretKey, baseUrl, nowMs } = stripe
      const asked: KilledCardLook = { databaseUrl, stripe: { secretKey, baseUrl, nowMs }, killAt }
      const wasKilled = await runKilled(bundled('killed-card-look'), JSON.stringify(asked))
      expect(await bench.balance()).toBeLessThanOrEqual(before + CREDIT)
      await bench.store.audit()
      // Later than reports are followed again: each process has the same number of steps.
      await bench.gateway().pass(20 * MINUTE_MS)
      expect(await bench.balance()).toBe(expected)
      if (!wasKilled) break
      kills++
    }
    expect(bench.failures).toEqual([])
    expect(kills).toBeGreaterThanOrEqual(KILLS_MIN)
    await bench.close()
  },
)
