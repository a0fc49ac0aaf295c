import { expect, test } from 'vitest'
import { auditStore } from '../../src/ledger/audit/audit.ts'
import { AUDIT_CHECKS } from '../../src/operations/gateway/upkeep.ts'
import type { Store } from '../../src/store/store.ts'
import { TEST_DATABASES } from '../../src/store/testing/test-databases.ts'
import { readErrors } from '../../src/usage/read-errors.ts'
import { UsageRoller } from '../../src/usage/usage-roller.ts'
import { DAY_MS, HOUR_MS } from '../../src/vocabulary/clock.ts'
import { firstIdOf } from '../../src/vocabulary/ids.ts'
import { insertBefore, storeBefore } from './store-before.ts'

/** The migration that counts failed requests by error code, on the schema before it. */

const NOW_MS = Date.parse('2026-03-05T12:00:00Z')
const PRUNED_MS = Date.parse('2026-03-01')
const WHOLE_MS = Date.parse('2026-03-02')

const idAt = (timeMs: number) => `${firstIdOf({ prefix: 'req', timeMs })}0000000000000001`

/** Two days that are rolled up: of the first, one of three failed requests was pruned. */
async function fill(store: Store): Promise<void> {
  const owner = { name: 'test', created_at_ms: 0 }
  const of = { model_id: 'm', endpoint: 'chat', upstream: 'one' }
  await insertBefore(store, 'accounts', [{ id: 'A', ...owner }])
  await insertBefore(store, 'api_keys', [
    { id: 'K', account_id: 'A', ...owner, key_hash: 'hash', display_prefix: 'prefix' },
  ])
  for (const [startMs, byHour] of [
    [
      PRUNED_MS,
      new Map([
        [0, 2],
        [5, 1],
      ]),
    ],
    [WHOLE_MS, new Map([[0, 1]])],
  ] as const) {
    const day = startMs / DAY_MS
    const all = [...byHour.values()].reduce((sum, requests) => sum + requests, 0)
    const sums = { ...of, requests: all, failed: all }
    for (const account_id of ['', 'A']) {
      await insertBefore(store, 'usage_days', [{ day, account_id, api_key_id: '', ...sums }])
    }
    await insertBefore(store, 'usage_days', [{ day, account_id: 'A', api_key_id: 'K', ...sums }])
    for (const [hour, requests] of byHour) {
      await insertBefore(store, 'requests', [
        {
          ...{ id: idAt(startMs + hour * HOUR_MS), account_id: 'A', api_key_id: 'K', ...of },
          ...{ instance_id: 'I', stream: 0, state: 'final', error_code: 'upstream_error' },
          ...{ price_snapshot_id: 'p', opened_at_ms: 0, settled_at_ms: 0 },
        },
      ])
      for (const account_id of ['', 'A']) {
        const rolled = { hour: day * 24 + hour, account_id, ...of, requests, failed: requests }
        await insertBefore(store, 'usage_hours', [rolled])
      }
    }
    await insertBefore(store, 'usage_rolled', [
      { step: 'day', number: day, requests: all, rolled_at_ms: 0 },
      ...Array.from({ length: 24 }, (_, hour) => {
        const requests = byHour.get(hour) ?? 0
        return { step: 'hour', number: day * 24 + hour, requests, rolled_at_ms: 0 }
      }),
    ])
  }
}

test.each(TEST_DATABASES)(
  'on $engine error codes of unpruned days are counted, and failures of pruned days are unknown',
  async ({ create }) => {
    const { old: before, upgraded } = await storeBefore(create, 39)
    await fill(before)
    const store = await upgraded()
    const expected = {
      codes: [{ code: 'upstream_error', requests: 1, latestId: idAt(WHOLE_MS) }],
      unknown: 3,
    }
    const range = { apiKeyId: null, sinceMs: PRUNED_MS, untilMs: NOW_MS }
    const counted = () =>
      Promise.all(['A', null].map((accountId) => readErrors(store.db, { ...range, accountId })))
    expect(await counted()).toEqual([expected, expected])
    const roller = new UsageRoller({
      ...{ store, clock: { nowMs: () => NOW_MS } },
      ...{ onRolled() {}, onLate() {}, onFailure() {}, pause: async () => {} },
    })
    await roller.pass()
    expect(await counted()).toEqual([expected, expected])
    const { differences } = await auditStore(store, { checks: AUDIT_CHECKS })
    expect(differences.filter(({ what }) => what.startsWith('usage_'))).toEqual([])
  },
)
