import { randomFillSync } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { auditStore } from '../../src/ledger/audit/audit.ts'
import { AUDIT_CHECKS } from '../../src/operations/gateway/upkeep.ts'
import { TEST_DATABASES, type TestDatabase } from '../../src/store/testing/test-databases.ts'
import { readPeriods } from '../../src/usage/read-periods.ts'
import { UsageRoller } from '../../src/usage/usage-roller.ts'
import { DAY_MS } from '../../src/vocabulary/clock.ts'
import { createIdSource, firstIdOf } from '../../src/vocabulary/ids.ts'
import { costBehind, formatDecimal, micros } from '../../src/vocabulary/money.ts'
import { insertBefore, type RowBefore, storeBefore } from './store-before.ts'

/** The migration that keeps costs in columns, on the schema before it. */

const NOW_MS = Date.parse('2026-03-05T12:00:00Z')

const request = (id: string, more: RowBefore): RowBefore => ({
  ...{ id, account_id: 'A', api_key_id: 'K', instance_id: 'I', endpoint: 'chat', model_id: 'm' },
  ...{ upstream: 'one', stream: 0, state: 'final', price_snapshot_id: 'p', opened_at_ms: 0 },
  ...{ settled_at_ms: 0, ...more },
})

/** A store with the schema before it, and an account with a key. */
async function openBefore(create: () => Promise<TestDatabase>) {
  const { old: store, upgraded } = await storeBefore(create, 32)
  await insertBefore(store, 'accounts', [{ id: 'A', name: 'test', created_at_ms: 0 }])
  const hashes = { key_hash: 'hash', display_prefix: 'prefix' }
  await insertBefore(store, 'api_keys', [
    { id: 'K', account_id: 'A', name: 'test', ...hashes, created_at_ms: 0 },
  ])
  return { before: store, upgraded }
}

const cost = fc
  .record({
    digits: fc.bigInt({ min: 0n, max: 10n ** 17n }),
    exponent: fc.integer({ min: -17, max: -9 }),
  })
  .map(formatDecimal)

test.each(TEST_DATABASES)(
  'on $engine earlier requests have their costs in the new form',
  async ({ create }) => {
    const costs = fc.sample(cost, 60)
    const ids = createIdSource({
      clock: { nowMs: () => NOW_MS },
      fillRandom: (bytes) => void randomFillSync(bytes),
    })
    const rows = [
      ...costs.map((cost_usd) => request(ids.next('req'), { cost_usd, backed_charge_micros: 1 })),
      ...costs.map((late_cost_usd) =>
        request(ids.next('req'), { late_cost_usd, state: 'released' }),
      ),
      ...costs.map((_, place) =>
        request(ids.next('req'), {
          free_charge_micros: place * 7_919,
          fee_basis_points: place * 50,
        }),
      ),
    ]
    const { before, upgraded } = await openBefore(create)
    await insertBefore(before, 'requests', rows)
    const store = await upgraded()
    const migrated = await store.db.selectFrom('requests').selectAll().execute()
    const late = await store.db.selectFrom('late_costs').selectAll().execute()
    expect(late.length).toBe(costs.length)
    for (const row of [...migrated, ...late]) {
      const own = migrated.find(({ id }) => id === row.id)
      const exact = costBehind({
        costUsd: own?.cost_usd ?? null,
        lateCostUsd: own?.late_cost_usd ?? null,
        chargeMicros: micros((own?.backed_charge_micros ?? 0) + (own?.free_charge_micros ?? 0)),
        feeBasisPoints: own?.fee_basis_points ?? 0,
      })
      expect([row.cost_micros, row.cost_rest_pico]).toEqual([
        exact?.costMicros ?? null,
        exact?.costRestPico ?? null,
      ])
    }
  },
)

test.each(TEST_DATABASES)(
  'on $engine days that still have all requests are rolled up again, and other days are unchanged',
  async ({ create }) => {
    const { before, upgraded } = await openBefore(create)
    const [pruned, whole] = [Date.parse('2026-03-01'), Date.parse('2026-03-02')]
    const idAt = (timeMs: number) => `${firstIdOf({ prefix: 'req', timeMs })}0000000000000001`
    const more = { cost_usd: '0.000002', backed_charge_micros: 2, fee_basis_points: 0 }
    // One of two requests of the first day was pruned.
    await insertBefore(before, 'requests', [
      request(idAt(pruned), more),
      request(idAt(whole), more),
    ])
    for (const [startMs, requests] of [
      [pruned, 2],
      [whole, 1],
    ] as const) {
      const of = { model_id: 'm', endpoint: 'chat', requests, backed_charge_micros: 2 * requests }
      const day = startMs / DAY_MS
      for (const account_id of ['', 'A']) {
        await insertBefore(before, 'usage_hours', [{ hour: day * 24, account_id, ...of }])
        await insertBefore(before, 'usage_days', [{ day, account_id, api_key_id: '', ...of }])
      }
      await insertBefore(before, 'usage_days', [{ day, account_id: 'A', api_key_id: 'K', ...of }])
      const hours = Array.from({ length: 24 }, (_, hour) => day * 24 + hour)
      await insertBefore(before, 'usage_rolled', [
        { step: 'day', number: day, requests, rolled_at_ms: 0 },
        ...hours.map((number) => {
          const rolled = number === day * 24 ? requests : 0
          return { step: 'hour', number, requests: rolled, rolled_at_ms: 0 }
        }),
      ])
    }
    const store = await upgraded()
    const days = async () => {
      const query = { accountId: null, apiKeyId: null, by: 'upstream' as const }
      const boundsMs = [pruned, whole, NOW_MS]
      const read = await readPeriods(store.db, { ...query, boundsMs })
      return read.map(({ place, label, sums }) => {
        return [place + 0, label, sums.requests, sums.cost_micros, sums.uncosted]
      })
    }
    const expected = [
      [0, '', 2, 0, 2],
      [1, 'one', 1, 2, 0],
    ]
    expect(await days()).toEqual(expected)
    const roller = new UsageRoller({
      ...{ store, clock: { nowMs: () => NOW_MS } },
      ...{ onRolled() {}, onLate() {}, onFailure() {}, pause: async () => {} },
    })
    await roller.pass()
    expect(await days()).toEqual(expected)
    const rolled = await store.db
      .selectFrom('usage_rolled')
      .select('number')
      .where('step', '=', 'day')
      .execute()
    expect(rolled.map(({ number }) => number)).toContain(whole / DAY_MS)
    const { differences } = await auditStore(store, { checks: AUDIT_CHECKS })
    expect(differences.filter(({ what }) => what.startsWith('usage_'))).toEqual([])
  },
)
