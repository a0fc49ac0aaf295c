import { expect, test } from 'vitest'
import { echoed } from './problem.ts'

test.each([
  'acme/none',
  'meta-llama/llama-3.2-11b-vision-instruct:free',
  '/v1/chat/completion',
  '/v1/admin/accounts/acct_01K9ZQ4V7W8X9Y0A1B2C3D4E5F',
  'modèle/été',
])('%s is repeated as it is', (text) => {
  expect(echoed(text)).toBe(text)
})

test.each([
  'sk-tollgate-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfG',
  'acme/sk-or-v1-0123456789abcdef',
  'sk-\u200bor-v1-0123456789abcdef',
  'Bearer abcdefghijkl',
  'AIzaSyD4mX0aQ1b2c3d4e5f6g7h8i9j0k1l2m3n',
  '6f1c2a34-5b6d-7e8f-9012-3456789abcde',
  'A1B2C3-D4E5F6-G7H8J9-K0L1M2',
  '/v1/models/sk-or-v1-0123456789abcdef',
])('%s may be a secret, and is not repeated', (text) => {
  expect(echoed(text)).toBeNull()
})

test.each(['', '  ', '\u001b\u0007', '\u202e\u200b'])('nothing of %j can be shown', (text) => {
  expect(echoed(text)).toBeNull()
})

test('no character steers a terminal or the direction of text', () => {
  expect(echoed('a\u001b[2Jb\nc\u009bd\u202ee\u2028f\ud800')).toBe('a[2Jbcdef')
})

test('at most 200 characters are repeated, and none of them is half a character', () => {
  expect(echoed('a/'.repeat(100))).toHaveLength(200)
  expect(echoed(`${'a/'.repeat(100)}b`)).toBe(`${'a/'.repeat(99)}a…`)
  expect([...(echoed('😀 '.repeat(1_000_000)) ?? '')]).toHaveLength(200)
})
