import { type ListName, readCursor, writeCursor } from '../operations/fields.ts'
import { formatDecimal, parseDecimal } from '../vocabulary/money.ts'
import { UsageFailure } from './terminal.ts'

/*
 * How a person types what an operation takes. What a value must be is the rule of the operation's schema;
 * here it is only written in the operation's units.
 */

/** Dollars such as `10`, `$0.50` or `-2.25` as micro-dollars. */
export function readDollars(text: string): number {
  const [, sign = '', amount = ''] = /^(-?)\$?(\d{1,9}(?:\.\d{1,6})?)$/.exec(text.trim()) ?? []
  const dollars = parseDecimal(amount)
  if (dollars === null) {
    throw new UsageFailure(
      'must be dollars such as 10 or 0.25: plain digits, at most six behind the point',
    )
  }
  const micros = Number(formatDecimal({ ...dollars, exponent: dollars.exponent + 6 }))
  return sign === '-' ? -micros : micros
}

/** A date such as `2027-01-31`, which is its start in UTC; any other text is as the API takes it. */
export function readMoment(text: string): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text
}

/** A value, or `none`, which takes it away. */
export function orNone(read: (text: string) => unknown): (text: string) => unknown {
  return (text) => (text === 'none' ? null : read(text))
}

const PLACES = {
  accounts: /^acct_\w+$/,
  keys: /^key_\w+$/,
  codes: /^code_\w+$/,
  requests: /^req_\w+$/,
  entries: /^\d+$/,
} as const satisfies Partial<Record<ListName, RegExp>>

/** A place in a list: the last id of the page before, or the `next_cursor` of its JSON. */
export function readPlace(list: keyof typeof PLACES): (text: string) => string {
  return (text) => (PLACES[list].test(text) ? writeCursor({ list, after: text }) : text)
}

/** What a person types for the next page; null where there is none. */
export function nextPlace(list: ListName, nextCursor: string | null): string | null {
  return nextCursor === null ? null : readCursor({ list, text: nextCursor })
}

/** Which credit `--free` asks for. */
export function readPurse(free: string): 'free' | 'backed' {
  return free === 'true' ? 'free' : 'backed'
}
