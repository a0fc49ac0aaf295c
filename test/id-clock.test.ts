import { expect, test } from 'vitest'
import { createPostgresDatabase } from '../src/store/testing/postgres.ts'
import { databaseOfTest } from '../src/store/testing/test-databases.ts'
import { readUsage } from '../src/usage/read-usage.ts'
import { HOUR_MS } from '../src/vocabulary/clock.ts'
import { Management } from './endpoints/management.ts'

const YEAR_MS = 365 * 86_400_000

test('requests of a gateway whose clock is a year behind are in the usage of the hour in which they ran, by the clock of the database', async () => {
  const { url } = await databaseOfTest(createPostgresDatabase)
  const gateway = await Management.start({
    settings: { DATABASE_URL: url },
    clock: { nowMs: () => Date.now() - YEAR_MS },
  })
  try {
    const accountId = await gateway.account(1_000_000)
    const { text } = await gateway.apiKey(accountId)
    const fromMs = Date.now() - HOUR_MS
    expect((await gateway.chat(text)).httpStatus).toBe(200)
    await gateway.world.gateway.settled()
    const { totals } = await readUsage(gateway.world.gateway.store.pages({ owner: 'test' }), {
      ...{ accountId, by: null, step: 'hour' },
      ...{ fromMs, toMs: Date.now() },
    })
    expect(totals.requests).toBe(1)
  } finally {
    await gateway.close()
  }
})
