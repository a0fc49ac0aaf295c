import { expect, test } from 'vitest'
import type { HoldCount } from '../ledger/activity/unsettled.ts'
import { StoreFigures } from './store-figures.ts'

const COUNTS: readonly HoldCount[] = [{ state: 'open', holds: 3, oldestOpenedAtMs: 5 }]

test('however often holds are read, the store gets one query an interval and one at a time', async () => {
  let nowMs = 0
  let queries = 0
  const figures = new StoreFigures({
    clock: { nowMs: () => nowMs },
    intervalMs: 15_000,
    query: async () => {
      queries++
      return COUNTS
    },
  })
  const atOnce = await Promise.all(Array.from({ length: 100 }, () => figures.read()))
  for (const counts of atOnce) expect(counts).toEqual(COUNTS)
  expect(queries).toBe(1)
  nowMs = 14_999
  expect(await figures.read()).toEqual(COUNTS)
  expect(queries).toBe(1)
  nowMs = 15_000
  await figures.read()
  expect(queries).toBe(2)
})

test('a clock that is set back does not stop the queries', async () => {
  let nowMs = 1_000_000
  let queries = 0
  const figures = new StoreFigures({
    clock: { nowMs: () => nowMs },
    query: async () => {
      queries++
      return COUNTS
    },
  })
  await figures.read()
  nowMs = 0
  await figures.read()
  expect(queries).toBe(2)
})

test('after a failed query the number of holds is unknown, not the previous number', async () => {
  let nowMs = 0
  let away = false
  const figures = new StoreFigures({
    clock: { nowMs: () => nowMs },
    intervalMs: 10,
    query: async () => {
      if (away) throw new Error('away')
      return COUNTS
    },
  })
  expect(await figures.read()).toEqual(COUNTS)
  away = true
  nowMs = 10
  expect(await figures.read()).toBeNull()
  away = false
  nowMs = 20
  expect(await figures.read()).toEqual(COUNTS)
})

test("a read of a store that hangs ends early, and a later read has the store's answer", async () => {
  let nowMs = 0
  const answer = Promise.withResolvers<readonly HoldCount[]>()
  const figures = new StoreFigures({
    clock: { nowMs: () => nowMs },
    waitMs: 1,
    query: () => answer.promise,
  })
  expect(await figures.read()).toBeNull()
  nowMs = 15_000
  expect(await figures.read()).toBeNull()
  answer.resolve(COUNTS)
  expect(await figures.read()).toEqual(COUNTS)
})
