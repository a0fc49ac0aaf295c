import { z } from 'zod'
import { parseAddressRange } from '../../journey/gate/client-address.ts'
import { oneOf } from '../../operations/check-input.ts'
import { TIMER_MS_MAX } from '../../vocabulary/clock.ts'
import { messageOf } from '../../vocabulary/message-of.ts'
import { type Micros, microsOfDecimal, parseDecimal } from '../../vocabulary/money.ts'
import { echoed } from '../../vocabulary/problem.ts'

/** The name of a header, in any case. */
export const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/

/** The value of a header. */
export const HEADER_TEXT = /^[\x20-\x7e]*$/

/** The characters of a key, which is sent in a header. */
export const KEY_TEXT = /^[\x21-\x7e]+$/

/** The environment has values that cannot be used: all of them, each with a value to write instead. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** One setting of the environment: how it is read, and its description for operators. */
export interface Setting<T> {
  readonly schema: z.ZodType<T, string | undefined>
  /** As text; null: unset has a meaning of its own, which the description names. */
  readonly fallback: string | null
  readonly description: string
  /** Whether its value must never be shown. */
  readonly secret: boolean
}

interface WholeNumber {
  readonly fallback: number
  /** Default 1. */
  readonly min?: number
  /** Default: as large as can be. */
  readonly max?: number
}

/** A whole number. `of` is its unit with an example, which the fault of a wrong value names. */
export function wholeNumber(
  {
    fallback,
    min = 1,
    max = Number.MAX_SAFE_INTEGER,
    of,
  }: WholeNumber & { readonly of?: readonly [unit: string, example: string] },
  description: string,
): Setting<number> {
  const range = max === Number.MAX_SAFE_INTEGER ? `${min} or more` : `${min} to ${max}`
  const [unit, example] = of ? [` of ${of[0]}`, `, such as ${of[1]}`] : ['', '']
  const message = `must be a whole number${unit}, ${range}${example}`
  const error = ({ input }: { readonly input: unknown }) =>
    /^\d{16,}$/.test(String(input)) ? `${message}, with at most 15 digits` : message
  const schema = z
    .string()
    .default(String(fallback))
    .refine((text) => /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max, {
      error,
    })
    .transform(Number)
  return { schema, fallback: String(fallback), description, secret: false }
}

/** A time in milliseconds; at most that of a timer, unless `max` is given. */
export function milliseconds(range: WholeNumber, description: string): Setting<number> {
  const of = ['milliseconds', String(range.fallback)] as const
  return wholeNumber({ max: TIMER_MS_MAX, ...range, of }, description)
}

/** A size in bytes. */
export function bytes(range: WholeNumber, description: string): Setting<number> {
  return wholeNumber({ ...range, of: ['bytes', String(range.fallback)] }, description)
}

/** A part in hundredths of a percent. */
export function basisPoints(range: WholeNumber, description: string): Setting<number> {
  return wholeNumber({ ...range, of: ['hundredths of a percent', '250 for 2.5%'] }, description)
}

/** A whole number, or null if it is unset. `unit`, such as days, is named in the fault of a wrong value. */
export function optionalWholeNumber(
  { min, max, unit }: { readonly min: number; readonly max: number; readonly unit?: string },
  description: string,
): Setting<number | null> {
  const of = unit === undefined ? '' : ` of ${unit}`
  const isInRange = (text: string): boolean =>
    /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max
  const schema = fitting(isInRange, `must be a whole number${of}, ${min} to ${max}`).transform(
    (text) => (text === null ? null : Number(text)),
  )
  return { schema, fallback: null, description, secret: false }
}

/** One of a few words. */
export function choice<const Word extends string>(
  { of: words, fallback }: { readonly of: readonly Word[]; readonly fallback: NoInfer<Word> },
  description: string,
): Setting<Word> {
  const error = `must be ${oneOf(words)}`
  const schema = z.string().default(fallback).pipe(z.enum(words, { error }))
  return { schema, fallback, description, secret: false }
}

/** Dollars of at least a cent and whole cents, read as micro-dollars. */
export function dollars(
  { fallback }: { readonly fallback: string },
  description: string,
): Setting<Micros> {
  const schema = z
    .string()
    .default(fallback)
    .transform((text, checked) => {
      const usd = /^\d{1,8}(\.\d{1,2})?$/.test(text) ? parseDecimal(text) : null
      const amountMicros = usd && microsOfDecimal(usd)
      if (amountMicros !== null && amountMicros > 0) return amountMicros
      checked.addIssue({ code: 'custom', message: 'must be dollars, such as 5 or 12.50' })
      return z.NEVER
    })
  return { schema, fallback, description, secret: false }
}

