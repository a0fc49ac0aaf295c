import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { DAY_MS, HOUR_MS } from '../vocabulary/clock.ts'
import { micros } from '../vocabulary/money.ts'
import { ofEach } from '../vocabulary/testing/of-each.ts'
import { readPeriods } from './read-periods.ts'
import { readUsage } from './read-usage.ts'
import { addedUp, type Whole } from './testing/added-up.ts'
import { finalOf, HISTORY_FROM_MS, UsageHistory } from './testing/usage-history.ts'

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  const history = ofEach(() => UsageHistory.open(open))

  /** The amounts of all accounts: in charts by hour and day, and in reports of one account, of a key, and by group. */
  async function amounts(): Promise<readonly Whole['money'][]> {
    const db = history.bench.store.pages({ owner: 'test' })
    const range = { fromMs: HISTORY_FROM_MS, toMs: history.nowMs }
    const read: Whole['money'][] = []
    for (const by of [null, 'account', 'model', 'endpoint', 'upstream'] as const) {
      for (const step of ['hour', 'day'] as const) {
        const { totals } = await readUsage(db, { accountId: null, by, step, ...range })
        read.push(totals.money)
      }
    }
    return read
  }

  async function reported(): Promise<readonly number[]> {
    const db = history.bench.store.pages({ owner: 'test' })
    const boundsMs = [Date.parse('2026-03-01'), history.nowMs]
    const costs: number[] = []
    for (const by of [null, 'account', 'key', 'model', 'endpoint', 'upstream'] as const) {
      const periods = await readPeriods(db, { accountId: null, apiKeyId: null, by, boundsMs })
      costs.push(periods.reduce((sum, { sums }) => sum + sums.uncharged_cost_micros, 0))
    }
    return costs
  }

  async function expectExact(unchargedMicros: number): Promise<void> {
    const { money } = addedUp(await history.requests())
    expect(money.unchargedCostMicros).toBe(unchargedMicros)
    for (const read of await amounts()) expect(read).toEqual(money)
    expect(new Set(await reported())).toEqual(new Set([unchargedMicros]))
    await history.audit()
  }

  test('an amount that is billed after a release counts at once, before and after its day is rolled up and pruned', async () => {
    const early = await history.open(0, history.nowMs)
    await history.settle(early, { kind: 'released' })
    await history.settle(await history.open(1, history.nowMs), finalOf(micros(21)))
    const late = await history.open(2, history.nowMs)
    history.wait(42 * HOUR_MS)
    await history.settle(late, { kind: 'released' })
    await history.settle(early, finalOf(micros(21)))
    await expectExact(20)
    await history.roll()
    await expectExact(20)
    // Only the request of the day that was released late is left.
    await history.run({ kind: 'prune' })
    expect(history.hasPruned).toBe(true)
    await history.settle(late, finalOf(micros(42)))
    await expectExact(60)
    // The cost that was learned last counts.
    await history.settle(late, finalOf(micros(84)))
    await expectExact(100)
    await history.roll()
    await expectExact(100)
    history.wait(60 * HOUR_MS)
    await history.run({ kind: 'prune' })
    await expectExact(100)
  })

  test('the audit finds late amounts that are lost or differ', async () => {
    const requestId = await history.open(0, history.nowMs)
    await history.settle(requestId, { kind: 'released' })
    await history.settle(requestId, finalOf(micros(21)))
    await history.audit()
    const { db } = history.bench.store
    await sql`update late_costs set cost_micros = cost_micros + 1`.execute(db)
    await expect(history.audit()).rejects.toThrow('late_costs.cost')
    await sql`delete from late_costs`.execute(db)
    await expect(history.audit()).rejects.toThrow('late_costs.cost')
    await sql`update requests set cost_rest_pico = 3`.execute(db)
    await expect(history.audit()).rejects.toThrow('requests.cost_rest_pico')
  })

  test('a report of as many groups as it can have has all of its days, also where each has a late cost', async () => {
    const fromMs = history.nowMs
    const days = 16
    const requestIds: string[] = []
    for (let day = 0; day < days; day++) {
      const requestId = await history.open(0, history.nowMs)
      await history.settle(requestId, { kind: 'released' })
      requestIds.push(requestId)
      history.wait(DAY_MS)
    }
    history.wait(2 * DAY_MS)
    await history.roll()
    for (const requestId of requestIds) await history.settle(requestId, finalOf(micros(21)))
    const boundsMs = Array.from({ length: days + 1 }, (_, day) => fromMs + day * DAY_MS)
    const query = { accountId: null, apiKeyId: null, by: 'key', boundsMs } as const
    const db = history.bench.store.pages({ owner: 'test' })
    expect(await readPeriods(db, { ...query, groupsMax: days + 1 })).toHaveLength(days)
  })
})
