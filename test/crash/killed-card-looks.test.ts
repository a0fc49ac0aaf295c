import { expect, test } from 'vitest'
import { STORE_BENCHES } from '../../src/ledger/testing/benches.ts'
import { CardBench, CREDIT, MINUTE_MS } from '../../src/sale/testing/card-bench.ts'
import { bundled } from '../bundled.ts'
import type { KilledCardLook } from './killed-card-look.ts'
import { runKilled } from './run-killed.ts'

const KILLS_MIN = 6

test.each(STORE_BENCHES)(
  'on $engine, payments and refunds by card count once after a process is killed before any change of a look',
  async ({ open }) => {
    const bench = await CardBench.open(open)
    const { stripe } = bench
    const { location } = bench.store.store
    const databaseUrl = location.kind === 'sqlite' ? `sqlite:${location.file}` : location.url
    let expected = 0
    let kills = 0
    let latest: string | null = null
    // Each process dies a change later than the one before, until one reaches its end.
    for (let killAt = 1; ; killAt++) {
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
