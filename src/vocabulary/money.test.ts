import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addDecimals,
  addMicros,
  chargeForCost,
  chargeForStatedCost,
  type Decimal,
  decimalOfPicos,
  divCeil,
  FEE_BASIS_POINTS_DEFAULT,
  formatDecimal,
  isNegative,
  maxMicros,
  micros,
  microsCeil,
  microsCeilAboveFee,
  microsCeilWithFee,
  microsOfDecimal,
  minMicros,
  parseDecimal,
  parsePrice,
  picosWithinFee,
  showDollars,
  showDollarText,
  showMicros,
  subtractMicros,
} from './money.ts'

/** An exact fraction, the independent second opinion on every figure here. */
interface Fraction {
  readonly over: bigint
  readonly under: bigint
}

/** A decimal's fraction, worked out from its text: digits shifted by the exponent. */
function fractionOf(text: string): Fraction {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e')
  const [whole = '', places = ''] = mantissa.split('.')
  const shift = Number(power) - places.length
  const over = BigInt(whole.replace('-', '') + places) * (mantissa.startsWith('-') ? -1n : 1n)
  return shift < 0
    ? { over, under: 10n ** BigInt(-shift) }
    : { over: over * 10n ** BigInt(shift), under: 1n }
}

function times(a: Fraction, over: bigint, under: bigint): Fraction {
  return { over: a.over * over, under: a.under * under }
}

/** The whole number nearest to a fraction that is not negative, a half going up. */
function nearest({ over, under }: Fraction): bigint {
  const below = over / under
  return (over - below * under) * 2n >= under ? below + 1n : below
}

/** The least whole number that is not below a fraction. */
function ceiling({ over, under }: Fraction): bigint {
  const towardsZero = over / under
  return over > 0n && towardsZero * under !== over ? towardsZero + 1n : towardsZero
}

function equal(a: Fraction, b: Fraction): boolean {
  return a.over * b.under === b.over * a.under
}

function decimalOf(text: string): Decimal {
  const value = parseDecimal(text)
  if (value === null) throw new TypeError(`not a decimal: ${text}`)
  return value
}

const digits = (max: number) =>
  fc
    .array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: max })
    .map((list) => list.join(''))
/** Texts of amounts that are not negative: in usual and unusual ways of writing. */
const amountTexts = fc
  .record({
    whole: digits(12),
    places: fc.option(digits(25)),
    power: fc.option(fc.integer({ min: -30, max: 8 })),
  })
  .map(
    ({ whole, places, power }) =>
      `${whole}${places === null ? '' : `.${places}`}${power === null ? '' : `e${power}`}`,
  )

const MAX = Number.MAX_SAFE_INTEGER
const isShowable = (value: bigint) => value <= BigInt(MAX)

describe('micro-dollars', () => {
  test.each([0.5, Number.NaN, Number.POSITIVE_INFINITY, MAX + 1, -MAX - 1])(
    'are not made of %d',
    (value) => {
      expect(() => micros(value)).toThrow(RangeError)
    },
  )

  test('are never minus zero', () => {
    expect(Object.is(micros(-0), 0)).toBe(true)
    expect(Object.is(subtractMicros(micros(0), micros(0)), 0)).toBe(true)
  })

  test('are added and subtracted exactly, or refused', () => {
    const any = fc.maxSafeInteger().map(micros)
    fc.assert(
      fc.property(any, any, (a, b) => {
        for (const [operation, exact] of [
          [addMicros, BigInt(a) + BigInt(b)],
          [subtractMicros, BigInt(a) - BigInt(b)],
        ] as const) {
          if (exact > BigInt(MAX) || exact < -BigInt(MAX))
            expect(() => operation(a, b)).toThrow(RangeError)
          else expect(BigInt(operation(a, b))).toBe(exact)
        }
        expect([minMicros(a, b), maxMicros(a, b)]).toEqual([Math.min(a, b), Math.max(a, b)])
      }),
    )
  })
})

