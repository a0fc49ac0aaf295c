import { type Kysely, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { ActivityPruner } from '../ledger/activity/activity-pruner.ts'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import type { Tables } from '../store/schema.ts'
import { lockWaits } from '../store/testing/lock-waits.ts'
import { HOUR_MS } from '../vocabulary/clock.ts'
import { micros } from '../vocabulary/money.ts'
import { ofEach } from '../vocabulary/testing/of-each.ts'
import { DAY_HOURS } from '../vocabulary/usage-step.ts'
import { readUsage } from './read-usage.ts'
import { rollDay, rollHour } from './roll-period.ts'
import { countRequests } from './rolled.ts'
import { finalOf, HISTORY_FROM_MS, UsageHistory } from './testing/usage-history.ts'

const FIRST_HOUR = Math.floor(HISTORY_FROM_MS / HOUR_MS)

describe.each(STORE_BENCHES)('on $engine', ({ engine, open }) => {
  const history = ofEach(() => UsageHistory.open(open))

  async function change(statement: string): Promise<void> {
    await sql.raw(statement).execute(history.bench.db)
  }

  /** Requests of one hour in so many groups that their rows take several statements. */
  async function manyGroups(): Promise<void> {
    for (let count = 0; count < 30; count++) {
      for (const picked of [0, 2]) {
        const requestId = await history.open(picked, history.nowMs, `acme/${count + 10}`)
        await history.settle(requestId, finalOf(micros(1)))
      }
    }
  }

  /** How many requests charts show, of all accounts and of each. */
  async function charted(): Promise<readonly number[]> {
    const range = { by: null, step: 'day', fromMs: HISTORY_FROM_MS, toMs: history.nowMs } as const
    const counts: number[] = []
    for (const accountId of [null, 'A1', 'A2']) {
      const { totals } = await readUsage(history.bench.store.pages({ owner: 'test' }), {
        accountId,
        ...range,
      })
      counts.push(totals.requests)
    }
    return counts
  }

  /** Rolls an hour or a day up; something happens after some of its statements. */
  function rolling(
    { roll, number }: { readonly roll: typeof rollHour; readonly number: number },
    happens: Readonly<Record<number, () => Promise<void>>>,
  ): Promise<boolean> {
    let statements = 0
    const pause = async (): Promise<void> => {
      await happens[++statements]?.()
    }
    return roll({ store: history.bench.store, nowMs: history.nowMs, pause }, number)
  }

  test.each([
    // Six statements read an hour, and the next writes the rows of all accounts.
    { step: 'hour', roll: rollHour, number: FIRST_HOUR, read: 6, yields: 7, wrote: 7 },
    // Two read a day, three write rows of keys and accounts, and one those of all accounts.
    { step: 'day', roll: rollDay, number: FIRST_HOUR / DAY_HOURS, read: 2, yields: 5, wrote: 6 },
  ])(
    'rows of one $step do not count if one gateway wrote some before a late request, and another wrote the others',
    async ({ roll, number: exact, ...at }) => {
      const number = Math.floor(exact)
      await manyGroups()
      history.wait(16 * HOUR_MS)
      await history.roll()
      await change("delete from usage_rolled where step = 'day'")
      await change('delete from usage_days')
      if (at.step === 'hour') await change(`delete from usage_rolled where number = ${FIRST_HOUR}`)

      const hasRead = Promise.withResolvers<void>()
      const mayWrite = Promise.withResolvers<void>()
      const hasWritten = Promise.withResolvers<void>()
      const mayEnd = Promise.withResolvers<void>()
      const early = rolling(
        { roll, number },
        {
          async [at.read]() {
            hasRead.resolve()
            await mayWrite.promise
          },
          async [at.wrote]() {
            hasWritten.resolve()
            await mayEnd.promise
          },
        },
      )
      await hasRead.promise
      // In the last of its hour's rows, and the last of its day's.
      const lateId = await history.open(2, HISTORY_FROM_MS, 'acme/39')
      await history.settle(lateId, finalOf(micros(1)))
      const late = rolling(
        { roll, number },
        {
          async [at.yields]() {
            mayWrite.resolve()
            await hasWritten.promise
          },
        },
      )
      expect(await late).toBe(false)
      mayEnd.resolve()
      await early

      await history.roll()
      await history.audit()
      expect(await charted()).toEqual([61, 30, 31])
    },
  )

  /** Resolves once the pruner has seen the day rolled up, and waits until the transaction ends. */
  async function prunerWaits(trx: Kysely<Tables>): Promise<void> {
    if (engine === 'PostgreSQL') return lockWaits(trx, 1)
    // SQLite does not show who waits for its lock: these reads take far longer than the pruner's.
    const { reports } = history.bench.store
    for (let reads = 0; reads < 100; reads++) await countRequests(reports, FIRST_HOUR)
  }

  test('a day that loses its roll-up before its requests are pruned keeps them until it is rolled up again', async () => {
    const { store } = history.bench
    const clock = { nowMs: () => history.nowMs }
    const events = { onPruned: () => {}, onFailure: () => {} }
    const pruner = new ActivityPruner({ store, clock, keepDays: 1, ...events })
    await history.settle(await history.open(0, history.nowMs), finalOf(micros(5)))
    // Its thread is ready then.
    expect(await pruner.pass()).toBe(0)
    history.wait(4 * DAY_HOURS * HOUR_MS)
    await history.roll()
    let pruning = Promise.resolve(0)
    await store.db.transaction().execute(async (trx) => {
      await trx.deleteFrom('usage_rolled').where('step', '=', 'day').execute()
      pruning = pruner.pass()
      await prunerWaits(trx)
    })
    expect(await pruning).toBe(0)
    await history.roll()
    expect(await pruner.pass()).toBe(1)
    await pruner.stop()
    await history.audit()
    expect(await charted()).toEqual([1, 1, 0])
  })

  test('a late request counts, although others of its day are old enough to be pruned', async () => {
    await history.settle(await history.open(0, history.nowMs), finalOf(micros(5)))
    history.wait(26 * HOUR_MS)
    await history.roll()
    await history.run({ kind: 'prune' })
    const lateId = await history.open(2, history.nowMs - 16 * HOUR_MS)
    await history.settle(lateId, finalOf(micros(7)))
    await history.roll()
    await history.audit()
    expect(await charted()).toEqual([2, 1, 1])

    history.wait(48 * HOUR_MS)
    await history.roll()
    await history.run({ kind: 'prune' })
    expect(history.hasPruned).toBe(true)
    await history.audit()
    expect(await charted()).toEqual([2, 1, 1])
  })
})
