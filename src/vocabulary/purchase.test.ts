import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Micros, micros } from './money.ts'
import {
  creditOf,
  decimalsOf,
  type ExchangeTerms,
  feeOf,
  formatUnits,
  receiptNumberText,
  reversalOf,
  reversedCredit,
  reversedUnits,
  unitsFor,
} from './purchase.ts'

const CENTS: ExchangeTerms = { decimals: 2, rate8: 100_000_000n, feeBps: 0 }
const USDC: ExchangeTerms = { decimals: 6, rate8: 100_000_000n, feeBps: 0 }

const terms: fc.Arbitrary<ExchangeTerms> = fc.record({
  decimals: fc.integer({ min: 0, max: 24 }),
  rate8: fc.bigInt({ min: 1n, max: 300_000_000n }),
  feeBps: fc.integer({ min: 0, max: 9_999 }),
})
const creditMicros: fc.Arbitrary<Micros> = fc
  .oneof(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }))
  .map(micros)

describe('the credit of a payment', () => {
  test.each([
    [1_000n, CENTS, 10_000_000],
    [1n, CENTS, 10_000],
    [10_000_000n, USDC, 10_000_000],
    [1n, USDC, 1],
    [0n, USDC, 0],
    [10_000_000n, { ...USDC, rate8: 99_000_000n }, 9_900_000],
    // Never more than a dollar for one.
    [10_000_000n, { ...USDC, rate8: 101_000_000n }, 10_000_000],
    [10_000_000n, { ...USDC, feeBps: 250 }, 9_750_000],
    // 18 decimals: less than a micro-dollar is none.
    [999_999_999_999n, { ...USDC, decimals: 18 }, 0],
    [1_000_000_000_000n, { ...USDC, decimals: 18 }, 1],
    [2n ** 53n - 1n, USDC, Number.MAX_SAFE_INTEGER],
    [2n ** 53n, USDC, null],
    [2n ** 255n, USDC, null],
  ] as const)('of %s units at %o is %s', (units, atTerms, credited) => {
    expect(creditOf(units, atTerms)).toBe(credited)
  })

  test('is at most the value of the units, and less than a micro-dollar below it', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 30n }), terms, (units, atTerms) => {
        const credited = creditOf(units, atTerms)
        if (credited === null) return
        const rate8 = atTerms.rate8 > 100_000_000n ? 100_000_000n : atTerms.rate8
        // Both sides times 10^decimals × 10^8 × 10^4.
        const whole = 10n ** BigInt(atTerms.decimals) * 10n ** 12n
        const worth = units * 10n ** 6n * rate8 * BigInt(10_000 - atTerms.feeBps)
        expect(BigInt(credited) * whole <= worth).toBe(true)
        expect((BigInt(credited) + 1n) * whole > worth).toBe(true)
      }),
    )
  })

  test('is at least the requested credit for the units of a quote, and less for one unit less', () => {
    fc.assert(
      fc.property(creditMicros, terms, (asked, atTerms) => {
        const units = unitsFor(asked, atTerms)
        expect(creditOf(units, atTerms) ?? Number.MAX_SAFE_INTEGER).toBeGreaterThanOrEqual(asked)
        expect(creditOf(units - 1n, atTerms)).toBeLessThan(asked)
      }),
    )
  })

  test.each([
    [{ ...USDC, rate8: 0n }],
    [{ ...USDC, rate8: -1n }],
    [{ ...USDC, feeBps: 10_000 }],
    [{ ...USDC, feeBps: -1 }],
  ])('does not exist at %o', (impossible) => {
    expect(() => creditOf(1n, impossible)).toThrow(RangeError)
    expect(() => unitsFor(micros(1), impossible)).toThrow(RangeError)
  })

  test('of a negative payment does not exist', () => {
    expect(() => creditOf(-1n, USDC)).toThrow(RangeError)
  })
})

test.each([
  [1_000n, 2, '10.00'],
  [5n, 2, '0.05'],
  [0n, 2, '0.00'],
  [1n, 6, '0.000001'],
  [12n, 0, '12'],
] as const)('%s units of %s decimals are written %s', (units, decimals, written) => {
  expect(formatUnits(units, decimals)).toBe(written)
})

test.each([
  ['card', 'usd', 2],
  ['card', 'eur', null],
  ['base-usdc', 'USDC', 6],
  ['base-usd0', 'USD0', null],
  // 18 on BNB Smart Chain, which only the settings of a sale say.
  ['bsc-usdc', 'USDC', null],
  ['chain-59144-usdc', 'USDC', null],
] as const)(
  'once %s is no longer on sale, %s has its decimals only where they are known for certain',
  (method, currency, decimals) => {
    expect(decimalsOf({ method, currency }, new Map())).toBe(decimals)
    expect(decimalsOf({ method, currency }, new Map([[method, 18]]))).toBe(18)
  },
)

