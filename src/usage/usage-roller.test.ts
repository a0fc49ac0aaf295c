import { describe, expect, test } from 'vitest'
import { ENTRIES_A_SUM } from '../ledger/activity/entry-sums.ts'
import { STORE_BENCHES, UNREACHED_LIMITS } from '../ledger/testing/benches.ts'
import { micros } from '../vocabulary/money.ts'
import { HOUR_MS } from '../vocabulary/usage-step.ts'
import { finalOf, UsageHistory } from './testing/usage-history.ts'
import { pauseMsAfter, UsageRoller } from './usage-roller.ts'

describe('the pause after a statement that rolls history up', () => {
  test('leaves an idle process three quarters of the time', () => {
    expect(pauseMsAfter({ tookMs: 100, busyShare: 0 })).toBe(300)
  })

  test('leaves a process that serves all it can ninety-nine hundredths', () => {
    expect(pauseMsAfter({ tookMs: 100, busyShare: 1 })).toBe(9_900)
  })

  test('is the longer, the busier the process is', () => {
    const pauses = [0, 0.2, 0.5, 0.9].map((busyShare) => pauseMsAfter({ tookMs: 10, busyShare }))
    expect(pauses).toEqual(pauses.toSorted((one, other) => one - other))
    expect(new Set(pauses).size).toBe(pauses.length)
  })

  test('is long enough for a waiting writer, even after a very short statement', () => {
    expect(pauseMsAfter({ tookMs: 0, busyShare: 0 })).toBe(2)
  })
})

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  test('entries are added up after hours were rolled, wherever passes before have failed', async () => {
    const bench = await open({ limits: UNREACHED_LIMITS })
    const history = new UsageHistory(bench)
    await history.setUp()
    let [statements, failsAt] = [0, 0]
    const roller = new UsageRoller({
      store: bench.store,
      clock: { nowMs: () => history.nowMs },
      onRolled: () => {},
      onLate: () => {},
      onFailure: () => {},
      async pause() {
        if (++statements === failsAt) throw new Error('failed')
      },
    })
    const passes = (): Promise<boolean> =>
      roller.pass().then(
        () => true,
        () => false,
      )
    const closeAnHour = async (): Promise<void> => {
      await history.settle(await history.open(0, history.nowMs), finalOf(micros(1)))
      history.wait(3 * HOUR_MS)
    }
    await closeAnHour()
    expect(await passes()).toBe(true)
    await bench.store.db.updateTable('accounts').set({ entry_count: ENTRIES_A_SUM }).execute()
    await closeAnHour()
    do {
      statements = 0
      failsAt++
    } while (!(await passes()))
    const sums = await bench.store.db.selectFrom('entry_sums').select('number').execute()
    expect(sums.length).toBeGreaterThan(0)
    await bench.close()
  })
})
