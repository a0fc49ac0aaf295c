import { InvalidArgumentError } from 'commander'
import { type Micros, micros, microsOfDecimal, parseDecimal } from '../vocabulary/money.ts'

/** Reads a dollar amount such as `10`, `$0.50` or `-2.25`. Throws where it is finer than a micro-dollar. */
export function readDollars(text: string): Micros {
  const match = /^(-?)\$?(\d{1,9}(?:\.\d{1,6})?)$/.exec(text.trim())
  const decimal = match === null ? null : parseDecimal(match[2] ?? '')
  const amountMicros = decimal === null ? null : microsOfDecimal(decimal)
  if (match === null || amountMicros === null) {
    throw new InvalidArgumentError('Write an amount in dollars, such as 10 or 0.25.')
  }
  return match[1] === '-' ? micros(-amountMicros) : amountMicros
}

/** Reads a moment: a date (`2027-01-31`, its start in UTC) or a full RFC 3339 time. */
export function readMoment(text: string): number {
  const isMoment = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(
    text,
  )
  const moment = isMoment ? Date.parse(text) : Number.NaN
  if (Number.isNaN(moment)) {
    throw new InvalidArgumentError(
      'Write a date such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z.',
    )
  }
  return moment
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
