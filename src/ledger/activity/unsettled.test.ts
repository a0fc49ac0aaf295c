import { CompiledQuery, sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { micros } from '../../vocabulary/money.ts'
import type { Resolution } from '../../vocabulary/outcome.ts'
import { STORE_BENCHES, UNREACHED_LIMITS } from '../testing/benches.ts'
import { FACTS, holdInput, runScript } from '../testing/script.ts'
import { createSqliteBench } from '../testing/sqlite-bench.ts'
import type { StoreBench } from '../testing/store-bench.ts'
import { countHolds, listUnsettled, type UnsettledPlace } from './unsettled.ts'

/** Records the statements of reads. */
function watchStatements(reports: StoreBench['store']['reports']) {
  const statements: CompiledQuery[] = []
  const watched = reports.withPlugin({
    transformQuery: ({ node, queryId }) => {
      statements.push(reports.getExecutor().compileQuery(node, queryId))
      return node
    },
    transformResult: async ({ result }) => result,
  })
  return { watched, statements }
}

let bench: StoreBench

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open({ limits: UNREACHED_LIMITS })
    await bench.createAccount('A')
    await bench.createApiKey('K', 'A')
    await runScript(bench, 'credit A backed 1000000 first')
  })

  afterEach(() => bench.close())

  async function openHold(requestId: string, instanceId: string): Promise<void> {
    await bench.ledger.openHold(holdInput(requestId, { instanceId, amountMicros: 10 }))
  }

  async function settle(requestId: string, resolution: Resolution): Promise<void> {
    await bench.ledger.settle({ requestId, resolution, facts: FACTS })
  }

  const provisional = (generationId: string): Resolution => ({
    kind: 'provisional',
    chargeMicros: micros(1),
    costUsd: null,
    generationId,
  })

  async function listAll(limit: number) {
    const pages: (readonly string[])[] = []
    let after: UnsettledPlace | null = null
    do {
      const list = await listUnsettled(bench.store.reports, { after, limit })
      pages.push(list.requests.map(({ requestId }) => requestId))
      after = list.next
    } while (after !== null)
    return pages
  }

  test('every provisional and unresolved request is on exactly one page, and no other request', async () => {
    bench.nowMs = 5_000
    const expected = { provisional: [] as string[], unresolved: [] as string[] }
    for (let place = 0; place < 30; place++) {
      const requestId = `R${String(place).padStart(2, '0')}`
      await openHold(requestId, place < 15 ? 'I1' : 'I2')
      if (place % 5 === 0) await settle(requestId, provisional(`gen-${place}`))
      if (place % 5 === 1) await settle(requestId, { kind: 'unresolved', generationId: null })
      if (place % 5 === 2) await settle(requestId, { kind: 'released' })
      if (place % 5 === 0) expected.provisional.push(requestId)
      if (place % 5 === 1) expected.unresolved.push(requestId)
    }
    for (const limit of [1, 2, 3, 6, 7, 100]) {
      const pages = await listAll(limit)
      expect(pages.flat()).toEqual([...expected.provisional, ...expected.unresolved])
      expect(Math.max(...pages.map((page) => page.length))).toBeLessThanOrEqual(limit)
    }
    await bench.audit()
  })

  test('a request is listed in its current state', async () => {
    await openHold('R1', 'I')
    await openHold('R2', 'I')
    bench.nowMs = 7_000
    await settle('R1', provisional('gen-1'))
    await settle('R2', { kind: 'unresolved', generationId: null })
    const first = await listUnsettled(bench.store.reports, { after: null, limit: 10 })
    const second = await listUnsettled(bench.store.reports, { after: first.next, limit: 10 })
    expect([...first.requests, ...second.requests]).toEqual([
      {
        requestId: 'R1',
        state: 'provisional',
        generationId: 'gen-1',
        costReported: false,
        expectsCost: false,
        endedAtMs: 7_000,
        feeBasisPoints: 500,
      },
      {
        requestId: 'R2',
        state: 'unresolved',
        generationId: null,
        costReported: false,
        expectsCost: false,
        endedAtMs: 7_000,
        feeBasisPoints: 500,
      },
    ])
    expect(second.next).toBeNull()
    await bench.audit()
  })

  test('an empty store has no unsettled requests and no oldest one', async () => {
    expect(await countHolds(bench.store.reports)).toEqual([
      { state: 'open', holds: 0, oldestOpenedAtMs: null },
      { state: 'provisional', holds: 0, oldestOpenedAtMs: null },
      { state: 'unresolved', holds: 0, oldestOpenedAtMs: null },
    ])
  })

  test('holds are counted by state over all instances, each state with the time of its oldest hold', async () => {
    for (let place = 0; place < 20; place++) {
      bench.nowMs = 1_000 + place
      const requestId = `R${String(place).padStart(2, '0')}`
      // The oldest of a state is not of the instance that sorts first.
      await openHold(requestId, place % 2 === 0 ? 'I2' : 'I1')
      if (place % 4 === 1) await settle(requestId, { kind: 'unresolved', generationId: null })
      if (place % 4 === 2) await settle(requestId, { kind: 'released' })
    }
    expect(await countHolds(bench.store.reports)).toEqual([
      { state: 'open', holds: 10, oldestOpenedAtMs: 1_000 },
      { state: 'provisional', holds: 0, oldestOpenedAtMs: null },
      { state: 'unresolved', holds: 5, oldestOpenedAtMs: 1_001 },
    ])
  })

  test('counting reads an index and never all of Activity', async () => {
    const { db, location } = bench.store
    await openHold('R', 'I')
    const numbers =
      location.kind === 'postgres'
        ? sql`generate_series(1, 20000) as numbers(n)`
        : sql`(with recursive counted(n) as (select 1 union all select n + 1 from counted where n < 20000) select n from counted) as numbers`
    await sql`
      insert into requests (id, account_id, api_key_id, instance_id, endpoint, model_id, stream, state, price_snapshot_id, opened_at_ms)
      select 'Q' || n, 'A', 'K', 'I', 'chat', 'author/name', 0, 'final', 'prices', n from ${numbers}
    `.execute(db)
    await sql`analyze requests`.execute(db)

    const { reports } = bench.store
    const { watched, statements } = watchStatements(reports)
    expect((await countHolds(watched))[0]).toEqual({ state: 'open', holds: 1, oldestOpenedAtMs: 0 })
    expect(statements).toHaveLength(4)
    const explain = location.kind === 'postgres' ? 'explain' : 'explain query plan'
    for (const statement of statements) {
      const { rows } = await reports.executeQuery<Record<string, unknown>>(
        CompiledQuery.raw(`${explain} ${statement.sql}`, [...statement.parameters]),
      )
      const plan = rows.map((row) => Object.values(row).join(' ')).join('\n')
      expect(plan, statement.sql).toMatch(/\bindex\b/i)
      expect(plan, statement.sql).not.toMatch(/Seq Scan on (?!holds)|\bSCAN (?!holds|all_requests)/)
    }
  })
})

test('a page of a SQLite store is found and sorted by the index, for any other rows', async () => {
  const alone = await createSqliteBench()
  const { reports } = alone.store
  const { watched, statements } = watchStatements(reports)
  await listUnsettled(watched, { after: null, limit: 10 })
  const [statement] = statements
  const plan = await reports.executeQuery<{ readonly detail: string }>(
    CompiledQuery.raw(`explain query plan ${statement?.sql}`, [...(statement?.parameters ?? [])]),
  )
  expect(plan.rows.map(({ detail }) => detail)).toEqual([
    'SEARCH requests USING INDEX requests_unsettled (state=? AND (instance_id,id)>(?,?))',
  ])
  await alone.close()
})
