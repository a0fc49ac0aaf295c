import { describe, expect, test } from 'vitest'
import { ENTRIES_A_SUM } from '../ledger/activity/entry-sums.ts'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { HOUR_MS } from '../vocabulary/clock.ts'
import { micros } from '../vocabulary/money.ts'
import { DAY_HOURS, watchedHourAt } from '../vocabulary/usage-step.ts'
import { readUsage } from './read-usage.ts'
import { finalOf, HISTORY_FROM_MS, UsageHistory } from './testing/usage-history.ts'
import { IdHours, pauseMsAfter, UsageRoller } from './usage-roller.ts'

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
  /** A roller of a running process, and the hours that were reported to it as late. */
  function rollerOf(history: UsageHistory, takeIdHours: () => readonly number[] = () => []) {
    const late: number[] = []
    const roller = new UsageRoller({
      store: history.bench.store,
      clock: { nowMs: () => history.nowMs },
      takeIdHours,
      onRolled: () => {},
      onLate: (hour) => late.push(hour),
      onFailure: () => {},
      pause: async () => {},
    })
    return { roller, late }
  }

  async function marksOf({ bench }: UsageHistory): Promise<readonly string[]> {
    const rows = await bench.db.selectFrom('usage_rolled').select(['step', 'number']).execute()
    return rows.map(({ step, number }) => `${step} ${number}`).sort()
  }

  /** How many requests charts show of the account whose requests are pruned. */
  async function chartedOf({ bench, nowMs }: UsageHistory): Promise<number> {
    const range = { by: null, step: 'day', fromMs: HISTORY_FROM_MS, toMs: nowMs } as const
    const pages = bench.store.pages({ owner: 'test' })
    return (await readUsage(pages, { accountId: 'A1', ...range })).totals.requests
  }

  test('a request whose ID comes from a clock that was days behind for a moment is rolled up, although its hour was rolled up before', async () => {
    const history = await UsageHistory.open(open)
    const clock = { nowMs: history.nowMs }
    const idHours = new IdHours({ nowMs: () => clock.nowMs })
    const { roller, late } = rollerOf(history, () => idHours.take())
    const request = async (): Promise<void> => {
      await history.settle(await history.open(0, idHours.nowMs()), finalOf(micros(1)))
    }
    await request()
    history.wait(4 * DAY_HOURS * HOUR_MS)
    await roller.pass()
    const marks = await marksOf(history)

    idHours.nowMs()
    await roller.pass()
    // Its body was read while the clock was set right and a pass went by.
    clock.nowMs = history.nowMs
    await request()
    await roller.pass()
    expect(late).toEqual([])
    clock.nowMs = HISTORY_FROM_MS
    await request()
    clock.nowMs = history.nowMs
    await roller.pass()
    expect(late).toEqual([Math.floor(HISTORY_FROM_MS / HOUR_MS)])
    expect(await marksOf(history)).toEqual(marks)
    await history.audit()
    await history.bench.close()
  })

  test('a request whose ID comes from a clock that was a day behind is rolled up, although its hour is no longer watched', async () => {
    const history = await UsageHistory.open(open)
    const clock = { nowMs: history.nowMs }
    const idHours = new IdHours({ nowMs: () => clock.nowMs })
    const { roller, late } = rollerOf(history, () => idHours.take())
    await history.settle(await history.open(0, idHours.nowMs()), finalOf(micros(1)))
    history.wait(4 * DAY_HOURS * HOUR_MS)
    await roller.pass()

    const oldestWatched = watchedHourAt(history.nowMs)
    clock.nowMs = oldestWatched * HOUR_MS
    const idMs = idHours.nowMs()
    await roller.pass()
    // Its body is read while the hour of its id leaves the watched ones.
    history.wait(HOUR_MS)
    clock.nowMs = history.nowMs
    await roller.pass()
    await history.settle(await history.open(0, idMs), finalOf(micros(1)))
    await roller.pass()
    expect(late).toEqual([oldestWatched])
    await history.audit()
    await history.bench.close()
  })

  test('a late request of a process that was killed before its next pass is rolled up by another, within as many passes as days', async () => {
    const history = await UsageHistory.open(open)
    const days = 4
    await history.settle(await history.open(0, history.nowMs), finalOf(micros(1)))
    history.wait(days * DAY_HOURS * HOUR_MS)
    await history.roll()
    await history.settle(await history.open(0, HISTORY_FROM_MS), finalOf(micros(1)))
    const { roller, late } = rollerOf(history)
    for (let passes = 0; passes < days; passes++) await roller.pass()
    expect(late).toEqual([Math.floor(HISTORY_FROM_MS / HOUR_MS)])
    await history.audit()
    await history.bench.close()
  })

  test('a day of which requests are pruned after they were counted stays rolled up, and charts keep them', async () => {
    const history = await UsageHistory.open(open)
    const { store } = history.bench
    await history.settle(await history.open(0, history.nowMs), finalOf(micros(5)))
    history.wait(4 * DAY_HOURS * HOUR_MS)
    await history.roll()
    const marks = await marksOf(history)
    await history.settle(await history.open(2, HISTORY_FROM_MS), finalOf(micros(7)))
    const late: number[] = []
    const roller = new UsageRoller({
      store: {
        ...store,
        reports: store.reports.withPlugin({
          transformQuery: ({ node }) => node,
          async transformResult({ result }) {
            // Both requests of the hour were counted.
            const isCount = Number(result.rows[0]?.['requests']) === 2
            if (isCount && !history.hasPruned) await history.run({ kind: 'prune' })
            return result
          },
        }),
      },
      clock: { nowMs: () => history.nowMs },
      takeIdHours: () => [Math.floor(HISTORY_FROM_MS / HOUR_MS)],
      onRolled: () => {},
      onLate: (hour) => late.push(hour),
      onFailure: () => {},
      pause: async () => {},
    })
    await roller.pass()
    expect([history.hasPruned, late]).toEqual([true, []])
    const day = Math.floor(HISTORY_FROM_MS / HOUR_MS / DAY_HOURS)
    expect(await marksOf(history)).toEqual([...marks, `pruned ${day}`])
    expect(await chartedOf(history)).toBe(1)
    await history.bench.close()
  })

  test('a pruned day is never rolled up from its remaining requests, even if more requests come late than were pruned', async () => {
    const history = await UsageHistory.open(open)
    await history.settle(await history.open(0, history.nowMs), finalOf(micros(5)))
    history.wait(4 * DAY_HOURS * HOUR_MS)
    await history.roll()
    await history.run({ kind: 'prune' })
    expect(history.hasPruned).toBe(true)
    const marks = await marksOf(history)
    for (const picked of [2, 2]) {
      await history.settle(await history.open(picked, HISTORY_FROM_MS), finalOf(micros(7)))
    }
    const { roller, late } = rollerOf(history, () => [Math.floor(HISTORY_FROM_MS / HOUR_MS)])
    await roller.pass()
    expect(late).toEqual([])
    expect(await marksOf(history)).toEqual(marks)
    expect(await chartedOf(history)).toBe(1)
    await history.bench.close()
  })

  test('an hour that no longer counts as rolled up is rolled up again by a process that had seen it rolled up', async () => {
    const history = await UsageHistory.open(open)
    const { roller } = rollerOf(history)
    await history.settle(await history.open(0, history.nowMs), finalOf(micros(1)))
    history.wait(18 * HOUR_MS)
    await roller.pass()
    const marks = await marksOf(history)
    // A database that goes back loses its latest rows.
    await history.bench.db
      .deleteFrom('usage_rolled')
      .where(({ eb, or }) => or([eb('step', '=', 'day'), eb('requests', '>', 0)]))
      .execute()
    await roller.pass()
    expect(await marksOf(history)).toEqual(marks)
    await history.audit()
    await history.bench.close()
  })

  test('entries are added up after hours were rolled, wherever passes before have failed', async () => {
    const history = await UsageHistory.open(open)
    const { store } = history.bench
    let [statements, failsAt] = [0, 0]
    const roller = new UsageRoller({
      store,
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
    await store.db.updateTable('accounts').set({ entry_count: ENTRIES_A_SUM }).execute()
    await closeAnHour()
    do {
      statements = 0
      failsAt++
    } while (!(await passes()))
    const sums = await store.db.selectFrom('entry_sums').select('number').execute()
    expect(sums.length).toBeGreaterThan(0)
    await history.close()
  })
})
