/**
 * Money is an integer of one unit. Everything posted, held or shown is micro-dollars; prices are
 * pico-dollars, because a token can cost far less than a micro-dollar; the cost that a provider reports is an
 * exact decimal until the one rounding that makes it a charge. No floating point touches any of it.
 */

declare const microsBrand: unique symbol

/** Micro-dollars: a safe integer, 1,000,000 to the dollar. Made only by {@link micros}. */
export type Micros = number & { readonly [microsBrand]: true }

/** Pico-dollars, 10^12 to the dollar: the unit of catalog prices (per token, search, image, request). */
export type Picos = bigint

/** An exact decimal: `digits × 10^exponent`. A provider's cost has this form until it becomes a charge. */
export interface Decimal {
  readonly digits: bigint
  readonly exponent: number
}

const PICOS_PER_MICRO = 1_000_000n

/** Micro-dollars in a dollar. */
export const MICROS_PER_DOLLAR = 1_000_000

/** Micro-dollars in a cent. */
export const MICROS_PER_CENT = 10_000

/** The platform fee where the operator has set no other, in hundredths of a percent: 5%. */
export const FEE_BASIS_POINTS_DEFAULT = 500

/** The highest platform fee that can be set: 100%. */
export const FEE_BASIS_POINTS_MAX = 10_000

/** The paid credit, in micro-dollars, below which an account's credit is low where it has no amount of its own: $5. */
export const LOW_BALANCE_MICROS_DEFAULT = 5_000_000

const COST_BASIS_POINTS = 10_000n

/** A cost with its fee, in hundredths of a percent of the cost. */
function basisPointsWithFee(feeBasisPoints: number): bigint {
  return COST_BASIS_POINTS + BigInt(feeBasisPoints)
}

/** Zero micro-dollars. */
export const ZERO_MICROS = 0 as Micros

/** Brands an integer as micro-dollars. Throws RangeError for anything but a safe integer. */
export function micros(value: number): Micros {
  if (!Number.isSafeInteger(value))
    throw new RangeError(`not a whole number of micro-dollars: ${value}`)
  return (value === 0 ? 0 : value) as Micros
}

/** The sum. Throws RangeError beyond a safe integer. */
export function addMicros(a: Micros, b: Micros): Micros {
  return micros(a + b)
}

/** The difference, which may be negative. Throws RangeError beyond a safe integer. */
export function subtractMicros(a: Micros, b: Micros): Micros {
  return micros(a - b)
}

/**
 * The most credit that can be added to an account up to, both purses together, and the debt up to which credit can be
 * removed: a billion dollars. The rest of a safe integer is room for charges, corrections and refunds, which nothing refuses.
 */
export const BALANCE_MICROS_MAX = micros(1_000_000_000_000_000)

/** A sum over many accounts or entries: exact up to the largest safe integer, and not more than that. */
export function cappedMicros(sum: number): Micros {
  return micros(Math.max(-Number.MAX_SAFE_INTEGER, Math.min(sum, Number.MAX_SAFE_INTEGER)))
}

/** The smaller. */
export function minMicros(a: Micros, b: Micros): Micros {
  return a < b ? a : b
}

/** The larger. */
export function maxMicros(a: Micros, b: Micros): Micros {
  return a > b ? a : b
}

// Bounds the work for hostile digits: a number of a million digits is not money.
const DECIMAL_TEXT = /^(-?)(\d{1,40})(?:\.(\d{1,60}))?(?:[eE]([+-]?\d{1,3}))?$/

const WHOLE_DIGITS_MAX = 40
const PLACES_MAX = 60

/**
 * Reads a JSON number's source text, or a catalog's decimal string, exactly. Null for what is not a
 * decimal, or is one of more digits than any amount of money has, written out: what {@link formatDecimal}
 * makes of it is always read again.
 */
