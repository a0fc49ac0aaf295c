import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RequestCount } from './request-count.ts'

test('count and wait agree with a list of all requests', () => {
  const step = fc.record({
    passSeconds: fc.oneof(fc.constant(0), fc.nat(3), fc.nat(130)),
    add: fc.boolean(),
    removeAt: fc.option(fc.nat(200), { nil: null }),
  })
  fc.assert(
    fc.property(fc.nat(10_000), fc.array(step, { maxLength: 200, size: 'max' }), (start, steps) => {
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
