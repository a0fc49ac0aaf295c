import { describe, expect, test } from 'vitest'
import { MINUTE_MS } from '../vocabulary/clock.ts'
import { micros } from '../vocabulary/money.ts'
import { type TokenRate, usableRate, valueDeposit } from './deposit-value.ts'

const NOW_MS = 1_700_000_000_000

const RATE: TokenRate = {
  chainId: 1,
  token: `0x${'a'.repeat(40)}`,
  rate8: 100_000_000,
  feedAtMs: NOW_MS,
  readAtMs: NOW_MS,
}

const judged = (row: Partial<TokenRate>) =>
  usableRate({ ...RATE, ...row }, { nowMs: NOW_MS, price: { kind: 'fixed', rate8: 100_000_000n } })

describe('a rate', () => {
  test('is below its floor under 98 cents, and not at 98 cents', () => {
    expect(judged({ rate8: 98_000_000 })).toMatchObject({ isBelowFloor: false })
    expect(judged({ rate8: 97_999_999 })).toMatchObject({ isBelowFloor: true })
  })

  test.each([
    ['of zero', { rate8: 0 }],
    ['that was read more than ten minutes ago', { readAtMs: NOW_MS - 10 * MINUTE_MS - 1 }],
    ['that was read more than ten minutes from now', { readAtMs: NOW_MS + 10 * MINUTE_MS + 1 }],
    ['from more than five minutes ahead', { feedAtMs: NOW_MS + 5 * MINUTE_MS + 1 }],
  ])('%s is unusable', (_, row) => {
    expect(judged(row)).toMatchObject({ kind: 'unusable' })
  })

  test('is usable up to these limits', () => {
    for (const readAtMs of [NOW_MS - 10 * MINUTE_MS, NOW_MS + 10 * MINUTE_MS]) {
      expect(judged({ readAtMs, feedAtMs: NOW_MS + 5 * MINUTE_MS })).toMatchObject({
        kind: 'usable',
      })
    }
  })
})

/** The value of units of a token with 18 decimals at a dollar, with a minimum of a dollar. */
function valued(units: bigint) {
  const rate = {
    kind: 'usable',
    rate8: 100_000_000n,
    readAtMs: NOW_MS,
    isBelowFloor: false,
  } as const
  return valueDeposit({
    units,
    decimals: 18,
    rate,
    terms: { minimumMicros: micros(1_000_000), feeBps: 0 },
  })
}

describe('a deposit of a token with 18 decimals', () => {
  const DOLLAR = 10n ** 18n

  test.each([
    ['a dollar is the minimum', DOLLAR, 1_000_000, 'credit'],
    ['a unit less is rounded down, below the minimum', DOLLAR - 1n, 999_999, 'below_minimum'],
    ['a unit more adds nothing', DOLLAR + 1n, 1_000_000, 'credit'],
    ['a cent is no dust', DOLLAR / 100n, 10_000, 'below_minimum'],
  ])('%s', (_, units, creditMicros, kind) => {
    expect(valued(units)).toEqual({ creditMicros, judgment: { kind } })
  })

  test('below one cent is dust', () => {
    expect(valued(DOLLAR / 100n - 1n)).toBeNull()
  })
})
