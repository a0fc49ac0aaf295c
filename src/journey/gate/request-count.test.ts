import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RequestCount } from './request-count.ts'

describe('a request counts', () => {
  test('for sixty seconds, beginning with its own', () => {
    const requests = new RequestCount()
    requests.add(1_000)
    expect([1_000, 1_059, 1_060].map((second) => requests.total(second))).toEqual([1, 1, 0])
  })

  test('no longer once it is taken back', () => {
    const requests = new RequestCount()
    requests.add(1_000)
    requests.add(1_000)
    requests.remove(1_000)
    expect(requests.total(1_000)).toBe(1)
  })

  test('is not subtracted after it has left the window', () => {
    const requests = new RequestCount()
    requests.add(1_000)
    requests.add(1_060)
    requests.remove(1_000)
    expect(requests.total(1_060)).toBe(1)
  })
})

test('the wait ends when enough of the oldest requests have left the window', () => {
  const requests = new RequestCount()
  for (const second of [10, 10, 11, 40]) requests.add(second)
  const waits = [5, 4, 3, 2, 1].map((limit) => requests.secondsUntilBelow({ limit, second: 41 }))
  expect(waits).toEqual([0, 29, 29, 30, 59])
})

test('count and wait agree with a list of all requests', () => {
  const step = fc.record({
    passSeconds: fc.oneof(fc.constant(0), fc.nat(3), fc.nat(130)),
    add: fc.boolean(),
    removeAt: fc.option(fc.nat(200), { nil: null }),
  })
  fc.assert(
    fc.property(fc.nat(10_000), fc.array(step, { maxLength: 200 }), (start, steps) => {
      const requests = new RequestCount()
      let counted: number[] = []
      let second = start
      const inWindow = (at: number) => counted.filter((each) => each > at - 60).length
      for (const { passSeconds, add, removeAt } of steps) {
        second += passSeconds
        if (add) {
          requests.add(second)
          counted.push(second)
        }
        const removed = removeAt === null ? undefined : counted[removeAt % (counted.length || 1)]
        if (removed !== undefined) {
          requests.remove(removed)
          counted = counted.toSpliced(counted.indexOf(removed), 1)
        }
        expect(requests.total(second)).toBe(inWindow(second))
        for (const limit of [1, 2, 5]) {
          const wait = requests.secondsUntilBelow({ limit, second })
          expect(inWindow(second + wait)).toBeLessThan(limit)
          if (wait > 0) expect(inWindow(second + wait - 1)).toBeGreaterThanOrEqual(limit)
        }
      }
    }),
  )
})
