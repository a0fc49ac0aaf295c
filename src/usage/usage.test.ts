import fc from 'fast-check'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import type { RequestRow } from '../store/schema.ts'
import { DAY_MS, HOUR_MS } from '../vocabulary/clock.ts'
import { monthStart } from '../vocabulary/date-range.ts'
import { timeOfId } from '../vocabulary/ids.ts'
import { micros } from '../vocabulary/money.ts'
import { EACH_COUNT } from '../vocabulary/testing/token-usage.ts'
import {
  readAccounts,
  readUsage,
  readUsageCells,
  readUsageGroups,
  type Usage,
  type UsageFigures,
  type UsageGroupFigures,
  type UsageQuery,
  type UsageSeries,
} from './read-usage.ts'
import { addedUp, type Whole } from './testing/added-up.ts'
import { finalOf, HISTORY_FROM_MS, historySteps, UsageHistory } from './testing/usage-history.ts'

function whole({ firstByte: _, ...figures }: UsageFigures): Whole {
  return figures
}

function wholeGroup({ id, totals }: Pick<UsageGroupFigures, 'id' | 'totals'>) {
  return { id, totals: whole(totals) }
}

function wholeSeries({ steps, ...series }: UsageSeries) {
  return { ...series, totals: whole(series.totals), steps: steps.map(whole) }
}

/** The sums of each group's requests, the most charge first. */
function addedUpBy(
  groupOf: (row: RequestRow) => string,
  rows: readonly RequestRow[],
): readonly (readonly [string, Whole])[] {
  const groups = [...Map.groupBy(rows, groupOf)].map(([id, own]) => [id, addedUp(own)] as const)
  return groups.toSorted(
    ([id, one], [otherId, other]) =>
      other.chargeMicros - one.chargeMicros ||
      other.requests - one.requests ||
      (id < otherId ? -1 : 1),
  )
}

const GROUPS = {
  account: (row: RequestRow) => row.accountId,
  upstream: (row: RequestRow) => row.upstream,
  model: (row: RequestRow) => row.modelId,
  key: (row: RequestRow) => row.apiKeyId,
  endpoint: (row: RequestRow) => row.endpoint,
}

/** Whether each step is as long as its kind; a month may be the part of it that the chart has. */
function areSteps({ stepsMs, fromMs, toMs }: Usage, step: UsageQuery['step']): boolean {
  return [...stepsMs, toMs].every((atMs, at, bounds) => {
    const endMs = bounds[at + 1] ?? toMs
    if (step !== 'month') return atMs === fromMs + at * (step === 'day' ? DAY_MS : HOUR_MS)
    return atMs === toMs || endMs === toMs || endMs === monthStart(atMs, 1)
  })
}

interface ChartInput {
  readonly pages: Parameters<typeof readUsage>[0]
  /** Every request that there ever was. */
  readonly requests: readonly RequestRow[]
}