export function parseDecimal(text: string): Decimal | null {
  const match = DECIMAL_TEXT.exec(text)
  if (match === null) return null
  const [, sign, whole = '', fraction = '', power = '0'] = match
  const digits = BigInt(whole + fraction)
  if (digits === 0n) return { digits, exponent: 0 }
  const exponent = Number(power) - fraction.length
  const wholeDigits = digits.toString().length + exponent
  if (wholeDigits > WHOLE_DIGITS_MAX || exponent < -PLACES_MAX) return null
  return { digits: sign === '-' ? -digits : digits, exponent }
}

/** The plain decimal text of an amount, without exponent or trailing zeros: how a cost is stored. */
export function formatDecimal(value: Decimal): string {
  if (value.digits === 0n) return '0'
  const negative = value.digits < 0n
  let digits = (negative ? -value.digits : value.digits).toString()
  if (value.exponent >= 0) digits += '0'.repeat(value.exponent)
  else {
    const places = -value.exponent
    digits = digits.padStart(places + 1, '0')
    const fraction = digits.slice(-places).replace(/0+$/, '')
    digits = digits.slice(0, -places) + (fraction === '' ? '' : `.${fraction}`)
  }
  return negative ? `-${digits}` : digits
}

/** Dollars as a person reads them, exactly: `$74.50`, `$0.00000015`. */
export function showDollars(amountUsd: Decimal): string {
  const sign = isNegative(amountUsd) ? '−' : ''
  const [whole = '', places = ''] = formatDecimal(amountUsd).replace('-', '').split('.')
  return `${sign}$${whole}.${places.padEnd(2, '0')}`
}

/** A decimal text in dollars, as the API and catalogs have it, as a person reads it; text that is no decimal stays. */
export function showDollarText(usd: string): string {
  const amountUsd = parseDecimal(usd)
  return amountUsd === null ? `$${usd}` : showDollars(amountUsd)
}

/** Micro-dollars as a person reads them: `$0.001234`. */
export function showMicros(amountMicros: number): string {
  return showDollars({ digits: BigInt(amountMicros), exponent: -6 })
}

/** The exact sum of two decimals. */
export function addDecimals(a: Decimal, b: Decimal): Decimal {
  const exponent = Math.min(a.exponent, b.exponent)
  const digitsAt = (value: Decimal): bigint =>
    value.digits * 10n ** BigInt(value.exponent - exponent)
  return { digits: digitsAt(a) + digitsAt(b), exponent }
}

/** Whether it is below zero. */
export function isNegative(value: Decimal): boolean {
  return value.digits < 0n
}

/**
 * The charge for a provider's cost in dollars: the cost and the fee on it, in hundredths of a percent, rounded half
 * up to a micro-dollar, once. Null if the cost is negative or beyond any real amount.
 */
export function chargeForCost(costUsd: Decimal, feeBasisPoints: number): Micros | null {
  if (costUsd.digits < 0n) return null
  return roundHalfUp(
    {
      digits: costUsd.digits * basisPointsWithFee(feeBasisPoints),
      exponent: costUsd.exponent + 6,
    },
    COST_BASIS_POINTS,
  )
}

/** A price with the fee on it, in hundredths of a percent, exactly. */
export function priceWithFee(price: Decimal, feeBasisPoints: number): Decimal {
  return { digits: price.digits * basisPointsWithFee(feeBasisPoints), exponent: price.exponent - 4 }
}

// A thousand times the charge of the most expensive model for the longest call. A balance has room for thousands of
// these.
const STATED_CHARGE_MICROS_MAX = 1_000_000_000_000

/**
 * Like {@link chargeForCost}, for a cost that comes from outside: null also above a charge of a million
 * dollars, which no request costs.
 */
export function chargeForStatedCost(costUsd: Decimal, feeBasisPoints: number): Micros | null {
  const chargeMicros = chargeForCost(costUsd, feeBasisPoints)
  return chargeMicros === null || chargeMicros > STATED_CHARGE_MICROS_MAX ? null : chargeMicros
}

/** A dollar amount in micro-dollars, rounded half up; for showing a provider's own cost. */
export function microsOfDecimal(usd: Decimal): Micros | null {
  if (usd.digits < 0n) return null
  return roundHalfUp({ digits: usd.digits, exponent: usd.exponent + 6 }, 1n)
}

