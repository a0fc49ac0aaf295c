import { expect, test } from 'vitest'
import { USAGE_COMMAND } from './reports.ts'
import { readExpiry, readSince, readSinceOrDate } from './times.ts'
import { sentOf } from './typed-input.ts'

const NEW_YEAR_MS = Date.parse('2027-01-01T13:30:00Z')

test.each([
  ['today', '2027-01-01'],
  ['yesterday', '2026-12-31'],
  ['this-month', '2027-01-01'],
  ['last-month', '2026-12-01'],
])('--since %s is a UTC day, also across a new year', (word, date) => {
  expect(readSince(word, NEW_YEAR_MS)).toBe(`${date}T00:00:00.000Z`)
  expect(readSinceOrDate(word, NEW_YEAR_MS, { timeZone: 'UTC' })).toBe(date)
})

test.each([
  ['today', 'Europe/Berlin', '2027-01-01'],
  ['last-month', 'Europe/Berlin', '2026-12-01'],
  ['this-month', 'Europe/Berlin', '2027-01-01'],
  ['this-month', 'America/New_York', '2026-12-01'],
  ['2026-12-31', 'Europe/Berlin', '2026-12-31'],
  ['1h', 'Europe/Berlin', '2026-12-31T22:15:00.000Z'],
  ['today', 'Mars/Olympus', '2026-12-31'],
])('--since %s just after midnight in Berlin is in the zone %s, as %s', (word, timeZone, date) => {
  expect(readSinceOrDate(word, Date.parse('2026-12-31T23:15:00Z'), { timeZone })).toBe(date)
})

test('the range of a usage report is in its time zone', () => {
  const options = { since: 'last-month', until: 'this-month', timeZone: 'Europe/Berlin' }
  const { query } = sentOf(USAGE_COMMAND, [], {
    options,
    nowMs: Date.parse('2026-10-31T23:15:00Z'),
  })
  expect(query).toEqual({ from: '2026-10-01', to: '2026-11-01', time_zone: 'Europe/Berlin' })
})

test('another word is refused with the accepted words, and `none` is an expiry', () => {
  for (const word of ['tomorrow', 'constructor']) {
    expect(() => readSince(word, NEW_YEAR_MS)).toThrow('today, yesterday, this-month or last-month')
  }
  expect(() => readExpiry('yesterday', NEW_YEAR_MS)).toThrow('how long from now')
})
