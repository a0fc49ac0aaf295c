import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addsUpInCents,
  money,
  moneyParts,
  moneyTick,
  perMillionText,
  readMoney,
  signedMoney,
  typedMoney,
} from './money.ts'

describe('an amount', () => {
  test('has two places on cards, four in lists and all six in the drawer', () => {
    expect(money(1_284_270_000)).toBe('$1,284.27')
    expect(money(18_530, 4)).toBe('$0.0185')
    expect(money(18_530, 6)).toBe('$0.018530')
    expect(money(-2_500_000)).toBe('−\u2060$2.50')
    expect(money(0)).toBe('$0.00')
    expect(money(0, 4)).toBe('$0.00')
  })

  test('below a cent has four places, up to the cent itself', () => {
    expect(money(9_000)).toBe('$0.0090')
    expect(money(9_500)).toBe('$0.0095')
    expect(money(9_999)).toBe('$0.0100')
    expect(money(10_000)).toBe('$0.01')
    expect(money(-9_400)).toBe('−\u2060$0.0094')
  })

  test('is rounded half up and carries into the dollars', () => {
    expect(money(1_995_000)).toBe('$2.00')
    expect(money(1_994_999)).toBe('$1.99')
    expect(money(999_999, 4)).toBe('$1.0000')
  })

  test('of a column adds up to its rounded sum, or is known not to', () => {
    expect(addsUpInCents([1_000_000, 2_000_000], 3_000_000)).toBe(true)
    expect(addsUpInCents([4_000, 4_000], 8_000)).toBe(false)
    expect(addsUpInCents([-5_000, 5_000], 0)).toBe(true)
    expect(addsUpInCents([], 0)).toBe(true)
  })

  test('never reads as zero unless it is zero', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9_000_000_000_000 }),
        fc.constantFrom(2 as const, 4 as const, 6 as const),
        (amountMicros, places) => {
          expect(money(amountMicros, places)).toMatch(/[1-9]/)
        },
      ),
    )
  })

  test('falls into dollars and cents', () => {
    expect(moneyParts(184_270_000)).toEqual({ whole: '$184', rest: '.27' })
    expect(moneyParts(3_400)).toEqual({ whole: '$0', rest: '.0034' })
  })
})

test('a change has its sign, on the same line as the amount', () => {
  expect(signedMoney(25_000_000)).toBe('+\u2060$25.00')
  expect(signedMoney(-18_530, 4)).toBe('−\u2060$0.0185')
  expect(signedMoney(0)).toBe('$0.00')
})

describe('the label of an axis', () => {
  test('has as many places as its step needs', () => {
    expect(moneyTick(5_000_000, 5_000_000)).toBe('$5')
    expect(moneyTick(500_000, 500_000)).toBe('$0.50')
    expect(moneyTick(20_000, 20_000)).toBe('$0.02')
    expect(moneyTick(400, 200)).toBe('$0.0004')
    expect(moneyTick(0, 50)).toBe('$0')
    expect(moneyTick(-5_000_000, 5_000_000)).toBe('−\u2060$5')
  })
})

describe('an amount that is typed', () => {
  test('reads the same text that is typed into the field', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 900_000_000_000_000 }), (amountMicros) => {
        expect(readMoney(typedMoney(amountMicros))).toBe(amountMicros)
      }),
    )
  })

  test('is read with a dollar sign, separators and few places', () => {
    expect(readMoney(' $1,250.5 ')).toBe(1_250_500_000)
    expect(readMoney('.25')).toBe(250_000)
    expect(readMoney('10')).toBe(10_000_000)
  })

  test('is refused if a separator is not between groups of three digits', () => {
    for (const text of ['1234,567', '0,500', '12,34', '1,2345', ',250', '1,,000', '0123,000,000']) {
      expect(readMoney(text), text).toBeNull()
    }
    expect(readMoney('999,999,999.5')).toBe(999_999_999_500_000)
    expect(readMoney('999999999.5')).toBe(999_999_999_500_000)
  })

  test('is refused if it is not an amount', () => {
    for (const text of ['', '.', '-1', '1e3', 'ten', '0.0000001', '1..2']) {
      expect(readMoney(text), text).toBeNull()
    }
  })
})

test('a price of a token is shown for a million of them, exactly', () => {
  expect(perMillionText('0.000001')).toBe('$1.00')
  expect(perMillionText('0.0000002')).toBe('$0.20')
  expect(perMillionText('0.00000125')).toBe('$1.25')
  expect(perMillionText('0.000000000125')).toBe('$0.000125')
  expect(perMillionText('0.0015')).toBe('$1,500.00')
  expect(perMillionText('0')).toBe('$0.00')
  expect(perMillionText('-1')).toBeNull()
})
