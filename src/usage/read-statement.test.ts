import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import type { Entry } from '../store/schema.ts'
import { DAY_MS } from '../vocabulary/clock.ts'
import { timeOfId } from '../vocabulary/ids.ts'
import { micros } from '../vocabulary/money.ts'
import { ofEach } from '../vocabulary/testing/of-each.ts'
import { readStatement, type Statement, type StatementLine } from './read-statement.ts'
import { finalOf, HISTORY_FROM_MS, historySteps, UsageHistory } from './testing/usage-history.ts'

const ENTRIES_MAX = 1_000
const RUNS = 8
const THREAD_MICROSECONDS_MAX = 100_000

const dayOf = (atMs: number): number => Math.floor(atMs / DAY_MS) * DAY_MS
const sumOf = (rows: readonly { readonly amountMicros: number }[]): number =>
  rows.reduce((sum, { amountMicros }) => sum + amountMicros, 0)

async function statementOf(
  history: UsageHistory,
  range: { readonly accountId: string; readonly fromMs: number; readonly toMs: number },
): Promise<Statement> {
  const read = await readStatement(history.bench.store.pages({ owner: 'test' }), {
    ...{ ...range, nowMs: history.nowMs, entriesMax: ENTRIES_MAX },
  })
  if (read === null || read === 'tooLong') throw new Error('no statement')
  return read
}

/** The expected lines of all time, from entries alone. */
function expectedLines(entries: readonly Entry[]) {
  const isCharge = ({ kind }: Entry) => kind === 'charge' || kind === 'write_off'
  const requestDay = ({ requestId }: Entry) => dayOf(timeOfId(requestId ?? '') ?? 0)
  const charges = Map.groupBy(entries.filter(isCharge), requestDay)
  const corrections = Map.groupBy(
    entries.filter(({ kind }) => kind === 'correction'),
    ({ createdAtMs }) => dayOf(createdAtMs),
  )
  return {
    charges: new Map([...charges].map(([day, rows]) => [day, sumOf(rows)])),
    corrections: new Map(
      [...corrections].map(([day, rows]) => [day, { amount: sumOf(rows), count: rows.length }]),
    ),
    others: entries.filter((entry) => !isCharge(entry) && entry.kind !== 'correction'),
  }
}

function expectLines(lines: readonly StatementLine[], entries: readonly Entry[]): void {
  const { charges, corrections, others } = expectedLines(entries)
  const ofKind = <Kind extends StatementLine['kind']>(kind: Kind) =>
    lines.filter((line): line is Extract<StatementLine, { kind: Kind }> => line.kind === kind)
  const charged = ofKind('charge').filter(({ amountMicros }) => amountMicros !== 0)
  expect(new Map(charged.map(({ dayMs, amountMicros }) => [dayMs, amountMicros]))).toEqual(
    new Map([...charges].filter(([, amount]) => amount !== 0)),
  )
  expect(
    new Map(
      ofKind('correction').map(({ dayMs, amountMicros: amount, corrections: count }) => [
        dayMs,
        { amount, count },
      ]),
    ),
  ).toEqual(corrections)
  const byNumber = (one: Entry, other: Entry) => one.number - other.number
  expect(
    ofKind('entry')
      .map(({ entry }) => entry)
      .toSorted(byNumber),
  ).toEqual(others.toSorted(byNumber))
}