describe('the credit that a refund removes', () => {
  const of = (credit: number, paidUnits: bigint, reversedUnits: bigint) =>
    reversedCredit({ creditMicros: micros(credit), paidUnits, reversedUnits })

  test.each([
    [25_000_000, 2_500n, 0n, 0],
    [25_000_000, 2_500n, 1_000n, 10_000_000],
    [25_000_000, 2_500n, 2_500n, 25_000_000],
    [25_000_000, 2_500n, 9_999n, 25_000_000],
    // A third of a micro-dollar goes back as one.
    [1, 3n, 1n, 1],
    [10, 3n, 1n, 4],
    [10, 3n, 2n, 7],
    [10, 3n, 3n, 10],
  ])('of %s, when of %s units %s are back, is %s', (credit, paid, reversed, expected) => {
    expect(of(credit, paid, reversed)).toBe(expected)
  })

  test('is never below its part nor above the credit, never falls, and is all at the end', () => {
    const units = fc.bigInt({ min: 0n, max: 10n ** 24n })
    fc.assert(
      fc.property(creditMicros, units, units, units, (credit, paid, one, other) => {
        const paidUnits = paid + 1n
        const back = of(credit, paidUnits, one)
        expect(back).toBeLessThanOrEqual(credit)
        const counted = one > paidUnits ? paidUnits : one
        expect(BigInt(back) * paidUnits >= BigInt(credit) * counted).toBe(true)
        expect((BigInt(back) - 1n) * paidUnits < BigInt(credit) * counted).toBe(true)
        expect(of(credit, paidUnits, one + other)).toBeGreaterThanOrEqual(back)
        expect(of(credit, paidUnits, paidUnits)).toBe(credit)
        expect(of(credit, paidUnits, 0n)).toBe(0)
      }),
    )
  })

  test('of nothing paid, or of a negative total, does not exist', () => {
    expect(() => of(1, 0n, 0n)).toThrow(RangeError)
    expect(() => of(1, 1n, -1n)).toThrow(RangeError)
  })
})

describe('the units of removed credit', () => {
  const unitsOf = (credit: number, paidUnits: bigint, reversedMicros: Micros) =>
    reversedUnits({ creditMicros: micros(credit), paidUnits, reversedMicros })

  test('equal the refunded units if a unit buys at least a micro-dollar', () => {
    const upTo = (max: number) => fc.integer({ min: 0, max })
    fc.assert(
      fc.property(creditMicros, upTo(10 ** 9), upTo(10 ** 9), (credit, paid, refunded) => {
        const paidUnits = BigInt(Math.min(credit, paid + 1))
        const units = BigInt(refunded) % (paidUnits + 1n)
        const asked = { creditMicros: micros(credit), paidUnits, reversedUnits: units }
        expect(unitsOf(credit, paidUnits, reversedCredit(asked))).toBe(units)
      }),
    )
  })

  test('are never more than was paid, and all of it once all credit is removed', () => {
    expect(unitsOf(25_000_000, 3_124n, micros(25_000_000))).toBe(3_124n)
    expect(unitsOf(25_000_000, 3_124n, micros(8_002_561))).toBe(1_000n)
  })
})

test.each([
  [0, null, null],
  [1, null, 'partly_refunded'],
  [999, null, 'partly_refunded'],
  [1_000, null, 'refunded'],
  [1_000, 'open', 'disputed'],
  [400, 'open', 'disputed'],
  // For a purchase on hold, whose credit was never added.
  [0, 'open', 'disputed'],
  [1_000, 'lost', 'dispute_lost'],
  [400, 'lost', 'dispute_lost'],
  [0, 'won', 'dispute_won'],
  // The credit that a refund removed is still gone.
  [400, 'won', 'partly_refunded'],
  [1_000, 'won', 'refunded'],
] as const)(
  'a purchase of 1000 with %s removed and a dispute that is %s is %s',
  (reversed, dispute, is) => {
    const reversedMicros = micros(reversed)
    expect(reversalOf({ creditMicros: micros(1_000), reversedMicros, dispute })).toBe(is)
  },
)

describe('a receipt', () => {
  test('has the year in which the purchase was credited, and at least four digits', () => {
    const of = (receiptNumber: number, moment: string) =>
      receiptNumberText({ receiptNumber, creditedAtMs: Date.parse(moment) })
    expect(of(118, '2026-12-31T23:59:59.999Z')).toBe('R-2026-0118')
    expect(of(119, '2027-01-01T00:00:00Z')).toBe('R-2027-0119')
    expect(of(12_345, '2027-01-01T00:00:00Z')).toBe('R-2027-12345')
  })

  test.each([
    ['usd', 2_625n, null, 1_250_000],
    ['usd', 3_000n, 375n, 1_250_000],
    ['usd', 2_500n, 0n, 0],
    // Another rate than a dollar for one: the fee is not known.
    ['USDC', 26_000_000n, null, null],
  ])(
    'of 25 dollars of credit for %s %s with %s tax has the fee %s',
    (paidCurrency, paidUnits, taxUnits, fee) => {
      const paid = { paidCurrency, paidUnits }
      expect(feeOf({ creditMicros: micros(25_000_000), paid, taxUnits })).toBe(fee)
    },
  )
})
