import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DAY_MS } from './clock.ts'
import {
  COMPARISONS,
  comparedSpan,
  type DateRange,
  dateOf,
  MOVING_RANGES,
  monthOf,
  readDateRange,
  readTypedDate,
  searchOf,
  spanOf,
  stepOf,
  type TimeSpan,
  wholeMonth,
  yesterday,
} from './date-range.ts'

const at = (text: string) => Date.parse(text)
const dates = (from: string, to: string): DateRange => ({ kind: 'dates', from, to })
const FIRST_MS = at('2025-03-17T12:00:00Z')

/** A span as its first and its last day. */
const daysOf = ({ fromMs, toMs }: TimeSpan) => `${dateOf(fromMs)} to ${dateOf(toMs - DAY_MS)}`

const spanAt = (range: DateRange, now: string) =>
  spanOf(range, { nowMs: at(now), firstMs: FIRST_MS })

describe('a range that moves with the day', () => {
  test.each([
    ['today', '2026-03-01T00:00:00Z', '2026-03-01 to 2026-03-01'],
    ['today', '2026-02-28T23:59:59.999Z', '2026-02-28 to 2026-02-28'],
    ['7d', '2024-03-01T10:00:00Z', '2024-02-24 to 2024-03-01'],
    ['30d', '2026-01-15T10:00:00Z', '2025-12-17 to 2026-01-15'],
    ['90d', '2026-12-31T23:00:00Z', '2026-10-03 to 2026-12-31'],
    ['month', '2024-02-29T12:00:00Z', '2024-02-01 to 2024-02-29'],
    ['month', '2026-03-01T00:00:00Z', '2026-03-01 to 2026-03-01'],
    ['year', '2026-12-31T23:59:59Z', '2026-01-01 to 2026-12-31'],
    ['year', '2027-01-01T00:00:00Z', '2027-01-01 to 2027-01-01'],
    ['all', '2026-11-25T00:00:00Z', '2025-03-01 to 2026-11-25'],
  ] as const)('%s at %s is %s', (range, now, days) => {
    expect(daysOf(spanAt({ kind: 'moving', range }, now))).toBe(days)
  })

  test('begins and ends at midnights, and has the moment in it', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...MOVING_RANGES),
        fc.integer({ min: at('1980-01-01'), max: at('2100-01-01') }),
        (range, nowMs) => {
          const { fromMs, toMs } = spanOf({ kind: 'moving', range }, { nowMs, firstMs: FIRST_MS })
          expect([fromMs % DAY_MS, toMs % DAY_MS]).toEqual([0, 0])
          expect(fromMs <= nowMs && nowMs < toMs).toBe(true)
        },
      ),
    )
  })
})

test('yesterday and whole months keep their dates when the day ends', () => {
  expect(yesterday(at('2024-03-01T00:30:00Z'))).toEqual(dates('2024-02-29', '2024-02-29'))
  expect(wholeMonth(at('2026-01-31T12:00:00Z'), -1)).toEqual(dates('2025-12-01', '2025-12-31'))
  expect(wholeMonth(at('2024-02-10T12:00:00Z'))).toEqual(dates('2024-02-01', '2024-02-29'))
  expect(wholeMonth(at('2026-12-31T12:00:00Z'), 1)).toEqual(dates('2027-01-01', '2027-01-31'))
})