/** Compares a statement of all time with the entries, and statements of parts of it with the statement of all time. */
async function expectExact(history: UsageHistory): Promise<void> {
  const [firstMs, endMs] = [dayOf(HISTORY_FROM_MS) - 2 * DAY_MS, dayOf(history.nowMs) + 2 * DAY_MS]
  for (const accountId of ['A1', 'A2']) {
    const entries = await history.bench.entries(accountId)
    const all = await statementOf(history, { accountId, fromMs: firstMs, toMs: endMs })
    expectLines(all.lines, entries)
    expect(all.openingMicros).toBe(0)
    expect(all.closingMicros).toBe(sumOf(entries))
    const requests = (await history.requests()).filter((row) => row.accountId === accountId)
    for (const line of all.lines) {
      if (line.kind !== 'charge') continue
      const ofDay = requests.filter(({ id }) => dayOf(timeOfId(id) ?? 0) === line.dayMs)
      expect(line.requests).toBe(ofDay.length)
    }
    const days = (endMs - firstMs) / DAY_MS
    for (const [from, to] of [
      [0, 2],
      [1, 4],
      [2, 3],
      [3, days - 1],
    ] as const) {
      const [fromMs, toMs] = [firstMs + from * DAY_MS, firstMs + to * DAY_MS]
      const part = await statementOf(history, { accountId, fromMs, toMs })
      const lines = all.lines.filter(({ dayMs }) => dayMs >= fromMs && dayMs < toMs)
      expect(part.lines).toEqual(lines)
      const later = all.lines.filter(({ dayMs }) => dayMs >= toMs)
      expect(part.closingMicros).toBe(all.closingMicros - sumOf(later))
      expect(part.openingMicros).toBe(part.closingMicros - sumOf(lines))
    }
  }
}

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  const history = ofEach(() => UsageHistory.open(open))

  test('the lines of a statement add up to the entries after any history, before and after rolling up and pruning', async () => {
    await fc.assert(
      fc.asyncProperty(historySteps, (steps) =>
        UsageHistory.within(open, async (random) => {
          for (const step of steps) await random.run(step)
          await expectExact(random)
          random.wait(3 * DAY_MS)
          await random.roll()
          await expectExact(random)
          await random.run({ kind: 'prune' })
          await expectExact(random)
        }),
      ),
      { numRuns: RUNS },
    )
  })

  test('a day is one line of its requests, followed by its other changes, each with the balance after it', async () => {
    for (const amount of [7, 5]) {
      await history.settle(await history.open(0, history.nowMs), finalOf(micros(amount)))
    }
    const estimated = await history.open(0, history.nowMs)
    await history.settle(estimated, {
      kind: 'provisional',
      chargeMicros: micros(9),
      costUsd: null,
      generationId: 'g',
    })
    history.wait(DAY_MS)
    await history.bench.ledger.correct({
      requestId: estimated,
      correction: { ...finalOf(micros(4)) } as never,
    })
    const day = dayOf(HISTORY_FROM_MS)
    const { lines, openingMicros, closingMicros } = await statementOf(history, {
      accountId: 'A1',
      fromMs: day,
      toMs: day + 2 * DAY_MS,
    })
    expect(openingMicros).toBe(0)
    expect(closingMicros).toBe(100_000 - 16)
    const [correction, charge, credit] = lines
    expect(lines).toHaveLength(3)
    expect(correction).toMatchObject({
      ...{ kind: 'correction', dayMs: day + DAY_MS, amountMicros: 5, corrections: 1 },
      ...{ requestId: estimated, balanceMicros: 99_984 },
    })
    expect(charge).toEqual({
      ...{ kind: 'charge', dayMs: day, requests: 3, amountMicros: -21, balanceMicros: 99_979 },
    })
    expect(credit).toMatchObject({ kind: 'entry', amountMicros: 100_000, balanceMicros: 100_000 })
  })

  test('a statement of the year 0 takes the thread no longer than one of today', async () => {
    const fromMs = Date.parse('0000-01-01T00:00:00Z')
    const range = { accountId: 'A1', fromMs, toMs: fromMs + DAY_MS }
    await statementOf(history, range)
    const before = process.threadCpuUsage()
    expect(await statementOf(history, range)).toMatchObject({ closingMicros: 0, lines: [] })
    const { user } = process.threadCpuUsage(before)
    expect(user).toBeLessThan(THREAD_MICROSECONDS_MAX)
  })

  test('a range with more entries than a statement may have is refused, and so is an unknown account', async () => {
    const day = dayOf(HISTORY_FROM_MS)
    const read = (accountId: string, entriesMax: number) =>
      readStatement(history.bench.store.pages({ owner: 'test' }), {
        ...{ accountId, entriesMax, fromMs: day, toMs: day + DAY_MS, nowMs: history.nowMs },
      })
    expect(await read('A2', 1)).toBe('tooLong')
    expect(await read('A2', 2)).toMatchObject({ lines: [{}, {}] })
    expect(await read('A0', 2)).toBe(null)
  })
})