/** An amount finer than micro-dollars: whole ones, and millionths of one. Sums of both columns are carried by {@link roundedCost}. */
interface ExactCost {
  readonly costMicros: Micros
  /** In pico-dollars. */
  readonly costRestPico: number
}

// A thousand times the highest charge. A store keeps smaller amounts in 64 bits.
const EXACT_COST_PICOS_MAX = 10n ** 21n

/**
 * The cost behind a charge: the provider's cost, or the estimated cost of an estimated charge. Without a charge, the cost
 * that became known after the hold was released. Rounded half up to a pico-dollar. Null: unknown, or above any real amount.
 */
export function costBehind({
  costUsd,
  lateCostUsd,
  chargeMicros,
  feeBasisPoints,
}: {
  /** Decimal texts in their stored form. */
  readonly costUsd: string | null
  readonly lateCostUsd: string | null
  readonly chargeMicros: Micros
  readonly feeBasisPoints: number
}): ExactCost | null {
  const text = costUsd ?? lateCostUsd
  const cost = text === null ? null : parseDecimal(text)
  if (cost !== null) return exactCost({ ...cost, exponent: cost.exponent + 12 }, 1n)
  if (text !== null || chargeMicros === 0) return null
  const estimate = { digits: BigInt(chargeMicros) * COST_BASIS_POINTS, exponent: 6 }
  return exactCost(estimate, basisPointsWithFee(feeBasisPoints))
}

function exactCost(picosValue: Decimal, denominator: bigint): ExactCost | null {
  const picos = picosValue.digits < 0n ? null : quotientHalfUp(picosValue, denominator)
  if (picos === null || picos >= EXACT_COST_PICOS_MAX) return null
  return {
    costMicros: micros(Number(picos / PICOS_PER_MICRO)),
    costRestPico: Number(picos % PICOS_PER_MICRO),
  }
}

/** Sums of the parts of {@link ExactCost} in micro-dollars: carried, then rounded half up once. */
export function roundedCost({
  costMicros,
  costRestPico,
}: {
  readonly costMicros: number
  readonly costRestPico: number
}): Micros {
  return micros(costMicros + Math.floor((costRestPico + 500_000) / 1_000_000))
}

function roundHalfUp(value: Decimal, denominator: bigint): Micros | null {
  const rounded = quotientHalfUp(value, denominator)
  return rounded === null || rounded > BigInt(Number.MAX_SAFE_INTEGER)
    ? null
    : micros(Number(rounded))
}

function quotientHalfUp(value: Decimal, denominator: bigint): bigint | null {
  // Beyond any real amount; smaller exponents are bounded by the decimals that are read.
  if (value.exponent > 30 && value.digits !== 0n) return null
  const numerator = value.exponent > 0 ? value.digits * 10n ** BigInt(value.exponent) : value.digits
  const divisor = value.exponent < 0 ? denominator * 10n ** BigInt(-value.exponent) : denominator
  return (2n * numerator + divisor) / (2n * divisor)
}

/**
 * A catalog price in dollars as pico-dollars, rounded up where it is finer than that, so that a hold
 * is never sized below it. Null if the text is no decimal; negative prices stay negative, however
 * small (the catalog drops such rows).
 */
export function parsePrice(text: string): Picos | null {
  const value = parseDecimal(text)
  if (value === null) return null
  const exponent = value.exponent + 12
  if (exponent > 30) return null
  if (exponent >= 0) return value.digits * 10n ** BigInt(exponent)
  const divisor = 10n ** BigInt(-exponent)
  return value.digits < 0n ? -divCeil(-value.digits, divisor) : divCeil(value.digits, divisor)
}

/** Pico-dollars as micro-dollars, rounded up: for holds, which must not fall short. */
export function microsCeil(picos: Picos): Micros {
  return boundedMicros(divCeil(picos, PICOS_PER_MICRO))
}

