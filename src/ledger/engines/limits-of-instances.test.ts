import { afterEach, beforeEach, expect, test } from 'vitest'
import { DAY_MS } from '../../vocabulary/clock.ts'
import { LEDGER_LIMITS_DEFAULT } from '../ledger.ts'
import { createPostgresBench, type PostgresBench } from '../testing/postgres-bench.ts'
import { holdInput, runScript } from '../testing/script.ts'
import type { BatchedLedger } from './batched-ledger.ts'
import { postgresLedger } from './create-ledger.ts'

const LIMITS = { ...LEDGER_LIMITS_DEFAULT, openHoldsMax: 1_000, keyRequestsPerMinuteMax: 10_000 }
// The clocks of two instances, on both sides of the start of a day.
const CLOCKS = [DAY_MS - 10, DAY_MS + 5]

let bench: PostgresBench
let ledgers: readonly BatchedLedger[]

beforeEach(async () => {
  bench = await createPostgresBench({ limits: LIMITS })
  ledgers = CLOCKS.map((atMs) =>
    postgresLedger({ url: bench.url, clock: { nowMs: () => atMs }, limits: LIMITS }),
  )
  await runScript(bench, 'account A\nkey K1 A\nkey K2 A\ncredit A backed 100000 r1\nat 86399')
})
afterEach(async () => {
  await bench.audit()
  for (const ledger of ledgers) await ledger.close()
  await bench.close()
})

/** Each instance opens so many holds of one micro-dollar at once; every third is of K2. */
async function openAtOnce(count: number): Promise<void> {
  const opens = ledgers.flatMap((ledger, place) =>
    Array.from({ length: count }, (_, number) =>
      ledger.openHold(
        holdInput(`req_z${place}_${number}`, {
          apiKeyId: number % 3 === 0 ? 'K2' : 'K1',
          instanceId: `I${place}`,
        }),
      ),
    ),
  )
  await Promise.all(opens)
}

/** How many holds of an owner opened in the period of each clock. */
async function openedBy(owner: { readonly apiKey?: string } = {}): Promise<readonly number[]> {
  const rows = await bench.db
    .selectFrom('all_requests')
    .select(['opened_at_ms', 'api_key_id'])
    .execute()
  const own = rows.filter((row) => owner.apiKey === undefined || row.api_key_id === owner.apiKey)
  return CLOCKS.map((atMs) => own.filter((row) => row.opened_at_ms === atMs).length)
}

test('instances whose clocks are on both sides of a boundary give each period its allowance, and no more', async () => {
  await runScript(bench, 'set A allowance 100/day UTC\nset K1 allowance 60/day UTC')
  await openAtOnce(180)
  // 120 of K1 want 60 and 60 of K2 want what K1 leaves of the account's 100.
  expect(await openedBy()).toEqual([100, 100])
  for (const count of await openedBy({ apiKey: 'K1' })) expect(count).toBeLessThanOrEqual(60)
})

test('instances together have no more requests of an account in flight than its limit', async () => {
  await runScript(bench, 'set A in-flight 150')
  await openAtOnce(150)
  const [before = 0, after = 0] = await openedBy()
  expect(before + after).toBe(150)
})

test('instances together admit no more requests and tokens of a minute than the limits', async () => {
  await runScript(bench, 'set A requests 50\nset K1 tokens 30')
  await openAtOnce(100)
  const [before = 0, after = 0] = await openedBy()
  expect(before + after).toBe(50)
  const [ofKeyBefore = 0, ofKeyAfter = 0] = await openedBy({ apiKey: 'K1' })
  expect(ofKeyBefore + ofKeyAfter).toBeLessThanOrEqual(30)
})