/** Text of a certain form. */
export function matching(
  {
    fallback,
    pattern,
    message,
  }: Readonly<Record<'fallback' | 'message', string>> & { readonly pattern: RegExp },
  description: string,
): Setting<string> {
  const schema = z
    .string()
    .default(fallback)
    .refine((text) => pattern.test(text), message)
  return { schema, fallback, description, secret: false }
}

/** A text that fits, or null if it is unset. By position: whether a text fits, and what is wrong with one that does not. */
export function fitting(fits: (text: string) => boolean, message: string) {
  return z
    .string()
    .optional()
    .refine((text) => text === undefined || fits(text), message)
    .transform((text) => text ?? null)
}

/** Text, or null if it is unset. */
export function optional(description: string): Setting<string | null> {
  const schema = z
    .string()
    .optional()
    .transform((text) => (text === undefined || text === '' ? null : text))
  return { schema, fallback: null, description, secret: false }
}

/**
 * The value that a function parses from a text, or null if it is unset. `parse` throws Error that says what is wrong.
 */
export function parsed<T>(parse: (text: string) => T): z.ZodType<T | null, string | undefined> {
  return z
    .string()
    .optional()
    .transform((text, checked) => {
      if (text === undefined) return null
      try {
        return parse(text)
      } catch (error) {
        checked.addIssue({ code: 'custom', message: messageOf(error) })
        return z.NEVER
      }
    })
}

/** A bearer token, or null if it is unset. Never shown. */
export function secretToken(description: string): Setting<string | null> {
  const schema = fitting(
    (text) => KEY_TEXT.test(text),
    'must be printable ASCII without spaces, such as `openssl rand -hex 32` makes',
  )
  return { schema, fallback: null, description, secret: true }
}

/** A secret that was made elsewhere, or null if it is unset. Never shown. */
export function givenSecret(description: string): Setting<string | null> {
  const schema = fitting(
    (text) => KEY_TEXT.test(text),
    'has characters that no secret has, such as a space: copy it again from where it was created',
  )
  return { schema, fallback: null, description, secret: true }
}

/** Texts, comma-separated in the environment. */
export function list(description: string): Setting<readonly string[]> {
  const schema = z.string().default('').transform(membersOf)
  return { schema, fallback: '', description, secret: false }
}

/** Addresses and networks, comma-separated. */
export function networks(description: string): Setting<readonly string[]> {
  const { schema, ...rest } = list(description)
  const areRanges = (texts: readonly string[]) =>
    texts.every((text) => parseAddressRange(text) !== null)
  const message = 'must be addresses or networks, like `127.0.0.1, 10.0.0.0/8`'
  return { ...rest, schema: schema.refine(areRanges, message) }
}

/** The texts of a list of the environment. */
export function membersOf(text: string): readonly string[] {
  const members = text.split(',').map((part) => part.trim())
  return members.filter((part) => part !== '')
}

/**
 * The value that was read, and then the requirement that it fails. One with an `@` may have a
 * password before it, and one with a `?` a key after it: neither is shown. By position: the fault, the value.
 */
export function withValue(fault: string, value = ''): string {
  const isShown = fault.startsWith('must ') && !/[@?]/.test(value)
  const shown = isShown ? echoed(value) : null
  return shown === null ? fault : `is "${shown}": it ${fault}`
}

/** Characters around a value that nobody types on purpose: a file or a shell was read in another way than was meant. */
type Around = 'lineBreak' | 'quotes' | 'space'

/** The characters around a value; null: there are none. */
export function aroundValue(value: string): Around | null {
  if (/^[\r\n]|[\r\n]$/.test(value)) return 'lineBreak'
  if (/^(["'`])(?:(?!\1).)*\1$/s.test(value)) return 'quotes'
  return value === value.trim() ? null : 'space'
}

/** The fault of a value with something around it, to follow the name of the setting. */
export const AROUND_FAULTS: Readonly<Record<Around, string>> = {
  lineBreak:
    'begins or ends with a line break: remove it. A file with Windows line ends has one in each line: save it with Unix line ends',
  quotes: 'is in quotes, which are read as a part of the value: remove them',
  space: 'begins or ends with a space: remove it',
}