/** Pico-dollars with the platform fee, in micro-dollars, rounded up: for holds. */
export function microsCeilWithFee(picos: Picos, feeBasisPoints: number): Micros {
  const grownPicos = picos * basisPointsWithFee(feeBasisPoints)
  return boundedMicros(divCeil(grownPicos, PICOS_PER_MICRO * COST_BASIS_POINTS))
}

/**
 * Pico-dollars that a hold has in the place of a cost with its fee, in micro-dollars, rounded up: as they are up to
 * the default fee, and above it grown as much as the charge is.
 */
export function microsCeilAboveFee(picos: Picos, feeBasisPoints: number): Micros {
  if (feeBasisPoints <= FEE_BASIS_POINTS_DEFAULT) return microsCeil(picos)
  const grown = picos * basisPointsWithFee(feeBasisPoints)
  return boundedMicros(
    divCeil(grown, PICOS_PER_MICRO * basisPointsWithFee(FEE_BASIS_POINTS_DEFAULT)),
  )
}

/**
 * The most pico-dollars that cost no more than this with the platform fee, rounded up: the cost that a hold can pay
 * for.
 */
export function picosWithinFee(amount: Micros, feeBasisPoints: number): Picos {
  return (BigInt(amount) * PICOS_PER_MICRO * COST_BASIS_POINTS) / basisPointsWithFee(feeBasisPoints)
}

/** Pico-dollars as the exact dollar amount, for charges computed from token counts. */
export function decimalOfPicos(picos: Picos): Decimal {
  return { digits: picos, exponent: -12 }
}

// A hold above 2^53 micro-dollars (nine billion dollars) is refused by every account.
function boundedMicros(value: bigint): Micros {
  const max = BigInt(Number.MAX_SAFE_INTEGER)
  return micros(Number(value > max ? max : value))
}

/** Quotient rounded towards positive infinity; the divisor is positive. */
export function divCeil(numerator: bigint, divisor: bigint): bigint {
  const quotient = numerator / divisor
  return numerator > 0n && numerator % divisor !== 0n ? quotient + 1n : quotient
}

/** Credit that was bought or activated, and credit that was given. */
export type Purse = (typeof PURSES)[number]

/** Both kinds of credit. */
export const PURSES = ['backed', 'free'] as const

const NO_CREDIT = { adds: null, of: null } as const

/**
 * Every reason for which an entry is posted, with facts about all of its entries. `adds`: the credit that they add, `paid`
 * for, given `back` of paid credit that was taken, or `free`. `of`: the prefix of the IDs that their references begin
 * with, which no other credit may have.
 */
export const ENTRY_FACTS = {
  /** Paid credit added. */
  top_up: { adds: 'paid', of: null },
  /** Paid credit of a code. */
  activation: { adds: 'paid', of: 'code' },
  /** Paid credit that was bought. */
  purchase: { adds: 'paid', of: 'pur' },
  /** The change of a purchase's credit by refunds and disputes, either way. */
  reversal: { adds: 'back', of: 'pur' },
  /** Paid credit that was removed. */
  chargeback: NO_CREDIT,
  /** Free credit added. */
  grant: { adds: 'free', of: null },
  /** The charge of a request. */
  charge: NO_CREDIT,
  /** The difference between a request's charge and its final cost. */
  correction: NO_CREDIT,
  /** Free credit that lapsed. */
  expiry: NO_CREDIT,
  /** The part of a charge on free credit that the purse could not pay. */
  write_off: NO_CREDIT,
} as const

/** Why an entry was posted. */
export type EntryKind = keyof typeof ENTRY_FACTS

/** The reasons. The table has no other names, as its type says. */
export const ENTRY_KINDS = Object.keys(ENTRY_FACTS) as readonly EntryKind[]

const MICROS = /_micros$/

/** A figure of the audit, `table.column`, as people read it: its name without the unit, and whether it is micro-dollars. */
export function auditedFigure(what: string): { readonly name: string; readonly isMoney: boolean } {
  return { name: what.replace(MICROS, ''), isMoney: MICROS.test(what) }
}
