import { MICROS_PER_DOLLAR } from '../../src/vocabulary/money.ts'

const PLACES_MAX = 6
// A line is not broken between a sign and its amount.
const JOINER = '\u2060'
const MINUS = `−${JOINER}`

/** How many places an amount has: on cards, in lists, in the drawer. */
type MoneyPlaces = 2 | 4 | 6

/**
 * Micro-dollars as a person reads them: `$1,284.27`. Rounded half up on the integer. An amount that
 * would read as zero and is none gets more places, so that a charge below a cent stays visible.
 */
export function money(amountMicros: number, places: MoneyPlaces = 2): string {
  const sign = amountMicros < 0 ? MINUS : ''
  const absolute = Math.abs(amountMicros)
  if (absolute === 0) return '$0.00'
  const shown = visiblePlaces(absolute, places)
  const unit = 10 ** (PLACES_MAX - shown)
  const rounded = Math.floor((absolute + unit / 2) / unit)
  const perDollar = 10 ** shown
  const whole = Math.floor(rounded / perDollar).toLocaleString('en-US')
  const fraction = String(rounded % perDollar).padStart(shown, '0')
  return `${sign}$${whole}.${fraction}`
}

/** A change of an amount: `+$25.00`, `−$0.0185`. */
export function signedMoney(changeMicros: number, places: MoneyPlaces = 2): string {
  return `${changeMicros > 0 ? `+${JOINER}` : ''}${money(changeMicros, places)}`
}

/** A cent, in micro-dollars. */
export const CENT_MICROS = 10_000

/** Whether the amounts of a column, rounded to cents, add up to their rounded sum. By position: the amounts, and the sum. */
export function addsUpInCents(partsMicros: readonly number[], sumMicros: number): boolean {
  const cents = (amountMicros: number) =>
    Math.sign(amountMicros) * Math.floor((Math.abs(amountMicros) + CENT_MICROS / 2) / CENT_MICROS)
  return partsMicros.reduce((sum, part) => sum + cents(part), 0) === cents(sumMicros)
}

function visiblePlaces(absoluteMicros: number, places: MoneyPlaces): number {
  if (places === 2 && absoluteMicros < 10_000) return visiblePlaces(absoluteMicros, 4)
  if (places === 4 && absoluteMicros < 100) return PLACES_MAX
  return places
}

/** An amount in its dollars and its cents, for the figure that shows them in two sizes. */
export function moneyParts(amountMicros: number): {
  readonly whole: string
  readonly rest: string
} {
  const [whole = '', rest = ''] = money(amountMicros).split('.')
  return { whole, rest: `.${rest}` }
}

/** Axis labels: `$5`, `$0.25`, `$0.0002`: as few places as the step of the axis needs. */
export function moneyTick(amountMicros: number, stepMicros: number): string {
  if (amountMicros === 0) return '$0'
  const dollars = amountMicros / MICROS_PER_DOLLAR
  const step = stepMicros / MICROS_PER_DOLLAR
  const places = step >= 1 ? 0 : Math.min(PLACES_MAX, Math.ceil(-Math.log10(step) - 1e-9))
  return `${dollars < 0 ? MINUS : ''}$${Math.abs(dollars).toLocaleString('en-US', {
    minimumFractionDigits: places === 1 ? 2 : places,
    maximumFractionDigits: places === 1 ? 2 : places,
  })}`
}

// `1234,567` and `0,500` may have a decimal comma.
const TYPED_AMOUNT = /^\$?(\d{1,9}|[1-9]\d{0,2}(?:,\d{3})+)?(?:\.(\d{0,6}))?$/

/** The fault of a field whose text {@link readMoney} can't read. */
export const AMOUNT_FAULT = 'Enter an amount in dollars, such as 25 or 12.50.'

/** Typed dollars, in micro-dollars; null: the text is not an amount. */
export function readMoney(text: string): number | null {
  const match = TYPED_AMOUNT.exec(text.trim())
  if (match === null) return null
  const [, whole = '', fraction = ''] = match
  if (whole === '' && fraction === '') return null
  return (
    Number(whole.replaceAll(',', '')) * MICROS_PER_DOLLAR + Number(fraction.padEnd(PLACES_MAX, '0'))
  )
}

/** Micro-dollars as a person types them into a field: `50.00`. */
export function typedMoney(amountMicros: number): string {
  const digits = String(amountMicros).padStart(PLACES_MAX + 1, '0')
  const fraction = digits.slice(-PLACES_MAX).replace(/0+$/, '').padEnd(2, '0')
  return `${digits.slice(0, -PLACES_MAX)}.${fraction}`
}

/**
 * A catalog price, in dollars for one token as an exact decimal, for a million of them: `$1.25`. The
 * digits are moved, not computed with: `0.0000002` is `$0.20`.
 */
export function perMillionText(priceUsd: string): string | null {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(priceUsd)
  if (match === null) return null
  const [, whole = '', fraction = ''] = match
  const digits = fraction.padEnd(PLACES_MAX, '0')
  const dollars = BigInt(whole + digits.slice(0, PLACES_MAX)).toLocaleString('en-US')
  const cents = digits.slice(PLACES_MAX).replace(/0+$/, '').padEnd(2, '0')
  return `$${dollars}.${cents}`
}