describe('a comparison', () => {
  test.each([
    ['before', dates('2026-10-01', '2026-10-31'), '2026-09-01 to 2026-09-30'],
    ['before', dates('2026-03-01', '2026-03-31'), '2026-02-01 to 2026-02-28'],
    ['before', dates('2024-03-01', '2024-03-31'), '2024-02-01 to 2024-02-29'],
    ['before', dates('2026-01-01', '2026-01-31'), '2025-12-01 to 2025-12-31'],
    ['before', dates('2026-10-01', '2026-10-30'), '2026-09-01 to 2026-09-30'],
    ['before', dates('2026-03-01', '2026-03-07'), '2026-02-22 to 2026-02-28'],
    ['year', dates('2026-10-01', '2026-10-31'), '2025-10-01 to 2025-10-31'],
    ['year', dates('2024-02-01', '2024-02-29'), '2023-02-01 to 2023-02-28'],
    ['year', dates('2025-02-01', '2025-02-28'), '2024-02-01 to 2024-02-29'],
    ['year', dates('2025-01-01', '2025-02-28'), '2024-01-01 to 2024-02-29'],
    ['year', dates('2025-02-28', '2025-02-28'), '2024-02-28 to 2024-02-28'],
    ['year', dates('2025-02-22', '2025-02-28'), '2024-02-22 to 2024-02-28'],
    ['year', dates('2024-02-29', '2024-02-29'), '2023-02-28 to 2023-02-28'],
    ['year', dates('2024-02-28', '2024-02-28'), '2023-02-28 to 2023-02-28'],
    ['year', dates('2024-02-27', '2024-02-28'), '2023-02-27 to 2023-02-28'],
    ['year', dates('2027-01-01', '2027-01-01'), '2026-01-01 to 2026-01-01'],
  ] as const)('%s with %j is %s', (comparison, range, days) => {
    const span = spanAt(range, '2030-01-01T00:00:00Z')
    expect(daysOf(comparedSpan(span, comparison))).toBe(days)
  })

  test('a year earlier has the same hours of a leap day', () => {
    const span = { fromMs: at('2024-02-29T12:00:00Z'), toMs: at('2024-02-29T14:00:00Z') }
    expect(comparedSpan(span, 'year')).toEqual({
      fromMs: at('2023-02-28T12:00:00Z'),
      toMs: at('2023-02-28T14:00:00Z'),
    })
  })

  test('lies before its range', () => {
    const day = fc.integer({ min: 0, max: 40_000 })
    fc.assert(
      fc.property(
        fc.constantFrom(...COMPARISONS),
        day,
        fc.integer({ min: 1, max: 365 }),
        (comparison, first, length) => {
          const span = { fromMs: first * DAY_MS, toMs: (first + length) * DAY_MS }
          const compared = comparedSpan(span, comparison)
          expect(compared.fromMs).toBeLessThan(compared.toMs)
          expect(compared.toMs).toBeLessThanOrEqual(span.fromMs + DAY_MS)
        },
      ),
    )
  })
})

test('two days have hours, 92 days have days, and more have months', () => {
  const days = (count: number) => ({ fromMs: 0, toMs: count * DAY_MS })
  expect([1, 2, 3, 92, 93, 400].map((count) => stepOf(days(count)))).toEqual([
    'hour',
    'hour',
    'day',
    'day',
    'month',
    'month',
  ])
})

test('a whole month has its name, and no other range has', () => {
  const nameOf = (from: string, to: string) => monthOf(spanAt(dates(from, to), '2030-01-01'))
  expect(nameOf('2026-10-01', '2026-10-31')).toBe('October 2026')
  expect(nameOf('2024-02-01', '2024-02-29')).toBe('February 2024')
  expect(nameOf('2024-02-01', '2024-02-28')).toBeNull()
  expect(nameOf('2026-10-01', '2026-11-30')).toBeNull()
})

describe('an address', () => {
  test('has each range, and reads back unchanged', () => {
    const ranges = MOVING_RANGES.map((range): DateRange => ({ kind: 'moving', range }))
    for (const range of [...ranges, dates('2026-10-01', '2026-10-31')]) {
      expect(readDateRange(searchOf(range))).toEqual(range)
    }
    expect(searchOf(dates('2026-10-01', '2026-10-31'))).toEqual({
      from: '2026-10-01',
      to: '2026-10-31',
    })
  })

  test.each([
    {},
    { range: '31d' },
    { from: '2026-10-01' },
    { from: '2026-10-31', to: '2026-10-01' },
    { from: '2026-02-30', to: '2026-03-01' },
    { from: '2025-02-29', to: '2026-03-01' },
    { from: 'x', to: 7 },
  ])('with %j has no range', (search) => {
    expect(readDateRange(search)).toBeNull()
  })
})

test.each([
  ['2026-10-31', '2026-10-31'],
  [' 31 Oct ', '2026-10-31'],
  ['31 October', '2026-10-31'],
  ['1 dec', '2025-12-01'],
  ['25 Nov', '2026-11-25'],
  ['26 Nov', '2025-11-26'],
  ['29 feb', '2024-02-29'],
  ['3 May 2019', '2019-05-03'],
  ['31 Feb', null],
  ['30 Feb 2024', null],
  ['31 Octember', null],
  ['10/31/2026', null],
  ['2026-13-01', null],
  ['', null],
])('%j typed on 25 November 2026 is %j', (typed, date) => {
  expect(readTypedDate(typed, at('2026-11-25T08:00:00Z'))).toBe(date)
})
