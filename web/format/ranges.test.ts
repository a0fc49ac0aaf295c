import { expect, test } from 'vitest'
import type { DateRange } from '../../src/vocabulary/date-range.ts'
import { comparedPhrase, comparedText, rangeText } from './ranges.ts'

const dates = (from: string, to: string): DateRange => ({ kind: 'dates', from, to })

test.each([
  [{ kind: 'moving', range: '30d' }, 'Last 30 days'],
  [dates('2026-10-01', '2026-10-31'), 'October 2026'],
  [dates('2026-10-31', '2026-10-31'), '31 Oct 2026'],
  [dates('2026-10-03', '2026-11-04'), '3 Oct to 4 Nov 2026'],
  [dates('2025-12-31', '2026-01-01'), '31 Dec 2025 to 1 Jan 2026'],
] as const)('%j is called %s', (range, text) => {
  expect(rangeText(range)).toBe(text)
})

test.each([
  ['2026-10-01', '2026-11-01', 'before', 'September', 'in September'],
  ['2026-10-02', '2026-11-01', 'before', 'the 30 days before', 'in the 30 days before'],
  ['2026-10-02', '2026-10-03', 'before', 'the day before', 'the day before'],
  ['2026-10-01', '2026-11-01', 'year', 'a year before', 'a year before'],
] as const)(
  'from %s until %s, %s is called %s, and charged %s',
  (from, until, comparison, text, phrase) => {
    const span = { fromMs: Date.parse(from), toMs: Date.parse(until) }
    expect(comparedText(span, comparison)).toBe(text)
    expect(comparedPhrase(span, comparison)).toBe(phrase)
  },
)
