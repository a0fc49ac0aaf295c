import { z } from 'zod'
import type { Clock } from '../vocabulary/clock.ts'
import { FEE_BASIS_POINTS_MAX, type Micros, micros, parseDecimal } from '../vocabulary/money.ts'
import { TEXT_CHARS_MAX } from '../vocabulary/text-chars.ts'

/** The largest amount that one command can move, in micro-dollars: $100 million. */
const AMOUNT_MICROS_MAX = 100_000_000_000_000

/** A displayed name. */
export const nameField = text({ charsMax: TEXT_CHARS_MAX.name })

/** An email address. */
export const emailField = z.email().max(TEXT_CHARS_MAX.email, 'must be an email address')

// The years that RFC 3339 can write in UTC; with an offset a moment can lie outside of them.
const MOMENT_MS_MIN = Date.parse('0000-01-01T00:00:00Z')
const MOMENT_MS_MAX = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * The milliseconds of a moment, rounded up: nothing before it counts as after it. The last moment of all, which .NET
 * writes with seven digits for "never", stays where it is.
 */
function momentMsOf(text: string): number {
  const momentMs = Date.parse(text)
  const isBetween = /\.\d{3}\d*[1-9]/.test(text) && momentMs !== MOMENT_MS_MAX
  return isBetween ? momentMs + 1 : momentMs
}

const RFC_3339 = z.iso.datetime({ offset: true })

/**
 * A moment in the letters of RFC 3339, or the text unchanged. Python and PostgreSQL write a space in place of `T`, `date`
 * no colon in the offset, browsers no seconds; and a `+` that a client did not encode in a query arrives as a space.
 */
function rfc3339Of(text: string): string {
  const [, date, time, seconds = ':00', sign, hours, minutes = '00'] =
    /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:[\d.]+)? ?(?:[Zz]|([+ -])(\d\d)(?::?(\d\d))?)$/.exec(
      text,
    ) ?? []
  if (date === undefined) return text
  const offset = sign === undefined ? 'Z' : `${sign === '-' ? '-' : '+'}${hours}:${minutes}`
  return `${date}T${time}${seconds}${offset}`
}

/**
 * A moment, RFC 3339 with any offset, or nearly so; read as milliseconds. `missing` is the message if it is missing.
 */
export function moment({ missing }: { readonly missing?: string } = {}) {
  return z
    .stringFormat('datetime', (text) => RFC_3339.safeParse(rfc3339Of(text)).success, {
      error: ({ input }) => (input === undefined ? missing : undefined),
    })
    .transform((text) => momentMsOf(rfc3339Of(text)))
    .refine(
      (momentMs) => momentMs >= MOMENT_MS_MIN && momentMs <= MOMENT_MS_MAX,
      'must be a time in the years 0000 to 9999, UTC',
    )
}

/** Like {@link moment}, with the usual message if it is missing. */
export const momentField = moment()

/** The message for a moment that must be in the future and is not. */
export const MUST_BE_FUTURE = 'must be in the future'

/** A moment in the future. */
export function futureField(clock: Clock) {
  return momentField.refine((momentMs) => momentMs > clock.nowMs(), MUST_BE_FUTURE)
}

/** Micro-dollars above zero. */
export const positiveAmountField = amount({ min: 1, message: 'must be above zero' })

/** Micro-dollars, zero or more. */
export const amountField = amount({ min: 0, message: 'must be zero or more' })

/** Micro-dollars to add, or below zero to remove. */
export const changeField = amount({
  min: -AMOUNT_MICROS_MAX,
  message: 'must be at least -$100,000,000',
}).refine((value) => value !== 0, 'must not be zero')

/** A provider's cost: whole micro-dollars, or the exact decimal of dollars as a string. */
export const costField = z
  .union([z.int(), z.string()], 'must be whole micro-dollars, or dollars as a decimal string')
  .transform((value, checked) => {
    const decimal =
      typeof value === 'string' ? parseDecimal(value) : { digits: BigInt(value), exponent: -6 }
    const isCost = decimal !== null && decimal.digits >= 0n && decimal.exponent <= 9
    if (isCost) return decimal
    checked.addIssue({
      code: 'custom',
      message: 'must be zero or more, in whole micro-dollars or in dollars as a decimal string',
    })
    return z.NEVER
  })

/** A platform fee, in hundredths of a percent of the provider's cost. */
export const feeShape = z.int()

/** A platform fee that an admin sets; null: the model's fee. */
export const feeField = feeShape
  .refine(
    (value) => value >= 0 && value <= FEE_BASIS_POINTS_MAX,
    `must be hundredths of a percent, 0 to ${FEE_BASIS_POINTS_MAX}`,
  )
  .nullable()

