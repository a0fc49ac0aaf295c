import { CompiledQuery, sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { micros } from '../../vocabulary/money.ts'
import { STORE_BENCHES } from '../testing/benches.ts'
import { FACTS, holdInput, runScript } from '../testing/script.ts'
import type { StoreBench } from '../testing/store-bench.ts'
import { countHolds } from './unsettled.ts'

let bench: StoreBench

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open({
      limits: {
        openHoldsMax: 100,
        keyRequestsPerMinuteMax: 10_000,
        unbackedAccountRequestsPerMinuteMax: 10_000,
      },
    })
    await bench.createAccount('A')
    await bench.createApiKey('K', 'A')
    await runScript(bench, 'credit A backed 1000000 first')
  })

  afterEach(() => bench.close())

  async function openHold(requestId: string, instanceId: string): Promise<void> {
    await bench.ledger.openHold({
      ...holdInput(requestId),
      accountId: 'A',
      apiKeyId: 'K',
      instanceId,
      neededMicros: micros(10),
      leastMicros: micros(10),
      freeCreditQualifies: false,
      freeCreditAloneRunsOnLess: false,
    })
  }

  test('an empty store has none of any state, and no oldest', async () => {
    expect(await countHolds(bench.store.reports)).toEqual([
      { state: 'open', holds: 0, oldestOpenedAtMs: null },
      { state: 'provisional', holds: 0, oldestOpenedAtMs: null },
      { state: 'unresolved', holds: 0, oldestOpenedAtMs: null },
    ])
  })

  test('holds are counted by state over all instances, each with when its oldest came', async () => {
    for (let place = 0; place < 20; place++) {
      bench.setNowMs(1_000 + place)
      const requestId = `R${String(place).padStart(2, '0')}`
      // The oldest of a state is not of the instance that sorts first.
      await openHold(requestId, place % 2 === 0 ? 'I2' : 'I1')
      const settle = bench.ledger.settle.bind(bench.ledger)
      if (place % 4 === 1) {
        const resolution = { kind: 'unresolved', generationId: null } as const
        await settle({ requestId, resolution, facts: FACTS })
      }
      if (place % 4 === 2) {
        await settle({ requestId, resolution: { kind: 'released' }, facts: FACTS })
      }
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

    const statements: CompiledQuery[] = []
    const { reports } = bench.store
    const watched = reports.withPlugin({
      transformQuery: ({ node, queryId }) => {
        statements.push(reports.getExecutor().compileQuery(node, queryId))
        return node
      },
      transformResult: async ({ result }) => result,
    })
    expect((await countHolds(watched))[0]).toEqual({
      state: 'open',
      holds: 1,
      oldestOpenedAtMs: 0,
    })
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
