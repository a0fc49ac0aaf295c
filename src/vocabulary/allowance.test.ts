import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ALLOWANCE_PERIODS, isTimeZone, periodSpanAt } from './allowance.ts'
import { HOUR_MS } from './clock.ts'

function spanOf(allowanceTimeZone: string, allowancePeriod: 'day' | 'week' | 'month', at: string) {
  const { startsAtMs, endsAtMs } = periodSpanAt(
    { allowanceTimeZone, allowancePeriod },
    Date.parse(at),
  )
  return [
    new Date(startsAtMs).toISOString().replace(':00.000Z', 'Z'),
    new Date(endsAtMs).toISOString().replace(':00.000Z', 'Z'),
    (endsAtMs - startsAtMs) / HOUR_MS,
  ]
}

describe('a period', () => {
  test.each([
    // Clocks go forward, and back, in the night.
    ['Europe/Berlin', 'day', '2026-03-29T10:00Z', '2026-03-28T23:00Z', '2026-03-29T22:00Z', 23],
    ['Europe/Berlin', 'day', '2026-10-25T10:00Z', '2026-10-24T22:00Z', '2026-10-25T23:00Z', 25],
    ['Europe/Berlin', 'week', '2026-03-29T10:00Z', '2026-03-22T23:00Z', '2026-03-29T22:00Z', 167],
    ['Europe/Berlin', 'month', '2026-10-25T10:00Z', '2026-09-30T22:00Z', '2026-10-31T23:00Z', 745],
    // Clocks go forward over midnight: the day begins at one o'clock. They go back at midnight: 23 to 24 twice.
    ['America/Sao_Paulo', 'day', '2018-11-04T12:00Z', '2018-11-04T03:00Z', '2018-11-05T02:00Z', 23],
    ['America/Sao_Paulo', 'day', '2018-02-18T01:30Z', '2018-02-17T02:00Z', '2018-02-18T03:00Z', 25],
    ['America/Sao_Paulo', 'day', '2018-02-18T02:30Z', '2018-02-17T02:00Z', '2018-02-18T03:00Z', 25],
    [
      'America/Sao_Paulo',
      'month',
      '2026-11-22T12:00Z',
      '2026-11-01T03:00Z',
      '2026-12-01T03:00Z',
      720,
    ],
    ['Asia/Kathmandu', 'day', '2026-11-22T18:14Z', '2026-11-21T18:15Z', '2026-11-22T18:15Z', 24],
    ['Asia/Kathmandu', 'day', '2026-11-22T18:15Z', '2026-11-22T18:15Z', '2026-11-23T18:15Z', 24],
    // Samoa skipped a date: the one before it ends where the one after it begins.
    ['Pacific/Apia', 'day', '2011-12-30T09:59Z', '2011-12-29T10:00Z', '2011-12-30T10:00Z', 24],
    ['Pacific/Apia', 'day', '2011-12-30T10:00Z', '2011-12-30T10:00Z', '2011-12-31T10:00Z', 24],
    ['Pacific/Apia', 'week', '2011-12-30T10:00Z', '2011-12-26T10:00Z', '2012-01-01T10:00Z', 144],
    // Clocks went back a minute after midnight: the date before is shown again, and belongs to the new one.
    ['America/St_Johns', 'day', '2010-11-07T03:00Z', '2010-11-07T02:30Z', '2010-11-08T03:30Z', 25],
    ['Africa/Cairo', 'day', '2026-04-24T12:00Z', '2026-04-23T22:00Z', '2026-04-24T21:00Z', 23],
    ['UTC', 'week', '1970-01-01T00:00Z', '1969-12-29T00:00Z', '1970-01-05T00:00Z', 168],
    ['UTC', 'month', '2028-02-29T23:59Z', '2028-02-01T00:00Z', '2028-03-01T00:00Z', 696],
    ['+05:45', 'day', '2026-11-22T18:15Z', '2026-11-22T18:15Z', '2026-11-23T18:15Z', 24],
  ] as const)('in %s, by the %s, at %s', (zone, period, at, starts, ends, hours) => {
    expect(spanOf(zone, period, at)).toEqual([starts, ends, hours])
  })

  test('ends where the next begins, and contains each of its moments', () => {
    const zone = fc.constantFrom(
      ...['UTC', 'Europe/Berlin', 'America/Sao_Paulo', 'America/St_Johns', 'Pacific/Apia'],
      ...['Asia/Kathmandu', 'Africa/Casablanca', 'America/Havana', 'Australia/Lord_Howe'],
    )
    const atMs = fc.integer({
      min: Date.parse('1990-01-01T00:00Z'),
      max: Date.parse('2040-01-01T00:00Z'),
    })
    fc.assert(
      fc.property(
        zone,
        fc.constantFrom(...ALLOWANCE_PERIODS),
        atMs,
        (allowanceTimeZone, allowancePeriod, moment) => {
          const calendar = { allowanceTimeZone, allowancePeriod }
          const span = periodSpanAt(calendar, moment)
          expect(moment).toBeGreaterThanOrEqual(span.startsAtMs)
          expect(moment).toBeLessThan(span.endsAtMs)
          expect(periodSpanAt(calendar, span.startsAtMs)).toEqual(span)
          expect(periodSpanAt(calendar, span.endsAtMs - 1)).toEqual(span)
          expect(periodSpanAt(calendar, span.endsAtMs).startsAtMs).toBe(span.endsAtMs)
        },
      ),
      { numRuns: 300 },
    )
  })
})

test('a time zone is a name of the database, or an offset', () => {
  expect(['UTC', 'Europe/Berlin', '+05:45'].map(isTimeZone)).toEqual([true, true, true])
  expect(['', 'Mars/Olympus', 'Europe/Berlin\n', '../etc'].map(isTimeZone)).toEqual(
    new Array(4).fill(false),
  )
})