// PostgreSQL refuses some control characters, and no store returns half a surrogate pair unchanged.
const UNSTORABLE = /[\p{Cc}\p{Cs}]/u

/** Whether every store returns a text as it was, and it has no control characters. */
export function isStorable(value: string): boolean {
  return !UNSTORABLE.test(value)
}

const EXTERNAL_ID = /^[^\p{C}\p{Zl}\p{Zp}]{1,255}$/u

/** Text of a query, where a field that is given twice is a list. */
export const queryText = z.string({
  error: ({ input }) => (Array.isArray(input) ? 'must be given once' : undefined),
})

/** The id of an account in another system. */
export const externalIdField = queryText.refine(
  (value) => EXTERNAL_ID.test(value),
  'must be 1 to 255 printable characters',
)

/**
 * Text without control characters, trimmed. `missing` is the message if it is missing; default: that it
 * is required.
 */
export function text({
  charsMax,
  missing,
}: {
  readonly charsMax: number
  readonly missing?: string
}) {
  const message = `must be 1 to ${charsMax} characters without control characters`
  return z
    .string({ error: ({ input }) => (input === undefined ? missing : undefined) })
    .trim()
    .refine((value) => value !== '' && value.length <= charsMax && !UNSTORABLE.test(value), message)
}

/** `?limit=` and `?cursor=` of a list in the order of ids, and its filters. */
export function pageQuery<Filter extends z.ZodRawShape>(list: ListName, filter: Filter) {
  return z.strictObject({ limit: limitField, cursor: cursorField(list).optional(), ...filter })
}

/** `?limit=` and `?cursor=` of the list of purchases, whose entries are in the order of their numbers. */
export function purchasesPageQuery() {
  return z.strictObject({
    limit: limitField,
    cursor: cursorField('purchases')
      .refine((after) => /^\d{1,15}$/.test(after), CURSOR_MESSAGE)
      .transform(Number)
      .optional(),
  })
}

/** `?from=` and `?to=` of a list of entries. */
export const entrySpanQuery = {
  from: momentField.optional().describe('Only entries from this time on. Default: all.'),
  to: momentField.optional().describe('Only entries before this time. Default: now.'),
}

/** `?limit=` and `?cursor=` of a statement: its cursor has the number of an entry and the balance before it. */
export function statementPageQuery() {
  return z.strictObject({
    ...entrySpanQuery,
    limit: limitField,
    cursor: cursorField('entries')
      .transform((after, checked) => {
        const [, before = '', sign, digits = ''] = /^(\d{1,15})_(n?)(\d{1,16})$/.exec(after) ?? []
        const balanceMicros = Number(digits) * (sign === 'n' ? -1 : 1)
        if (before !== '' && Number.isSafeInteger(balanceMicros)) {
          return { before: Number(before), balanceMicros: micros(balanceMicros) }
        }
        checked.addIssue({ code: 'custom', message: CURSOR_MESSAGE })
        return z.NEVER
      })
      .optional(),
  })
}

/** The cursor of the next page of a statement; null: there is none. */
export function statementCursor(
  next: { readonly before: number; readonly balanceMicros: Micros } | null,
): string | null {
  if (next === null) return null
  const { before, balanceMicros } = next
  return writeCursor(
    'entries',
    `${before}_${balanceMicros < 0 ? 'n' : ''}${Math.abs(balanceMicros)}`,
  )
}

/** The cursor of the next page of a list in the order of ids; null: there is none. */
export function idCursor(list: ListName, after: string | null): string | null {
  return after === null ? null : writeCursor(list, after)
}

/** A filter of a list: text, given once. */
export const filterField = queryText
  .min(1, 'must not be empty')
  .refine((value) => !UNSTORABLE.test(value), 'must have no control characters')

/** `?search=` of a list: a part of the texts that the list is searched for. */
export const searchField = filterField
  .max(TEXT_CHARS_MAX.search, `must be at most ${TEXT_CHARS_MAX.search} characters`)
  .optional()

/** A filter that takes several values, comma-separated: any of them. `message` says what each must be. */
export function anyOf<Value extends string>(each: z.ZodType<Value, string>, message: string) {
  return filterField.transform((text, checked): readonly Value[] => {
    const values = text.split(',').map((part) => each.safeParse(part))
    const read = values.flatMap(({ data: value }) => (value === undefined ? [] : [value]))
    if (read.length === values.length && read.length <= VALUES_MAX) return read
    checked.addIssue({ code: 'custom', message })
    return z.NEVER
  })
}

/** Values in a description: `` `open`, `final` ``. */
export function namesOf(values: readonly string[]): string {
  return values.map((value) => `\`${value}\``).join(', ')
}

