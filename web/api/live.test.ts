import { expect, test } from 'vitest'
import { pollDelayMs } from './live.ts'

test('a list is asked for every 2 seconds, and half as often after each error, up to 30 seconds', () => {
  expect([0, 1, 2, 3, 4, 5, 50].map(pollDelayMs)).toEqual([
    2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000,
  ])
})
