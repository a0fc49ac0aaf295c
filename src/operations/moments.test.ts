import { expect, test } from 'vitest'
import { z } from 'zod'
import { checkInput } from './check-input.ts'
import { momentField } from './fields.ts'

const NOON = '2027-01-31T12:00:00.000Z'

function readAll(texts: readonly string[]): readonly string[] {
  return texts.map((text) => new Date(momentField.parse(text)).toISOString())
}

test('a time is read as RFC 3339, Python, PostgreSQL and date write it', () => {
  const written = [
    '2027-01-31T12:00:00Z',
    '2027-01-31t12:00:00z',
    '2027-01-31 12:00:00Z',
    '2027-01-31T12:00Z',
    '2027-01-31T12:00:00+00:00',
    '2027-01-31T13:00:00.000000+01:00',
    '2027-01-31 07:00:00-05:00',
    '2027-01-31T17:30:00+0530',
    '2027-01-31 12:00:00+00',
    '2027-01-31 13:00:00 +0100',
  ]
  expect(readAll(written)).toEqual(written.map(() => NOON))
})

test('a + that a client did not encode in a query is read all the same', () => {
  const written = ['2027-01-31T13:00:00+01:00', '2027-01-31 13:00:00 +0100']
  const arrived = written.map((text) => new URLSearchParams(`since=${text}`).get('since') ?? '')
  expect(arrived[0]).toBe('2027-01-31T13:00:00 01:00')
  expect(readAll(arrived)).toEqual([NOON, NOON])
})

test('a time finer than a millisecond is the next millisecond, whatever the letters', () => {
  expect(readAll(['2027-01-31 11:59:59.9991z'])).toEqual([NOON])
})

test.each([
  ['no offset', '2027-01-31T12:00:00'],
  ['a date alone', '2027-01-31'],
  ['no such day', '2027-02-31T12:00:00Z'],
  ['no such hour', '2027-01-31T24:00:00Z'],
  ['no such offset', '2027-01-31T12:00:00+24:00'],
  ['a comma', '2027-01-31T12:00:00,5Z'],
  ['a zone', '2027-01-31T12:00:00[UTC]'],
  ['seconds since 1970', '1801396800'],
  ['an email date', 'Sun, 31 Jan 2027 12:00:00 GMT'],
  ['spaces', ' 2027-01-31T12:00:00Z '],
  ['nothing', ''],
])('a time with %s is refused with examples', (_, text) => {
  const check = () => checkInput(z.strictObject({ since: momentField }), { since: text })
  expect(check).toThrow(
    '`since` must be a time with an offset, such as 2027-01-31T12:00:00Z or 2027-01-31T13:00:00+01:00.',
  )
})
