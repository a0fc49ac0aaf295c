import { expect, test } from 'vitest'
import { isMet, measure } from './measure.ts'
import { numberText, tablesOf } from './table.ts'

test('a budget is met by a median at it, and not by one above it', () => {
  const figures = { name: 'CPU', unit: 'x', values: [1, 2, 9] } as const
  expect(isMet(measure({ ...figures, budget: 2 }))).toBe(true)
  expect(isMet(measure({ ...figures, budget: 1.99 }))).toBe(false)
  expect(isMet(measure(figures))).toBe(null)
})

test('figures have about three digits', () => {
  expect([0.1234, 12.34, 123.4, 12_345].map(numberText)).toEqual(['0.12', '12.3', '123', '12,345'])
})

test('a table is Markdown, with each figure, its edges, and whether it met its budget', () => {
  const measures = [
    measure({ name: 'CPU a request', unit: 'x', values: [2, 3, 2.5], budget: 2 }),
    measure({ name: 'memory', unit: 'MB', values: [140] }),
  ]
  expect(tablesOf([{ title: 'Core', measures }])).toBe(
    [
      '### Core',
      '',
      '| What          | Median | Least to most | Budget   | Met    |',
      '| ------------- | ------ | ------------- | -------- | ------ |',
      '| CPU a request | 2.50 × | 2.00 to 3.00  | ≤ 2.00 × | **no** |',
      '| memory        | 140 MB |               |          |        |',
      '',
    ].join('\n'),
  )
})
