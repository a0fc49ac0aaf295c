import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  countInWindow,
  EMPTY_WINDOW,
  parseWindow,
  type RequestWindow,
  readWindow,
  windowText,
} from './request-window.ts'

function windowOf(momentsMs: readonly number[]): RequestWindow {
  return momentsMs.reduce((window, nowMs) => countInWindow({ window, nowMs }), EMPTY_WINDOW)
}

describe('a request window', () => {
  test('counts each request for 60 seconds from its second on', () => {
    const window = windowOf([10_900, 11_000, 11_999])
    const countAt = (nowMs: number) => readWindow({ window, nowMs, limit: 100 }).count
    expect([11_999, 69_999, 70_000, 70_999, 71_000].map(countAt)).toEqual([3, 3, 2, 2, 0])
  })

  test('names the exact second at which it has room again', () => {
    const moments = fc.array(fc.integer({ min: 0, max: 90_000 }), {
      minLength: 1,
      maxLength: 40,
      size: 'max',
    })
    fc.assert(
      fc.property(moments, fc.integer({ min: 1, max: 10 }), (unsorted, limit) => {
        const sorted = unsorted.toSorted((a, b) => a - b)
        const window = windowOf(sorted)
        const nowMs = sorted.at(-1) ?? 0
        const { retryAfterSeconds } = readWindow({ window, nowMs, limit })
        const countAfter = (seconds: number) =>
          readWindow({ window, nowMs: nowMs + seconds * 1_000, limit }).count
        if (retryAfterSeconds === null) expect(countAfter(0)).toBeLessThan(limit)
        else {
          expect(countAfter(retryAfterSeconds)).toBeLessThan(limit)
          expect(countAfter(retryAfterSeconds - 1)).toBeGreaterThanOrEqual(limit)
        }
      }),
    )
  })

  test('counts in its newest second while the clock is slightly set back', () => {
    const window = windowOf([100_000, 95_000, 99_000])
    expect(windowText(window)).toBe('100:3')
    expect(readWindow({ window, nowMs: 99_000, limit: 3 }).retryAfterSeconds).toBe(61)
  })

  test('starts again if the clock was set back by more than its length', () => {
    expect(windowText(windowOf([1_000_000, 900_000]))).toBe('900:1')
  })

  test('stays a minute long, however long it is used', () => {
    const everySecond = Array.from({ length: 500 }, (_, second) => second * 1_000)
    expect(windowText(windowOf(everySecond))).toBe(`499:${new Array(60).fill(1).join(',')}`)
  })

  test('is the same after it was saved and read, and counting does not change it', () => {
    const moments = fc.array(fc.integer({ min: 0, max: 200_000 }), { maxLength: 60, size: 'max' })
    fc.assert(
      fc.property(moments, fc.integer({ min: 0, max: 300_000 }), (momentsMs, nowMs) => {
        const window = windowOf(momentsMs)
        const text = windowText(window)
        const read = parseWindow(text)
        expect(read).toEqual(window)
        expect(countInWindow({ window: read, nowMs })).toEqual(countInWindow({ window, nowMs }))
        expect(readWindow({ window: read, nowMs, limit: 3 })).toEqual(
          readWindow({ window, nowMs, limit: 3 }),
        )
        expect(windowText({ ...window })).toBe(text)
      }),
    )
  })
})
