import { InvalidArgumentError } from 'commander'
import type { IdPrefix } from '../vocabulary/ids.ts'
import {
  type Decimal,
  type Micros,
  micros,
  microsOfDecimal,
  parseDecimal,
} from '../vocabulary/money.ts'

const NAME_CHARS_MAX = 200

/** Reads what people call something. */
export function readName(text: string): string {
  const name = text.trim()
  if (name === '' || name.length > NAME_CHARS_MAX || /\p{Cc}/u.test(name)) {
    throw new InvalidArgumentError(
      `Write 1 to ${NAME_CHARS_MAX} characters, none of them control characters.`,
    )
  }
  return name
}

/** Reads an e-mail address, as far as one can be told by its look. */
export function readEmail(text: string): string {
  if (text.length > 320 || !/^[^\s@]+@[^\s@]+$/.test(text)) {
    throw new InvalidArgumentError('Write an e-mail address, such as ada@example.org.')
  }
  return text
}

/** The most that one command may move. */
const AMOUNT_MICROS_MAX = 100_000_000_000_000

/** Reads a dollar amount such as `10`, `$0.50` or `-2.25`. Throws where it is finer than a micro-dollar. */
export function readDollars(text: string): Micros {
  const match = /^(-?)\$?(\d{1,9}(?:\.\d{1,6})?)$/.exec(text.trim())
  const decimal = match === null ? null : parseDecimal(match[2] ?? '')
  const amountMicros = decimal === null ? null : microsOfDecimal(decimal)
  if (match === null || amountMicros === null) {
    throw new InvalidArgumentError(
      'Write an amount in dollars, such as 10 or 0.25: plain digits, at most six behind the point.',
    )
  }
  if (amountMicros > AMOUNT_MICROS_MAX) {
    throw new InvalidArgumentError('The most at a time is 100 million dollars.')
  }
  return match[1] === '-' ? micros(-amountMicros) : amountMicros
}

/** Reads a provider's cost, an exact decimal of dollars that may be finer than a micro-dollar. */
export function readCost(text: string): Decimal {
  const decimal = /^\d{1,9}(?:\.\d{1,18})?$/.test(text) ? parseDecimal(text) : null
  if (decimal === null) {
    throw new InvalidArgumentError('Write what the provider charged in dollars, such as 0.0123.')
  }
  return decimal
}

const MOMENT = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/

/** Reads a moment: a date (`2027-01-31`, its start in UTC) or a full RFC 3339 time. */
export function readMoment(text: string): number {
  const date = MOMENT.exec(text)?.[1] ?? ''
  const moment = isDate(date) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(moment)) {
    throw new InvalidArgumentError(
      'Write a date such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z.',
    )
  }
  return moment
}

// Date.parse takes the 31st of February for a day in March.
function isDate(text: string): boolean {
  const startMs = Date.parse(text)
  return !Number.isNaN(startMs) && new Date(startMs).toISOString().startsWith(text)
}

/** Reads an id of one kind, such as `acct_…`: anything else would be looked for in vain. */
export function readId(prefix: IdPrefix): (text: string) => string {
  return (text) => {
    if (!text.startsWith(`${prefix}_`)) {
      throw new InvalidArgumentError(`Write an id that begins with ${prefix}_.`)
    }
    return text
  }
}

/** Reads how many rows to show. */
export function readRowLimit(text: string): number {
  const limit = Number(text)
  if (!/^\d{1,4}$/.test(text) || limit < 1 || limit > 1_000) {
    throw new InvalidArgumentError('Write a number of rows from 1 to 1000.')
  }
  return limit
}

/** Micro-dollars as a person reads them: `$0.001234`. */
export function dollars(amountMicros: number): string {
  const digits = String(Math.abs(amountMicros)).padStart(7, '0')
  return `${amountMicros < 0 ? '-' : ''}$${digits.slice(0, -6)}.${digits.slice(-6)}`
}

/** A moment as RFC 3339, or a dash where there is none. */
export function moment(atMs: number | null): string {
  return atMs === null ? '-' : new Date(atMs).toISOString()
}
