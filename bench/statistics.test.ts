import fc from 'fast-check'
import { expect, test } from 'vitest'
import { median, pairedRatios, quantile, slopeOf, spreadOf } from './statistics.ts'

const FIGURES = fc.array(fc.integer({ min: -1_000, max: 1_000 }), { minLength: 1 })

test('a median is the middle figure, or between the two middle ones', () => {
  expect(median([9, 1, 5])).toBe(5)
  expect(median([9, 1, 5, 7])).toBe(6)
  expect(median([3])).toBe(3)
})

test('a median does not depend on the order, and as many lie below as above it', () => {
  fc.assert(
    fc.property(FIGURES, (figures) => {
      const middle = median(figures)
      expect(median(figures.toReversed())).toBe(middle)
      const below = figures.filter((figure) => figure < middle).length
      const above = figures.filter((figure) => figure > middle).length
      expect(below).toBeLessThanOrEqual(figures.length / 2)
      expect(above).toBeLessThanOrEqual(figures.length / 2)
    }),
  )
})

test('a quantile goes from the least to the greatest figure, in proportion between neighbours', () => {
  expect(quantile([10, 20, 30, 40, 50], 0)).toBe(10)
  expect(quantile([10, 20, 30, 40, 50], 1)).toBe(50)
  expect(quantile([10, 20, 30, 40, 50], 0.75)).toBe(40)
  expect(quantile([10, 20], 0.25)).toBe(12.5)
})

test('nothing measured is a fault, not a figure', () => {
  expect(() => median([])).toThrow(RangeError)
  expect(() => spreadOf([])).toThrow(RangeError)
  expect(() => median([1, Number.NaN, 2])).toThrow(RangeError)
  expect(() => slopeOf([{ x: 1, y: 1 }])).toThrow(RangeError)
})

test('a spread has the middle and both edges', () => {
  expect(spreadOf([4, 2, 9])).toEqual({ median: 4, low: 2, high: 9 })
})

test('ratios are of the two figures of one round', () => {
  expect(pairedRatios({ over: [10, 30], under: [5, 10] })).toEqual([2, 3])
  expect(() => pairedRatios({ over: [1, 2], under: [1] })).toThrow('do not pair')
  expect(() => pairedRatios({ over: [1], under: [0] })).toThrow('divides by 0')
})

test('a slope is exact on a line, and a wild point does not tilt it', () => {
  const line = [0, 1, 2, 3, 4, 5, 6].map((x) => ({ x, y: 100 + 8 * x }))
  expect(slopeOf(line)).toBe(8)
  expect(slopeOf(line.with(3, { x: 3, y: 90_000 }))).toBe(8)
})
