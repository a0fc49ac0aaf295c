import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { auditStore } from '../ledger/audit/audit.ts'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { DAY_MS } from '../vocabulary/clock.ts'
import { timeOfId } from '../vocabulary/ids.ts'
import { micros } from '../vocabulary/money.ts'
import { auditUsage } from './audit-usage.ts'
import { type ErrorsQuery, readErrors } from './read-errors.ts'
import { finalOf, HISTORY_FROM_MS, historySteps, UsageHistory } from './testing/usage-history.ts'

const RUNS = 3

/** The start of a day: late requests may have ids of the day before the history. */
const FROM_MS = (Math.floor(HISTORY_FROM_MS / DAY_MS) - 1) * DAY_MS

type Query = Omit<ErrorsQuery, 'sinceMs' | 'untilMs'>

const QUERIES: readonly Query[] = [
  { accountId: null, apiKeyId: null },
  { accountId: 'A1', apiKeyId: null },
  { accountId: 'A1', apiKeyId: 'K1' },
  { accountId: null, apiKeyId: null, modelId: 'acme/one', upstream: ['one', 'three'] },
  { accountId: 'A2', apiKeyId: null, endpoint: 'messages' },
]

/** Compares counts with the requests that there ever were. */
async function expectExact(history: UsageHistory): Promise<void> {
  const all = await history.requests()
  const bounds = {
    sinceMs: FROM_MS,
    untilMs: history.nowMs + 1,
  }
  for (const query of QUERIES) {
    const isOf = (value: string, some: string | readonly string[] | null | undefined) =>
      some === null || some === undefined || [some].flat().includes(value)
    const failed = all.filter(
      (row) =>
        row.errorCode !== null &&
        (timeOfId(row.id) ?? 0) < bounds.untilMs &&
        isOf(row.accountId, query.accountId) &&
        isOf(row.apiKeyId, query.apiKeyId) &&
        isOf(row.modelId, query.modelId) &&
        isOf(row.endpoint, query.endpoint) &&
        isOf(row.upstream, query.upstream),
    )
    const counted = await readErrors(history.bench.db, { ...query, ...bounds })
    const expected = [...Map.groupBy(failed, (row) => row.errorCode ?? '')]
    expect(new Map(counted.codes.map(({ code, requests }) => [code, requests]))).toEqual(
      new Map(expected.map(([code, rows]) => [code, rows.length])),
    )
    expect(counted.unknown).toBe(0)
    for (const { code, latestId } of counted.codes) {
      const ids = failed.filter((row) => row.errorCode === code).map(({ id }) => id)
      expect([ids.toSorted().at(-1), null]).toContain(latestId)
      if (!history.hasPruned) expect(latestId).not.toBeNull()
    }
  }
  await history.audit()
}

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  test('failed requests by error code match the requests, after any roll-ups, interruptions and pruning', async () => {
    await fc.assert(
      fc.asyncProperty(historySteps, (steps) =>
        UsageHistory.within(open, async (history) => {
          for (const step of steps) await history.run(step)
          await expectExact(history)
          history.wait(3 * DAY_MS)
          await history.roll()
          await expectExact(history)
          await history.run({ kind: 'prune' })
          await expectExact(history)
        }),
      ),
      { numRuns: RUNS },
    )
  })

  test('the audit finds a roll-up whose error codes differ from those of its requests', async () => {
    const history = await UsageHistory.open(open)
    await history.settle(await history.open(0, history.nowMs), finalOf(micros(5)))
    history.wait(2 * DAY_MS)
    await history.roll()
    await history.audit()
    const { db } = history.bench.store
    const found = async () => {
      const { differences } = await auditStore(history.bench.store, { checks: [auditUsage] })
      return new Set(differences.map(({ what }) => what))
    }
    await sql`update usage_errors set code = 'other' where step = 'hour'`.execute(db)
    expect(await found()).toEqual(new Set(['usage_errors.requests']))
    await sql`delete from usage_errors`.execute(db)
    expect(await found()).toEqual(new Set(['usage_errors.requests']))
    await history.close()
  })
})
