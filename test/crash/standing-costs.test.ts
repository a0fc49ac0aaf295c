import { afterEach, expect, test } from 'vitest'
import { MADE_DATABASES } from '../../src/store/testing/test-databases.ts'
import { CREDIT_MICROS, type CrashBench, openCrashBench, SENT_AT_ONCE } from './crash-bench.ts'

const SETTINGS = { TOLLGATE_LOOKUPS: 'verify', TOLLGATE_STANDS_AFTER_MS: '300' }
const CHARGE_MICROS = 1_050
const REQUESTS = 6 * SENT_AT_ONCE

let bench: CrashBench

afterEach(() => bench.close())

test.each(MADE_DATABASES)(
  'kill -9 on $engine while reported costs become final: the next gateway continues, and every figure is exact',
  async ({ create }) => {
    bench = await openCrashBench({ createDatabase: create })
    bench.simulator.script({ costUsd: 0.001, times: 'always' })
    const first = await bench.serve(SETTINGS)
    await bench.sendAll(first, REQUESTS)
    const atKill = await bench.until((rows) => rows.some(({ state }) => state === 'final'))
    expect(await first.stop('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
    expect(atKill.length).toBe(REQUESTS)
    await bench.audit()

    await bench.serveHere(SETTINGS)
    const rows = await bench.until((all) => all.every(({ state }) => state === 'final'))
    // All except the costs that were drawn for a look-up.
    expect(rows.filter(({ costStands }) => costStands).length).toBeGreaterThan(REQUESTS / 2)
    await bench.audit()
    const entries = await bench.entries()
    expect(entries.map(({ amountMicros }) => amountMicros)).toEqual([
      CREDIT_MICROS,
      ...Array(REQUESTS).fill(-CHARGE_MICROS),
    ])
  },
)
