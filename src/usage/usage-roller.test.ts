import { describe, expect, test } from 'vitest'
import { pauseMsAfter } from './usage-roller.ts'

describe('the pause after a statement that rolls history up', () => {
  test('leaves an idle process three quarters of the time', () => {
    expect(pauseMsAfter({ tookMs: 100, busyShare: 0 })).toBe(300)
  })

  test('leaves a process that serves all it can ninety-nine hundredths', () => {
    expect(pauseMsAfter({ tookMs: 100, busyShare: 1 })).toBe(9_900)
  })

  test('is the longer, the busier the process is', () => {
    const pauses = [0, 0.2, 0.5, 0.9].map((busyShare) => pauseMsAfter({ tookMs: 10, busyShare }))
    expect(pauses).toEqual(pauses.toSorted((one, other) => one - other))
    expect(new Set(pauses).size).toBe(pauses.length)
  })

  test('is long enough for a waiting writer, even after a very short statement', () => {
    expect(pauseMsAfter({ tookMs: 0, busyShare: 0 })).toBe(2)
  })
})
