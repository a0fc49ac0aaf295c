import { expect, test } from 'vitest'
import { shortId } from './ids.ts'

test.for([
  ['acct_01kbh0c7x5qv3m9t2r8w6e0002', 'acct_01kb…0002'],
  ['acct_short', 'acct_short'],
] as const)('a shortened ID keeps both ends: %s is %s', ([id, text]) => {
  expect(shortId(id)).toBe(text)
})
