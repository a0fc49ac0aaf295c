import { describe, expect, test } from 'vitest'
import { firstByteTexts } from './first-byte.ts'
import {
  change,
  count,
  counted,
  percent,
  readPercent,
  shortChange,
  shortCount,
  typedPercent,
} from './numbers.ts'
import { ago, chartWeekday, duration, durationTick, listTime, utcTime } from './time.ts'

describe('numbers', () => {
  test('have separators, and a letter if they are long', () => {
    expect(count(48_213)).toBe('48,213')
    expect(shortCount(312_412_000)).toBe('312.4 M')
    expect(shortCount(150_000)).toBe('150.0 k')
    expect(shortCount(99_999)).toBe('99,999')
    expect([999_949, 999_950].map(shortCount)).toEqual(['999.9 k', '1.0 M'])
    expect([999_949_999, 999_950_000].map(shortCount)).toEqual(['999.9 M', '1.0 B'])
  })

  test('are percentages with two places, typed as they are shown', () => {
    for (const basisPoints of [null, 0, 1, 275, 500, 10_000]) {
      expect(readPercent(typedPercent(basisPoints))).toBe(basisPoints)
    }
    expect(readPercent(' 2.5 % ')).toBe(250)
    for (const text of ['100.01', '-1', '5,5', '1.234', 'five']) {
      expect(readPercent(text), text).toBe(undefined)
    }
  })

  test('come with their noun in the right number', () => {
    expect(counted(1, 'request')).toBe('1 request')
    expect(counted(0, 'request')).toBe('0 requests')
  })

  test('of times on one axis have one unit', () => {
    const axis = (stepMs: number) =>
      [0, 1, 2].map((step) => durationTick(step * stepMs, stepMs).replace('\u00a0', ' '))
    expect(axis(200)).toEqual(['0 ms', '200 ms', '400 ms'])
    expect(axis(500)).toEqual(['0 s', '0.5 s', '1.0 s'])
    expect(axis(2_000)).toEqual(['0 s', '2 s', '4 s'])
    expect(axis(20_000)).toEqual(['0 s', '20 s', '40 s'])
  })

  test('are shares that never read as nothing when something failed', () => {
    expect(percent(198, 48_213)).toBe('0.41%')
    expect(percent(1, 1_000_000)).toBe('<0.01%')
    expect(percent(0, 10)).toBe('0%')
    expect(percent(5, 0)).toBe('0%')
    expect([9_949, 9_950, 9_999].map((part) => percent(part, 100_000))).toEqual([
      '9.9%',
      '10%',
      '10%',
    ])
    expect([994, 995, 999].map((part) => percent(part, 100_000))).toEqual(['0.99%', '1.0%', '1.0%'])
  })

  test('are compared with the period before, if it had any', () => {
    expect(change(112, 100)).toBe('12% more than')
    expect(change(92, 100)).toBe('8% less than')
    expect(change(100, 100)).toBe('as much as')
    expect(change(500, 100)).toBe('5.0 times as much as')
    expect(change(5, 0)).toBeNull()
    expect([112, 92, 100, 500, 1_200].map((now) => shortChange(now, 100))).toEqual([
      '+12% from',
      '−8% from',
      'was',
      '5.0 times',
      '12 times',
    ])
    expect(shortChange(5, 0)).toBeNull()
  })
})

describe('times', () => {
  const now = new Date('2026-11-21T22:04:58Z')

  test('that are near are counted from now', () => {
    expect(ago(new Date('2026-11-21T22:04:50Z'), now)).toBe('8\u00a0s ago')
    expect(ago(new Date('2026-11-21T22:02:50Z'), now)).toBe('2\u00a0min ago')
    expect(ago(new Date('2026-11-21T03:02:50Z'), now)).toBe('19\u00a0h ago')
  })

  test('before today have their day, parted from the minute by a comma', () => {
    // They are in the time zone of the browser.
    const at = (day: number, second: number) => new Date(2026, 10, day, 22, 4, second)
    expect(listTime(at(21, 50), at(21, 58))).toBe('22:04:50')
    expect(listTime(at(20, 50), at(21, 58))).toBe('20\u00a0Nov, 22:04')
  })

  test('of charts are UTC days, and hovering says UTC', () => {
    expect(chartWeekday(new Date('2026-11-14T00:00:00Z'))).toBe('Sat 14 Nov')
    expect(utcTime(now)).toBe('2026-11-21 22:04:58 UTC')
  })

  test('that passed have a unit', () => {
    expect(duration(640)).toBe('640\u00a0ms')
    expect(duration(13_912)).toBe('13.9\u00a0s')
    expect(duration(200_000)).toBe('3\u00a0min 20\u00a0s')
  })

  test('are rounded into the next unit, which no number below it reaches', () => {
    expect(duration(999.4)).toBe('999\u00a0ms')
    expect(duration(999.6)).toBe('1.0\u00a0s')
    expect(duration(59_949)).toBe('59.9\u00a0s')
    expect(duration(59_970)).toBe('1\u00a0min 0\u00a0s')
  })
})

test('the times to the first byte of few requests are one approximate figure', () => {
  const times = { first_byte_ms_p50: 25, first_byte_ms_p95: 48 }
  expect(firstByteTexts({ requests: 1, ...times })).toEqual({ p50: 'about 25\u00a0ms', p95: null })
  expect(firstByteTexts({ requests: 19, ...times })).toEqual({ p50: 'about 25\u00a0ms', p95: null })
  expect(firstByteTexts({ requests: 20, ...times })).toEqual({
    p50: '25\u00a0ms',
    p95: '48\u00a0ms',
  })
  const none = { requests: 40, first_byte_ms_p50: null, first_byte_ms_p95: null }
  expect(firstByteTexts(none)).toEqual({ p50: null, p95: null })
})