/** Compares a chart with the requests that it is of. */
async function expectChart({ pages, requests }: ChartInput, query: UsageQuery): Promise<void> {
  const usage = await readUsage(pages, query)
  const rows = requests.filter(
    ({ accountId }) => query.accountId === null || accountId === query.accountId,
  )
  const between = (fromMs: number, toMs: number, some = rows) =>
    some.filter(({ id }) => (timeOfId(id) ?? 0) >= fromMs && (timeOfId(id) ?? 0) < toMs)
  const shown = between(usage.fromMs, usage.toMs)
  const lengthMs = usage.toMs - usage.fromMs
  expect(whole(usage.totals)).toEqual(addedUp(shown))
  expect(whole(usage.before)).toEqual(addedUp(between(usage.fromMs - lengthMs, usage.fromMs)))
  expect(areSteps(usage, query.step)).toBe(true)
  const stepRows = usage.stepsMs.map((atMs, at) => {
    return { atMs, rows: between(atMs, usage.stepsMs[at + 1] ?? usage.toMs, shown) }
  })
  expect(usage.stepsMs[0]).toBe(usage.fromMs)
  expect(usage.steps.map(whole)).toEqual(stepRows.map((step) => addedUp(step.rows)))
  const groupOf = query.by === null ? () => null : GROUPS[query.by]
  for (const { id, totals } of usage.groups) {
    expect(whole(totals)).toEqual(addedUp(shown.filter((row) => groupOf(row) === id)))
  }
  if (query.by !== null) {
    const { by, ...range } = query
    const totals = await readUsage(pages, { ...query, firstByteOf: 'totals' })
    expect(totals.totals).toEqual(usage.totals)
    expect(totals.series.map(wholeSeries)).toEqual(usage.series.map(wholeSeries))
    const groups = await readUsageGroups(pages, { ...range, by })
    expect(groups.map(wholeGroup)).toEqual(usage.groups.map(wholeGroup))
    const cells = await readUsageCells(pages, { ...range, by })
    expect(cells.map(({ stepMs: atMs, id, totals }) => [atMs, id, whole(totals)])).toEqual(
      stepRows.flatMap((step) => addedUpBy(GROUPS[by], step.rows).map((of) => [step.atMs, ...of])),
    )
  }
  const own = usage.series.map(({ id }) => id).filter((id) => id !== null)
  for (const { id, totals, steps } of usage.series) {
    const ofSeries = shown.filter((row) => {
      const group = groupOf(row)
      return id === null ? group === null || !own.includes(group) : group === id
    })
    expect(whole(totals)).toEqual(addedUp(ofSeries))
    expect(steps.map(whole)).toEqual(
      stepRows.map((step) => addedUp(step.rows.filter((row) => ofSeries.includes(row)))),
    )
  }
}

const BY = [null, 'account', 'model', 'key', 'endpoint', 'upstream'] as const

/** The kinds of charts, in six parts: each has every account by day and by month, and every grouping once. */
const PARTS = BY.map((_, part) =>
  ([null, 'A1', 'A2'] as const).flatMap((accountId, place) =>
    (['day', 'month'] as const).map((step, count) => {
      return { accountId, step, by: BY[(part + place + 3 * count) % BY.length] ?? null }
    }),
  ),
)

/** Compares the charts of a part with requests, and the sum of all with entries. */
async function expectExact(history: UsageHistory, part: number): Promise<void> {
  const [fromMs, toMs] = [HISTORY_FROM_MS - DAY_MS, history.nowMs + 1]
  const { db } = history.bench.store
  const pages = history.bench.store.pages({ owner: 'test' })
  const charts = { pages, requests: await history.requests() }
  for (const kind of PARTS[part % PARTS.length] ?? []) {
    await expectChart(charts, { ...kind, fromMs, toMs, seriesMax: 1 })
  }
  const ofAccounts = await readAccounts(pages, { accountIds: ['A1', 'A2'], fromMs, toMs })
  for (const [place, accountId] of [null, 'A1', 'A2'].entries()) {
    // The keys of pruned requests are known only by day.
    const by = history.hasPruned ? 'model' : 'key'
    if (place === part % 3) {
      await expectChart(charts, { accountId, by, step: 'hour', fromMs: toMs - 2 * DAY_MS, toMs })
    }
    const { totals } = await readUsage(pages, { accountId, by: null, step: 'day', fromMs, toMs })
    const { posted } = await db
      .selectFrom('entries')
      .select(({ fn }) => fn.sum('amount_micros').as('posted'))
      .where('kind', 'in', ['charge', 'correction'])
      .$if(accountId !== null, (query) => query.where('account_id', '=', accountId))
      .executeTakeFirstOrThrow()
    expect(totals.chargeMicros + Number(posted ?? 0)).toBe(0)
    if (accountId !== null)
      expect(ofAccounts.get(accountId)?.chargeMicros ?? 0).toBe(totals.chargeMicros)
  }
  await history.audit()
}

