import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { hashApiKey, isApiKeyShaped, makeApiKey } from './api-keys.ts'

test('a new key has its tag, 43 random characters, and no twin', () => {
  const keys = Array.from({ length: 1_000 }, () => makeApiKey('tollgate'))
  for (const { text } of keys) expect(text).toMatch(/^sk-tollgate-[0-9A-Za-z]{43}$/)
  expect(new Set(keys.map(({ text }) => text)).size).toBe(1_000)
})

test('the store keeps the SHA-256 of a key, and shows its first three and last four characters', () => {
  const { text, hash, displayPrefix } = makeApiKey('acme')
  expect(hash).toBe(createHash('sha256').update(text).digest('hex'))
  expect(hashApiKey(text)).toBe(hash)
  const random = text.slice('sk-acme-'.length)
  expect(displayPrefix).toBe(`sk-acme-${random.slice(0, 3)}…${random.slice(-4)}`)
})

test.each([
  ['a key', `sk-tollgate-${'a'.repeat(43)}`, true],
  ['another tag', `sk-other-${'a'.repeat(43)}`, false],
  ['too short', `sk-tollgate-${'a'.repeat(39)}`, false],
  ['too long', `sk-tollgate-${'a'.repeat(65)}`, false],
  ['megabytes', `sk-tollgate-${'a'.repeat(10_000_000)}`, false],
  ['other characters', `sk-tollgate-${'a'.repeat(42)}é`, false],
  ['a line break behind', `sk-tollgate-${'a'.repeat(43)}\n`, false],
  ['nothing', '', false],
])('%s is checked for the shape of a key before any look-up', (_what, text, worth) => {
  expect(isApiKeyShaped({ text, keyTag: 'tollgate' })).toBe(worth)
})
