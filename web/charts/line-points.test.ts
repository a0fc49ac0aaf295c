import { expect, test } from 'vitest'
import { linePoints } from './line-points.ts'

test('a line rises at a mark by what came with it, after it has fallen by what was spent until then', () => {
  const points = linePoints([50, 145, 140, null], [{ at: 1, text: '+$100', rise: 100 }])
  expect(points.map(({ at, value }) => [at, value])).toEqual([
    [0, 50],
    [1, 45],
    [1, 145],
    [2, 140],
    [3, null],
  ])
})
