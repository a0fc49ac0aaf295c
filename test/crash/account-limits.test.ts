import { describe, expect, test } from 'vitest'
import { ACCOUNTS } from '../../src/store/schema.ts'
import { TEST_DATABASES } from '../../src/store/testing/test-databases.ts'
import { micros } from '../../src/vocabulary/money.ts'
import {
  type AccountLimits,
  CREDIT_MICROS,
  type CrashBench,
  openCrashBench,
} from './crash-bench.ts'
import { type Spent, spendThroughKills, withRandomKills } from './random-kills.ts'

const KILLS = 3
const KEYS = 4
/** The credit of the account: a few dozen requests of all its keys, which have no limits. */
const LIMIT_MICROS = micros(6_000)

const LIMITS: readonly (readonly [name: string, limits: AccountLimits])[] = [
  ['credit', { creditMicros: LIMIT_MICROS }],
  [
    'monthly allowance',
    {
      creditMicros: micros(CREDIT_MICROS),
      allowance: {
        allowanceMicros: LIMIT_MICROS,
        allowancePeriod: 'month',
        allowanceTimeZone: 'UTC',
      },
    },
  ],
]

describe.each(TEST_DATABASES)('kill -9 under load on $engine', ({ create }) => {
  test.each(LIMITS)(
    `${KILLS} times at any moment: the keys of an account together spend and hold no more than its %s`,
    (_, ofAccount) =>
      withRandomKills({ kills: KILLS, answersMax: 40 }, async (killedAfter) => {
        const bench = await openCrashBench({ createDatabase: create, apiKeys: KEYS, ofAccount })
        try {
          const holds = () => limitHolds(bench, ofAccount)
          const spent = await spendThroughKills(bench, { killedAfter, holds })
          for (const { spentMicros } of spent) expect(spentMicros).toBeGreaterThan(LIMIT_MICROS / 2)
        } finally {
          await bench.close()
        }
      }),
  )
})

/** Fails unless the account is within its credit and its allowance; what it has spent and holds. */
async function limitHolds(bench: CrashBench, { creditMicros }: AccountLimits): Promise<[Spent]> {
  const account = await bench.look(async ({ db }) => {
    const rows = db.selectFrom('accounts').selectAll().where('id', '=', bench.accountId)
    return ACCOUNTS.read(await rows.executeTakeFirstOrThrow())
  })
  const { backedBalanceMicros, backedHeldMicros: heldMicros, period, openHolds } = account
  expect(backedBalanceMicros - heldMicros).toBeGreaterThanOrEqual(0)
  const requests = await bench.requests()
  const spentMicros = requests.reduce((sum, { backedChargeMicros }) => sum + backedChargeMicros, 0)
  expect(backedBalanceMicros).toBe(creditMicros - spentMicros)
  expect(spentMicros + heldMicros).toBeLessThanOrEqual(LIMIT_MICROS)
  if (period !== null) {
    const { periodSpendMicros, periodHeldMicros } = period
    expect([periodSpendMicros, periodHeldMicros]).toEqual([spentMicros, heldMicros])
  }
  return [{ spentMicros, heldMicros, openHolds }]
}
