import { expect, test } from 'vitest'
import { auditStore } from '../../src/ledger/audit/audit.ts'
import { AUDIT_CHECKS } from '../../src/operations/upkeep.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { TEST_DATABASES } from '../../src/store/testing/test-databases.ts'
import { readErrors } from '../../src/usage/read-errors.ts'
import { UsageRoller } from '../../src/usage/usage-roller.ts'
import { firstIdOf } from '../../src/vocabulary/ids.ts'
import { insertBefore, openStoreBefore } from './store-before.ts'

/** The migration that counts failed requests by error code, on the schema before it. */

const DAY_MS = 86_400_000
const NOW_MS = Date.parse('2026-03-05T12:00:00Z')
const PRUNED_MS = Date.parse('2026-03-01')
const WHOLE_MS = Date.parse('2026-03-02')

const idAt = (timeMs: number) => `${firstIdOf({ prefix: 'req', timeMs })}0000000000000001`

/** Two days that are rolled up: of the first, one of two failed requests was pruned. */
async function fill(store: Store): Promise<void> {
  const owner = { name: 'test', created_at_ms: 0 }
  const of = { model_id: 'm', endpoint: 'chat', upstream: 'one' }
  await insertBefore(store, 'accounts', [{ id: 'A', ...owner }])
  await insertBefore(store, 'api_keys', [
    { id: 'K', account_id: 'A', ...owner, key_hash: 'hash', display_prefix: 'prefix' },
  ])
  for (const [startMs, requests] of [
    [PRUNED_MS, 2],
    [WHOLE_MS, 1],
  ] as const) {
    const day = startMs / DAY_MS
    const sums = { ...of, requests, failed: requests }
    await insertBefore(store, 'requests', [
      {
        ...{ id: idAt(startMs), account_id: 'A', api_key_id: 'K', instance_id: 'I', ...of },
        ...{ stream: 0, state: 'final', price_snapshot_id: 'p', opened_at_ms: 0, settled_at_ms: 0 },
        error_code: 'upstream_error',
      },
    ])
    for (const account_id of ['', 'A']) {
      await insertBefore(store, 'usage_hours', [{ hour: day * 24, account_id, ...sums }])
      await insertBefore(store, 'usage_days', [{ day, account_id, api_key_id: '', ...sums }])
    }
    await insertBefore(store, 'usage_days', [{ day, account_id: 'A', api_key_id: 'K', ...sums }])
    await insertBefore(store, 'usage_rolled', [
      { step: 'day', number: day, requests, rolled_at_ms: 0 },
      ...Array.from({ length: 24 }, (_, hour) => {
        const rolled = hour === 0 ? requests : 0
        return { step: 'hour', number: day * 24 + hour, requests: rolled, rolled_at_ms: 0 }
      }),
    ])
  }
}

test.each(TEST_DATABASES)(
  'on $engine error codes of days whose requests are there are counted, and failures of pruned days are unknown',
  async ({ create }) => {
    const database = await create()
    const before = await openStoreBefore(database, 39)
    await fill(before)
    await before.close()
    const store = await openStore({ url: database.url, migrateStore: 'always' })
    const expected = {
      codes: [{ code: 'upstream_error', requests: 1, latestId: idAt(WHOLE_MS) }],
      unknown: 2,
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
    await store.close()
    await database.remove()
  },
)