describe.each(STORE_BENCHES)('on $engine', ({ engine, open }) => {
  let bench: StoreBench
  let history: UsageHistory

  beforeEach(async () => {
    history = await UsageHistory.open(open)
    bench = history.bench
  })
  afterEach(() => history.close())

  async function change(statement: string): Promise<void> {
    await sql.raw(statement).execute(bench.db)
  }

  async function rolled(step: 'hour' | 'day'): Promise<readonly number[]> {
    const rows = await bench.db
      .selectFrom('usage_rolled')
      .select('number')
      .where('step', '=', step)
      .orderBy('number')
      .execute()
    return rows.map((row) => row.number)
  }

  /** Requests of two days that are settled and rolled up, but for the last. */
  async function twoDays(): Promise<string> {
    for (let count = 0; count < 20; count++) {
      await history.settle(await history.open(count, history.nowMs), finalOf(micros(count)))
      history.wait(2.5 * HOUR_MS)
    }
    await history.roll()
    return history.open(7, history.nowMs)
  }

  test('charts, entries and the audit agree after any history, however rolls were interrupted', async () => {
    await fc.assert(
      fc.asyncProperty(historySteps, (steps) =>
        UsageHistory.within(open, async (random) => {
          let part = steps.length
          for (const [place, step] of steps.entries()) {
            await random.run(step)
            if (place % 30 === 29) await expectExact(random, part++)
          }
          await expectExact(random, part++)
          random.wait(3 * DAY_MS)
          await random.roll()
          await expectExact(random, part++)
        }),
      ),
      // On PostgreSQL a history takes eight times as long.
      { numRuns: engine === 'SQLite' ? 8 : 3 },
    )
  })

  test('an hour is rolled up an hour after its end, and a day once its hours are', async () => {
    const hour = Math.floor(HISTORY_FROM_MS / HOUR_MS)
    await history.settle(await history.open(1, history.nowMs), finalOf(micros(5)))
    history.wait((hour + 2) * HOUR_MS - 1 - history.nowMs)
    await history.roll()
    expect(await rolled('hour')).not.toContain(hour)
    history.wait(1)
    await history.roll()
    expect(await rolled('hour')).toContain(hour)
    expect(await rolled('day')).toEqual([])
    history.wait(DAY_MS)
    await history.roll()
    expect(await rolled('day')).toEqual([Math.floor(hour / 24)])
  })

  test.each([
    ['open', 0, null],
    [
      'provisional',
      1,
      { kind: 'provisional', chargeMicros: micros(3), costUsd: null, generationId: 'g' },
    ],
    ['unresolved', 2, { kind: 'unresolved', generationId: null }],
  ] as const)(
    'an hour with a request that is %s is not rolled up, and later ones are',
    async (_state, part, resolution) => {
      const hour = Math.floor(HISTORY_FROM_MS / HOUR_MS)
      const requestId = await history.open(1, history.nowMs)
      if (resolution !== null) await history.settle(requestId, resolution)
      history.wait(3 * HOUR_MS)
      await history.settle(await history.open(2, history.nowMs), finalOf(micros(5)))
      history.wait(3 * HOUR_MS)
      await history.roll()
      expect(await rolled('hour')).not.toContain(hour)
      expect(await rolled('hour')).toContain(hour + 3)
      await expectExact(history, part)
    },
  )

  test('after a settle, later facts about a request change only its uncharged cost', async () => {
    for (const resolution of [finalOf(micros(9)), { kind: 'released' }] as const) {
      const requestId = await history.open(3, history.nowMs)
      await history.settle(requestId, resolution)
      const before = await bench.request(requestId)
      await history.settle(requestId, finalOf(micros(30)))
      for (const correction of [
        { ...finalOf(micros(20)), usage: EACH_COUNT },
        { kind: 'provisional', chargeMicros: micros(8), costUsd: null, generationId: 'other' },
        { kind: 'givenUp' },
      ] as const) {
        // `finalOf` makes both a resolution and a correction.
        await bench.ledger.correct({ requestId, correction: correction as never })
      }
      await bench.ledger.abandonHolds([requestId])
      await bench.ledger.abandon(requestId)
      bench.ledger.noteGeneration({ requestId, generationId: 'late' })
      const { cost, lateCostUsd, lateReports } = (await bench.request(requestId)) ?? {}
      expect(await bench.request(requestId)).toEqual({ ...before, cost, lateCostUsd, lateReports })
    }
  })

  test('an hour that gets a request after it was rolled up is rolled up again, with its day', async () => {
    await twoDays()
    history.wait(3 * HOUR_MS)
    await history.roll()
    const hour = Math.floor(history.nowMs / HOUR_MS) - 20
    await history.settle(await history.open(2, hour * HOUR_MS), finalOf(micros(11)))
    await history.roll()
    expect(await rolled('hour')).toContain(hour)
    await expectExact(history, 3)
  })

  test('a request is pruned once it is rolled up, and charts keep it', async () => {
    const requestId = await history.open(1, history.nowMs)
    await history.settle(requestId, finalOf(micros(5)))
    history.wait(3 * DAY_MS)
    await history.run({ kind: 'prune' })
    expect(await bench.request(requestId)).toBeDefined()
    await history.roll()
    await history.run({ kind: 'prune' })
    expect(await bench.request(requestId)).toBeUndefined()
    await expectExact(history, 4)
  })

  test('pruned requests are a group of their own in charts by key and hour', async () => {
    await twoDays()
    history.wait(5 * DAY_MS)
    await history.roll()
    await history.run({ kind: 'prune' })
    const usage = await readUsage(bench.store.pages({ owner: 'test' }), {
      accountId: 'A1',
      by: 'key',
      step: 'hour',
      fromMs: HISTORY_FROM_MS,
      toMs: history.nowMs,
    })
    const ofAccount = (await history.requests()).filter(({ accountId }) => accountId === 'A1')
    expect(whole(usage.totals)).toEqual(addedUp(ofAccount))
    expect(usage.series.map(({ id }) => id)).toContain('')
    expect(usage.series.reduce((sum, { totals }) => sum + totals.requests, 0)).toBe(
      ofAccount.length,
    )
  })

  test('the audit finds each thing that differs', async () => {
    await twoDays()
    await history.audit()
    let found = ''
    for (const [differs, statement] of [
      // Rows that are changed later would hide that others are missing.
      ['a row of a day', "delete from usage_days where api_key_id = 'K1'"],
      ['a row of an hour', "delete from usage_hours where model_id = 'acme/two'"],
      ['a figure of an hour', 'update usage_hours set input_tokens = input_tokens + 1'],
      [
        'a charge of a day',
        'update usage_days set backed_charge_micros = backed_charge_micros + 1',
      ],
      ['a sum of all accounts', "update usage_hours set searches = 9 where account_id = ''"],
      ['a count of requests', 'update usage_rolled set requests = requests + 1 where requests > 0'],
      ['a settled request', "update requests set free_charge_micros = 1 where api_key_id = 'K3'"],
    ] as const) {
      await change(statement)
      const also = await history.audit().catch(({ message }: Error) => message)
      expect(also, differs).toContain('not exact')
      expect(also, differs).not.toBe(found)
      found = also ?? ''
    }
  })

  test('the audit finds a charge of a pruned request that roll-ups lost', async () => {
    await twoDays()
    history.wait(5 * DAY_MS)
    await history.run({ kind: 'prune' })
    await history.audit()
    await change(
      "update usage_days set backed_charge_micros = backed_charge_micros + 1 where api_key_id = 'K1'",
    )
    await expect(history.audit()).rejects.toThrow('usage.backed_charge_micros')
  })

  test('first-byte times are within a step of the exact times', async () => {
    for (const waitMs of [10, 100, 200, 300, 400, 500, 600, 700, 800, 60_000]) {
      const requestId = await history.open(1, history.nowMs)
      const facts = { httpStatus: 200, errorCode: null, usage: null, generationId: null }
      const firstByteAtMs = history.nowMs + waitMs
      await bench.ledger.settle({
        requestId,
        resolution: finalOf(micros(1)),
        facts: { ...facts, firstByteAtMs },
      })
    }
    const query = { accountId: 'A1', by: null, step: 'day', fromMs: HISTORY_FROM_MS } as const
    const read = () =>
      readUsage(bench.store.pages({ owner: 'test' }), { ...query, toMs: HISTORY_FROM_MS + 1 })
    const { firstByte } = (await read()).totals
    expect(firstByte?.p50Ms).toBeGreaterThan(400 / 1.5)
    expect(firstByte?.p50Ms).toBeLessThan(500 * 1.5)
    expect(firstByte?.p95Ms).toBeGreaterThan(60_000 / 1.5)
    expect(firstByte?.p95Ms).toBeLessThan(60_000 * 1.5)
    history.wait(3 * DAY_MS)
    await history.roll()
    expect((await read()).totals.firstByte).toEqual(firstByte)
    expect((await read()).rolledUntilMs).toBe(Date.parse('2026-03-04T00:00:00Z'))
  })
})