describe('a decimal', () => {
  test.each([
    ['0.0000207', '0.0000207'],
    ['1.50', '1.5'],
    ['1E+2', '100'],
    ['12.5e-3', '0.0125'],
    ['0', '0'],
    ['-0.0', '0'],
    ['0e5', '0'],
    ['0.000e-7', '0'],
    ['-3.10', '-3.1'],
    ['007', '7'],
    ['1e-20', '0.00000000000000000001'],
  ])('%s is stored as %s', (text, stored) => {
    expect(formatDecimal(decimalOf(text))).toBe(stored)
  })

  test.each([
    '',
    ' 1',
    '1 ',
    '1.',
    '.5',
    '+1',
    '--1',
    '1e',
    '1e1000',
    '0x1',
    'NaN',
    'Infinity',
    '1,5',
    '1\n',
    '١',
    '9'.repeat(41),
    `0.${'9'.repeat(61)}`,
    '1e-61',
    '1e40',
    '1e-999',
    `${'9'.repeat(40)}.${'9'.repeat(60)}e999`,
  ])('is not read from %j', (text) => {
    expect(parseDecimal(text)).toBeNull()
    expect(parsePrice(text)).toBeNull()
  })

  test('has the value of its text, and survives being stored', () => {
    fc.assert(
      fc.property(amountTexts, fc.boolean(), (amount, isBelow) => {
        const text = isBelow ? `-${amount}` : amount
        const stored = formatDecimal(decimalOf(text))
        expect(stored).toMatch(/^(-?(0|[1-9]\d*)(\.\d*[1-9])?)$/)
        expect(equal(fractionOf(stored), fractionOf(text))).toBe(true)
        expect(formatDecimal(decimalOf(stored))).toBe(stored)
        expect(isNegative(decimalOf(text))).toBe(fractionOf(text).over < 0n)
      }),
      { numRuns: 2_000 },
    )
  })

  test('is added exactly', () => {
    fc.assert(
      fc.property(amountTexts, amountTexts, fc.boolean(), (a, second, isBelow) => {
        const b = isBelow ? `-${second}` : second
        const [x, y] = [fractionOf(a), fractionOf(b)]
        const sum = { over: x.over * y.under + y.over * x.under, under: x.under * y.under }
        expect(equal(fractionOf(formatDecimal(addDecimals(decimalOf(a), decimalOf(b)))), sum)).toBe(
          true,
        )
      }),
      { numRuns: 1_000 },
    )
  })

  test.each([
    ['1e39', null],
    [`${'9'.repeat(40)}.${'9'.repeat(60)}`, null],
    ['1e-60', 0],
    ['0e-999', 0],
  ])('of the widest range, %s, is handled, and survives being stored', (text, charge) => {
    const stored = formatDecimal(decimalOf(text))
    expect(equal(fractionOf(stored), fractionOf(text))).toBe(true)
    expect(formatDecimal(decimalOf(stored))).toBe(stored)
    expect(chargeForCost(decimalOf(text), 500)).toBe(charge)
  })
})

/** Fees, in hundredths of a percent. */
const fees = fc.oneof(fc.constantFrom(0, 500, 10_000), fc.integer({ min: 0, max: 10_000 }))

test('an amount in dollars has its cents, and each further place that it has', () => {
  expect(['74.5', '1', '0.0047125', '-2.5', '25.00', '0'].map(showDollarText)).toEqual([
    ...['$74.50', '$1.00', '$0.0047125', '−$2.50', '$25.00', '$0.00'],
  ])
  expect(showDollarText('much')).toBe('$much')
  expect(showDollars({ digits: 12n, exponent: 2 })).toBe('$1200.00')
  expect([1, 1_234_500, -500_000].map(showMicros)).toEqual(['$0.000001', '$1.2345', '−$0.50'])
})

describe('a charge', () => {
  test.each([
    ['0', 0],
    ['0.000198', 208],
    ['0.000123', 129],
    // 0.5 and 1.5 micro-dollars and their neighbours: a half is rounded up.
    ['0.000000476190476190', 0],
    ['0.000000476190476191', 1],
    ['0.00001', 11],
    ['0.00003', 32],
    ['0.0000099999999', 10],
    ['1', 1_050_000],
    ['1e3', 1_050_000_000],
  ])('for a cost of $%s is %d micro-dollars', (cost, charge) => {
    expect(chargeForCost(decimalOf(cost), FEE_BASIS_POINTS_DEFAULT)).toBe(charge)
  })

  test('is the cost and the fee on it, rounded half up once', () => {
    fc.assert(
      fc.property(amountTexts, fees, (text, fee) => {
        const basis = (10_000n + BigInt(fee)) * 1_000_000n
        const exact = nearest(times(fractionOf(text), basis, 10_000n))
        expect(chargeForCost(decimalOf(text), fee)).toBe(isShowable(exact) ? Number(exact) : null)
      }),
      { numRuns: 5_000 },
    )
  })

  test.each([
    [0, 1_000_000],
    [1, 1_000_100],
    [500, 1_050_000],
    [10_000, 2_000_000],
  ])('at a fee of %d hundredths of a percent has it for a cost of a dollar', (fee, charge) => {
    expect(chargeForCost(decimalOf('1'), fee)).toBe(charge)
  })

  test('exactly half way between two micro-dollars is rounded up', () => {
    // Odd numbers of half micro-dollars, as costs: cost × 1.05 = (n + 1/2) micro-dollars.
    for (let half = 1n; half < 2_000n; half += 2n) {
      const costTimes105 = half * 5n * 10n ** 6n
      if (costTimes105 % 105n !== 0n) continue
      const cost = { digits: costTimes105 / 105n, exponent: -11 }
      expect(chargeForCost(cost, 500), formatDecimal(cost)).toBe(Number((half + 1n) / 2n))
    }
  })

  test.each(['-0.01', '-1e-30', '1e16', '1e39', '9007199254.740992'])(
    'for $%s does not exist',
    (cost) => {
      expect(chargeForCost(decimalOf(cost), FEE_BASIS_POINTS_DEFAULT)).toBeNull()
    },
  )

  test('for a cost from outside is a million dollars at most', () => {
    expect(chargeForStatedCost(decimalOf('0.000198'), 500)).toBe(208)
    expect(chargeForStatedCost(decimalOf('952380'), 500)).toBe(999_999_000_000)
    expect(chargeForStatedCost(decimalOf('952381'), 500)).toBeNull()
    expect(chargeForStatedCost(decimalOf('5e9'), 500)).toBeNull()
    expect(chargeForStatedCost(decimalOf('-0.01'), 500)).toBeNull()
  })

  test('is the largest there is for the largest cost that has one', () => {
    expect(microsOfDecimal(decimalOf('9007199254.740991'))).toBe(MAX)
    expect(microsOfDecimal(decimalOf('9007199254.7409915'))).toBeNull()
  })
})

