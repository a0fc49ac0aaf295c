import { expect, test } from 'vitest'
import { linePoints } from './line-points.ts'

test.each([
  ['rises', 100, 145],
  ['falls', -40, 5],
])(
  'a line %s upright by what came or went at once, after it has fallen by what was spent until then',
  (_, jump, after) => {
    const points = linePoints([50, after, 4, null], new Map([[1, jump]]))
    expect(points.map(({ at, value }) => [at, value])).toEqual([
      [0, 50],
      [1, 45],
      [1, after],
      [2, 4],
      [3, null],
    ])
  },
)

test.each([
  ['from nothing', 0, 25, 24, 0],
  ['from less than the day costs', 3, 25, 20, 0],
  ['from a debt', -2, 25, 20, -5],
])(
  'a line %s shows no debt before a jump, unless there was one the day before',
  (_, before, jump, after, start) => {
    const points = linePoints([before, after], new Map([[1, jump]]))
    expect(points.map(({ value }) => value)).toEqual([before, start, after])
  },
)
