import { expect, test } from 'vitest'
import type { ApiKey } from '../../api/answers.ts'
import { keyState } from './key-state.ts'

const NOW = new Date('2026-11-27T12:00:00.000Z')
const key = (part: Partial<ApiKey>) => ({ expires_at: null, ...part }) as ApiKey

test.each([
  ['active', 'Active'],
  ['disabled', 'Disabled'],
  ['expired', 'Expired'],
  ['limit_reached', 'Limit reached'],
  ['account_suspended', 'Account suspended'],
] as const)('a key that the gateway calls %s is “%s”', (state, word) => {
  expect(keyState(key({ state }), NOW).word).toBe(word)
})

test('a key that has expired since it was read is “Expired”', () => {
  const expired = key({ state: 'active', expires_at: '2026-11-27T12:00:00.000Z' })
  expect(keyState(expired, NOW).word).toBe('Expired')
})
