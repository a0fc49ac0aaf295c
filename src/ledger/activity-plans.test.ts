import { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import { expect, test } from 'vitest'
import { sqliteThreadDialect } from '../store/sqlite-dialect.ts'
import type { Tables } from '../store/tables.ts'
import {
  findCredit,
  getBalance,
  getRequest,
  listEntries,
  listPurchases,
  listRequests,
} from './activity.ts'
import { sweepEarlierInstances } from './instances.ts'
import { LEDGER_LIMITS_DEFAULT } from './ledger.ts'
import { createSqliteBench } from './testing/sqlite-bench.ts'

test('no read goes through all of Activity, however it is filtered', async () => {
  const bench = await createSqliteBench({ limits: LEDGER_LIMITS_DEFAULT })
  await bench.createAccount('A1')
  const asked: string[] = []
  const db = new Kysely<Tables>({
    dialect: sqliteThreadDialect({ file: bench.file, readOnly: true }),
    log: ({ query }) => {
      asked.push(query.sql)
    },
  })
  const page = { limit: 5, cursor: 'req_4' }
  for (const filter of [
    {},
    { accountId: 'A1' },
    { apiKeyId: 'K1' },
    { state: 'unresolved' as const },
    { accountId: 'A1', state: 'open' as const, sinceMs: 5, untilMs: 9 },
  ]) {
    await listRequests(db, { ...filter, ...page })
  }
  await getRequest(db, 'req_1')
  await listEntries(db, { accountId: 'A1', before: 9, limit: 5 })
  await listPurchases(db, { accountId: 'A1', before: 9, limit: 5 })
  await findCredit(db, { accountId: 'A1', reference: 'r1' })
  await getBalance(db, { accountId: 'A1', nowMs: 0 })
  await sweepEarlierInstances({ db, books: bench.ledger, instanceId: 'I' })
  await db.destroy()

  const connection = new DatabaseSync(bench.file)
  const plans = asked.map((sql) => {
    // Without its parameters: a plan that needs their values is not one to count on.
    const steps = connection.prepare(`explain query plan ${sql}`).all()
    return { sql, steps: steps.map(({ detail }) => String(detail)) }
  })
  connection.close()
  await bench.close()
  expect(plans.length).toBe(12)
  for (const { sql, steps } of plans) expect(steps.join('; '), sql).not.toMatch(/\bSCAN\b/)
  const purchases = plans.find(({ sql }) => sql.includes('top_up'))
  expect(purchases?.steps.join('; ')).toContain('entries_purchases')
})
