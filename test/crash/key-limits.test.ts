import { describe, expect, test } from 'vitest'
import { API_KEYS } from '../../src/store/schema.ts'
import { TEST_DATABASES, type TestDatabase } from '../../src/store/testing/test-databases.ts'
import { micros } from '../../src/vocabulary/money.ts'
import { type CrashBench, type KeyLimits, openCrashBench } from './crash-bench.ts'
import { spendThroughKills, withRandomKills } from './random-kills.ts'

const KILLS = 3
const KEYS = 4
/** The limit of each key: some tens of requests. */
const LIMIT_MICROS = micros(2_000)

const MONTHLY: NonNullable<KeyLimits['allowance']> = {
  allowanceMicros: LIMIT_MICROS,
  allowancePeriod: 'month',
  allowanceTimeZone: 'UTC',
}

describe.each(TEST_DATABASES)('kill -9 under load on $engine', ({ create }) => {
  test(`${KILLS} times at any moment: no key spends or holds more than its limit, and its holds end`, () =>
    withRandomKills({ kills: KILLS, answersMax: 40 }, (killedAfter) =>
      surviveKills({ createDatabase: create, killedAfter }),
    ))
})

interface Kills {
  readonly createDatabase: () => Promise<TestDatabase>
  readonly killedAfter: readonly number[]
}

async function surviveKills({ createDatabase, killedAfter }: Kills): Promise<void> {
  const bench = await openCrashBench({
    createDatabase,
    apiKeys: KEYS,
    limitsOf: (place) =>
      place % 2 === 0 ? { creditLimitMicros: LIMIT_MICROS } : { allowance: MONTHLY },
  })
  try {
    const spent = await spendThroughKills(bench, { killedAfter, holds: () => limitsHold(bench) })
    for (const { spentMicros } of spent) expect(spentMicros).toBeGreaterThan(LIMIT_MICROS / 2)
  } finally {
    await bench.close()
  }
}

/** Fails unless every key is within its limit; what each key holds and has spent. */
async function limitsHold(bench: CrashBench) {
  const apiKeys = await bench.look(async ({ db }) => {
    const rows = await db.selectFrom('api_keys').selectAll().orderBy('name').execute()
    return rows.map((row) => API_KEYS.read(row))
  })
  const requests = await bench.requests()
  return apiKeys.map(({ id, spendMicros, heldMicros, openHolds, allowance, period }) => {
    const spentMicros = allowance === null ? spendMicros : (period?.periodSpendMicros ?? 0)
    const periodHeldMicros = allowance === null ? heldMicros : (period?.periodHeldMicros ?? 0)
    expect(spentMicros + periodHeldMicros).toBeLessThanOrEqual(LIMIT_MICROS)
    const own = requests.filter(({ apiKeyId }) => apiKeyId === id)
    const charged = own.reduce((sum, { backedChargeMicros }) => sum + backedChargeMicros, 0)
    expect([spentMicros, periodHeldMicros]).toEqual([charged, heldMicros])
    return { spentMicros, heldMicros, openHolds }
  })
}