test('an amount is shown in micro-dollars, rounded half up', () => {
  fc.assert(
    fc.property(amountTexts, (text) => {
      const exact = nearest(times(fractionOf(text), 1_000_000n, 1n))
      expect(microsOfDecimal(decimalOf(text))).toBe(isShowable(exact) ? Number(exact) : null)
    }),
    { numRuns: 2_000 },
  )
  expect(microsOfDecimal(decimalOf('-1'))).toBeNull()
})

describe('a price', () => {
  test.each([
    ['0.000003', 3_000_000n],
    ['0.00000000000000000001', 1n],
    ['0.0000000000015', 2n],
    ['0', 0n],
    ['-1', -1_000_000_000_000n],
    ['-0.0000000000001', -1n],
    ['1e2', 100_000_000_000_000n],
    ['1e18', 10n ** 30n],
    ['1e19', null],
  ])('of $%s is %s pico-dollars', (text, price) => {
    expect(parsePrice(text)).toBe(price)
  })

  test('is never below its text, and by less than a pico-dollar above it', () => {
    fc.assert(
      fc.property(amountTexts, (text) => {
        expect(parsePrice(text)).toBe(ceiling(times(fractionOf(text), 10n ** 12n, 1n)))
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('a hold', () => {
  const picos = fc.bigInt({ min: 0n, max: 10n ** 22n })

  test('in micro-dollars is rounded up, with and without the fee', () => {
    fc.assert(
      fc.property(picos, fees, (amount, fee) => {
        const bounded = (value: bigint) => (isShowable(value) ? Number(value) : MAX)
        expect(microsCeil(amount)).toBe(bounded(ceiling({ over: amount, under: 1_000_000n })))
        const over = amount * (10_000n + BigInt(fee))
        const withFee = ceiling({ over, under: 10_000_000_000n })
        expect(microsCeilWithFee(amount, fee)).toBe(bounded(withFee))
      }),
      { numRuns: 2_000 },
    )
  })

  test('covers the charge for the same amount', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 20n }), fees, (amount, fee) => {
        const charge = chargeForCost(decimalOfPicos(amount), fee)
        expect(charge).toBeLessThanOrEqual(microsCeilWithFee(amount, fee))
      }),
      { numRuns: 2_000 },
    )
  })

  test('of its own figure equals the figure up to the default fee, and grows with a higher fee', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 20n }), fees, (amount, fee) => {
        const held = microsCeilAboveFee(amount, fee)
        if (fee <= FEE_BASIS_POINTS_DEFAULT) expect(held).toBe(microsCeil(amount))
        else {
          const usual = decimalOfPicos((amount * 10_000n) / 10_500n)
          expect(chargeForCost(usual, fee)).toBeLessThanOrEqual(held)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  test('pays for exactly as many pico-dollars as come to no more than it', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger().map(Math.abs), fees, (amount, fee) => {
        fc.pre(amount < MAX)
        const most = picosWithinFee(micros(amount), fee)
        expect(microsCeilWithFee(most, fee)).toBeLessThanOrEqual(amount)
        expect(microsCeilWithFee(most + 1n, fee)).toBeGreaterThan(amount)
      }),
      { numRuns: 2_000 },
    )
  })
})

test('a quotient rounded up is the least whole number that is not below it', () => {
  const any = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n })
  fc.assert(
    fc.property(any, fc.bigInt({ min: 1n, max: 10n ** 20n }), (numerator, divisor) => {
      const quotient = divCeil(numerator, divisor)
      expect(quotient * divisor >= numerator && (quotient - 1n) * divisor < numerator).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})