/** More values than a person picks. */
const VALUES_MAX = 50

/** A filter of a list by an id. */
export function idFilterField(prefix: 'acct' | 'key') {
  const message = `must be an ID that begins with ${prefix}_`
  return filterField
    .refine((value) => value.startsWith(`${prefix}_`), message)
    .describe(
      `Only results of the ${prefix === 'acct' ? 'account' : 'API key'} with this ID, \`${prefix}_…\`.`,
    )
}

/** Filters by API keys. */
export const keysFilterField = anyOf(
  idFilterField('key'),
  'must be an ID that begins with key_',
).describe('Only requests with these API keys, by ID (`key_…`), comma-separated.')

const CURSOR_MESSAGE = 'must be the `next_cursor` of a page of this list'

/** The most rows of a page: text in the query, read as a number. */
export const limitField = queryText
  .refine(
    (value) => /^\d{1,3}$/.test(value) && Number(value) >= 1 && Number(value) <= 100,
    'must be a whole number from 1 to 100',
  )
  .transform(Number)
  .default(20)
  .describe('The maximum number of rows. Default: 20.')

function cursorField(list: ListName) {
  return queryText
    .transform((value, checked) => {
      const after = readCursor(list, value)
      if (after !== null) return after
      checked.addIssue({ code: 'custom', message: CURSOR_MESSAGE })
      return z.NEVER
    })
    .describe('The `next_cursor` of the previous page. Absent: the first page.')
}

function amount({ min, message }: { readonly min: number; readonly message: string }) {
  return z
    .int()
    .refine((value) => value >= min, message)
    .refine((value) => value <= AMOUNT_MICROS_MAX, 'must be at most $100,000,000')
    .transform((value): Micros => micros(value))
}

/** `?format=` of an operation that answers JSON or CSV. */
export const formatField = z
  .enum(['json', 'csv'])
  .optional()
  .describe(
    'The format of the answer. Default: CSV if the header `accept` asks for `text/csv`, else JSON.',
  )

/** Whether a client gets CSV. By position: the format that it asks for, and whether it accepts CSV. */
export function wantsCsv(format: string | undefined, acceptsCsv: boolean): boolean {
  return format === 'csv' || (format === undefined && acceptsCsv)
}

/** The error of failed requests. */
export const errorCodeField = z
  .string()
  .describe(
    'An error code, or `client_gone` or `upstream_disconnected` for a stream that ended early.',
  )

/** Money, in micro-dollars. */
export const moneyField = z.int().describe('Micro-dollars: 1,000,000 to the dollar.')

/** A moment, RFC 3339 in UTC. */
export const timeField = z.iso.datetime().describe('A time, RFC 3339 in UTC.')

/** An id; its prefix names the kind of thing. */
export function idField(prefix: string): z.ZodType<string> {
  return z.string().describe(`An ID, \`${prefix}_…\`.`)
}

/** A moment as responses have it. */
export function timeAnswer(atMs: number): string {
  return new Date(atMs).toISOString()
}

/** Formats a time as {@link timeAnswer} does; null stays null. */
export function timeOrNull(atMs: number | null): string | null {
  return atMs === null ? null : timeAnswer(atMs)
}

/** A page of a list whose items have this shape. */
export function listShape<T extends z.ZodType>(item: T) {
  return z.object({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    next_cursor: z
      .string()
      .nullable()
      .describe('The `cursor` of the next page; null on the last page.'),
  })
}

/** Makes the answer of a page. */
export function listAnswer<T>(items: readonly T[], nextCursor: string | null) {
  return {
    object: 'list',
    data: items,
    has_more: nextCursor !== null,
    next_cursor: nextCursor,
  }
}

/** The list that a cursor belongs to. */
export type ListName =
  | 'account_actions'
  | 'actions'
  | 'admin_tokens'
  | 'deliveries'
  | 'unsettled'
  | 'accounts'
  | 'keys'
  | 'entries'
  | 'purchases'
  | 'codes'
  | 'all_purchases'
  | 'deposit_addresses'
  | 'requests'

// The characters of ids and entry numbers: no other reaches the store.
const PLACE = /^\w+$/

/** Writes a cursor as opaque text. */
export function writeCursor(list: ListName, after: string): string {
  return Buffer.from(`${list} ${after}`).toString('base64url')
}

/** Reads a client's cursor; null: it is not a cursor of this list. */
export function readCursor(list: ListName, text: string): string | null {
  const [named, after, ...more] = Buffer.from(text, 'base64url').toString().split(' ')
  const isWhole = named === list && after !== undefined && more.length === 0 && PLACE.test(after)
  return isWhole && writeCursor(list, after) === text ? after : null
}
