import { expect, test } from 'vitest'
import { sortPlaces } from './account-list.ts'

test.each([
  [false, ['acct_2', 'acct_1', 'acct_3', 'acct_5', 'acct_4']],
  [true, ['acct_5', 'acct_3', 'acct_1', 'acct_2', 'acct_4']],
])('an account whose margin is unknown is last, descending: %j', (isDescending, sorted) => {
  const ids = ['acct_1', 'acct_2', 'acct_3', 'acct_4', 'acct_5']
  const values = new Map([
    ...[['acct_2', -7] as const, ['acct_3', 0] as const],
    ...[['acct_4', null] as const, ['acct_5', 9] as const],
  ])
  expect(sortPlaces(ids, { values, isDescending }).map(({ id }) => id)).toEqual(sorted)
})
