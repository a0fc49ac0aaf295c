import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STORE_BENCHES, UNREACHED_LIMITS } from '../testing/benches.ts'
import { postLook } from '../testing/paid-look.ts'
import { runScript } from '../testing/script.ts'
import type { StoreBench } from '../testing/store-bench.ts'
import { sumTopUps } from './entries.ts'

let bench: StoreBench

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open({ limits: UNREACHED_LIMITS })
    await bench.createAccount('A')
    await bench.createAccount('B')
    bench.nowMs = 1_000
    await runScript(bench, 'credit A backed 500 first')
    bench.nowMs = 2_000
    await runScript(bench, 'credit A backed 70 second')
    await runScript(bench, 'credit B backed 30 third')
  })

  afterEach(() => bench.close())

  const sum = (accountId: string | null, fromMs: number, toMs: number) =>
    sumTopUps(bench.store.reports, { accountId, fromMs, toMs })

  test('the paid credit of a range is added up, without its end, for all accounts or one', async () => {
    const ofTopUps = (top_up: number) => ({ reversedMicros: 0, entries: { top_up } })
    expect(await sum(null, 0, 2_001)).toEqual({ amountMicros: 600, ...ofTopUps(3) })
    expect(await sum('A', 0, 2_001)).toEqual({ amountMicros: 570, ...ofTopUps(2) })
    expect(await sum(null, 1_000, 2_000)).toEqual({ amountMicros: 500, ...ofTopUps(1) })
    expect(await sum('B', 0, 2_000)).toEqual({ amountMicros: 0, reversedMicros: 0, entries: {} })
  })

  test('more paid credit than the largest exact number is shown as that number', async () => {
    const most = 1_000_000_000_000_000
    for (let count = 0; count < 10; count++) {
      const script = `credit A backed ${most - 600} full${count}\ncredit A backed ${600 - most} empty${count}`
      await runScript(bench, script)
    }
    expect(await sum(null, 0, 3_000)).toEqual({
      amountMicros: Number.MAX_SAFE_INTEGER,
      reversedMicros: 0,
      entries: { top_up: 13 },
    })
  })

  test('refunds and disputes count in the range in which they removed credit, less what was added again', async () => {
    const look = async (back: bigint, dispute?: 'open') => {
      await postLook(bench, 'P', { back, ...(dispute && { dispute }) })
      return sum('A', 3_000, 5_000)
    }
    bench.nowMs = 3_000
    expect(await look(0n)).toEqual({
      ...{ amountMicros: 1_000, reversedMicros: 0, entries: { purchase: 1 } },
    })
    bench.nowMs = 4_000
    expect(await look(3n)).toMatchObject({ amountMicros: 1_000, reversedMicros: 300 })
    expect(await look(10n, 'open')).toMatchObject({ amountMicros: 1_000, reversedMicros: 1_000 })
    bench.nowMs = 6_000
    await look(3n)
    expect(await sum(null, 5_000, 7_000)).toEqual({
      ...{ amountMicros: 0, reversedMicros: -700, entries: {} },
    })
  })

  test('free credit and removed credit are no top-ups', async () => {
    await runScript(bench, 'credit A free 900 gift')
    await runScript(bench, 'credit A backed -40 back')
    expect((await sum(null, 0, 3_000)).amountMicros).toBe(600)
  })
})
