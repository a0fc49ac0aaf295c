import { expect, test } from 'vitest'
import { readExpiry, readSince, readSinceOrDate } from './times.ts'

const NEW_YEAR_MS = Date.parse('2027-01-01T13:30:00Z')

test.each([
  ['today', '2027-01-01'],
  ['yesterday', '2026-12-31'],
  ['this-month', '2027-01-01'],
  ['last-month', '2026-12-01'],
])('--since %s is a UTC day, also across a new year', (word, date) => {
  expect(readSince(word, NEW_YEAR_MS)).toBe(`${date}T00:00:00.000Z`)
  expect(readSinceOrDate(word, NEW_YEAR_MS)).toBe(date)
})

test('another word is refused with the accepted words, and `none` is an expiry', () => {
  for (const word of ['tomorrow', 'constructor']) {
    expect(() => readSince(word, NEW_YEAR_MS)).toThrow('today, yesterday, this-month or last-month')
  }
  expect(() => readExpiry('yesterday', NEW_YEAR_MS)).toThrow('how long from now')
})
