import { describe, expect, test } from 'vitest'
import { ACCOUNTS, API_KEYS } from '../../src/store/schema.ts'
import { MADE_DATABASES } from '../../src/store/testing/test-databases.ts'
import { type Micros, micros } from '../../src/vocabulary/money.ts'
import { type CrashBench, type KeyLimits, openCrashBench } from './crash-bench.ts'
import { type Spent, spendThroughKills, withRandomKills } from './random-kills.ts'

const KILLS = 2
const KEYS = 4
/** The most that the account may spend: a few dozen requests of all its keys. On SQLite its credit, on PostgreSQL its allowance. */
const ACCOUNT_MICROS = micros(5_000)
/** The other of the two, which is not reached. */
const MORE_MICROS = micros(6_000)
/** The limit of each key: together they may spend more than the account. */
const KEY_MICROS = micros(1_400)

const NONE_SPENT = { periodSpendMicros: 0, periodHeldMicros: 0 }

const monthly = (allowanceMicros: Micros): NonNullable<KeyLimits['allowance']> => ({
  allowanceMicros,
  allowancePeriod: 'month',
  allowanceTimeZone: 'UTC',
})
describe.each(MADE_DATABASES)('kill -9 under load on $engine', ({ engine, create }) => {
  const [creditMicros, allowanceMicros] =
    engine === 'SQLite' ? [ACCOUNT_MICROS, MORE_MICROS] : [MORE_MICROS, ACCOUNT_MICROS]
  test(`${KILLS} times at any moment: no account and no key spends or holds more than its limits, and all holds end`, () =>
    withRandomKills({ kills: KILLS, answersMax: 40 }, async (killedAfter) => {
      const bench = await openCrashBench({
        createDatabase: create,
        apiKeys: KEYS,
        limitsOf: (place) =>
          place % 2 === 0 ? { creditLimitMicros: KEY_MICROS } : { allowance: monthly(KEY_MICROS) },
        ofAccount: { creditMicros, allowance: monthly(allowanceMicros) },
      })
      try {
        const holds = async () => [
          await accountHolds(bench, creditMicros),
          ...(await keysHold(bench)),
        ]
        const [ofAccount, ...ofKeys] = await spendThroughKills(bench, { killedAfter, holds })
        expect(ofAccount?.spentMicros).toBeGreaterThan(ACCOUNT_MICROS / 2)
        for (const { spentMicros } of ofKeys) expect(spentMicros).toBeGreaterThan(KEY_MICROS / 4)
      } finally {
        await bench.close()
      }
    }))
})

/** Fails unless the account is within its credit and its allowance; what it has spent and holds. By position: the bench, its credit. */
async function accountHolds(bench: CrashBench, creditMicros: Micros): Promise<Spent> {
  const account = await bench.look(async ({ db }) => {
    const rows = db.selectFrom('accounts').selectAll().where('id', '=', bench.accountId)
    return ACCOUNTS.read(await rows.executeTakeFirstOrThrow())
  })
  const { backedBalanceMicros, backedHeldMicros: heldMicros, period, openHolds } = account
  expect(backedBalanceMicros - heldMicros).toBeGreaterThanOrEqual(0)
  const requests = await bench.requests()
  const spentMicros = requests.reduce((sum, { backedChargeMicros }) => sum + backedChargeMicros, 0)
  expect(backedBalanceMicros).toBe(creditMicros - spentMicros)
  expect(spentMicros + heldMicros).toBeLessThanOrEqual(ACCOUNT_MICROS)
  // None before its first request.
  const { periodSpendMicros, periodHeldMicros } = period ?? NONE_SPENT
  expect([periodSpendMicros, periodHeldMicros]).toEqual([spentMicros, heldMicros])
  return { spentMicros, heldMicros, openHolds }
}

/** Fails unless every key is within its limit; what each key holds and has spent. */
async function keysHold(bench: CrashBench): Promise<readonly Spent[]> {
  const apiKeys = await bench.look(async ({ db }) => {
    const rows = await db.selectFrom('api_keys').selectAll().orderBy('name').execute()
    return rows.map((row) => API_KEYS.read(row))
  })
  const requests = await bench.requests()
  return apiKeys.map(({ id, spendMicros, heldMicros, openHolds, allowance, period }) => {
    const spentMicros = allowance === null ? spendMicros : (period?.periodSpendMicros ?? 0)
    const periodHeldMicros = allowance === null ? heldMicros : (period?.periodHeldMicros ?? 0)
    expect(spentMicros + periodHeldMicros).toBeLessThanOrEqual(KEY_MICROS)
    const own = requests.filter(({ apiKeyId }) => apiKeyId === id)
    const charged = own.reduce((sum, { backedChargeMicros }) => sum + backedChargeMicros, 0)
    expect([spentMicros, periodHeldMicros]).toEqual([charged, heldMicros])
    return { spentMicros, heldMicros, openHolds }
  })
}
