import type { z } from 'zod'
import type { modelsShape } from '../operations/accounts/model-lists.ts'
import { type ListName, listShape, readCursor, writeCursor } from '../operations/fields.ts'
import type { Answered } from '../operations/operation.ts'
import { formatDecimal, parseDecimal } from '../vocabulary/money.ts'
import { idArgument } from './ids.ts'
import { type Shown, show } from './operation-command.ts'
import { CUT_WIDTH_MIN, type FittingTable, fittingTable } from './table.ts'
import { UsageFailure } from './terminal.ts'
import type { Taken } from './typed-input.ts'

type PagedList = Parameters<typeof readPlace>[0]

interface Columns<Row> {
  /** The list that `--after` continues. */
  readonly list: PagedList
  /** The text where there are no rows. */
  readonly none: string
  /** Cells by heading. */
  readonly columns: Readonly<Record<string, (row: Row) => string>>
  /** The headings of columns of free text, which a list cuts to the width of a terminal. Default: none. */
  readonly cut?: readonly string[]
  /** The lines below a single row, by name; null: not shown. Default: none. */
  readonly details?: Readonly<Record<string, (row: Row) => string | null>>
}

/** Shows rows of a shape: one row, or a page of them. */
export function shownRows<Shape extends z.ZodType>(
  shape: Shape,
  { list, none, columns, cut = [], details = {} }: Columns<z.output<Shape>>,
): Readonly<Record<'one' | 'page', (answered: Answered) => Shown>> {
  const kept = Object.fromEntries(cut.map((heading) => [heading, CUT_WIDTH_MIN]))
  const inTable = (rows: readonly z.output<Shape>[], cutTo: typeof kept): FittingTable =>
    fittingTable(
      Object.keys(columns),
      rows.map((row) => Object.values(columns).map((cell) => cell(row))),
      cutTo,
    )
  const below = (row: z.output<Shape>): string =>
    Object.entries(details)
      .map(([name, detail]) => [name, detail(row)])
      .flatMap(([name, text]) => (text === null ? [] : `\n${name}: ${text}`))
      .join('')
  return {
    // A person who asks for one thing wants to see all of it.
    one: show(shape, (row) => ({
      out: (columnsMax) => inTable([row], {})(columnsMax) + below(row),
    })),
    page: show(listShape(shape), ({ data, next_cursor }) => {
      const next = nextPlace(list, next_cursor)
      return {
        out: data.length === 0 ? none : inTable(data, kept),
        ...(next === null ? {} : { note: `more: --after ${next}` }),
      }
    }),
  }
}

/** A result with one more line below it. */
export function withLine(out: Shown['out'], line: string): FittingTable {
  return (columnsMax) => `${typeof out === 'string' ? out : out(columnsMax)}\n${line}`
}

/** The options of every list. By position: the list, and the value of `--after`. */
export function listOptions(list: PagedList, what: string): readonly Taken[] {
  return [
    {
      flags: '--limit <rows>',
      words: 'the number of rows, 1 to 100',
      to: 'query.limit',
      fallback: '20',
    },
    {
      flags: '--after <place>',
      words: `list the rows after this ${what}; a next_cursor of --json also works`,
      to: 'query.cursor',
      read: readPlace(list),
    },
  ]
}

/** The option of one account. By position: the field it is sent in, such as `query.account`, and what it does. */
export function accountOption(to: Taken['to'], words = 'only this account'): Taken {
  return {
    ...idArgument('acct', '--account <account>', to),
    words: `${words}: its external ID, name, email address or ID`,
  }
}

/** The option that narrows a list to some of these states. */
export function stateOption(states: readonly string[]): Taken {
  return {
    flags: '--state <states>',
    words: `only these states, comma-separated: ${states.join(', ')}`,
    to: 'query.state',
  }
}

/*
 * Converts a typed value to the units of an operation. The operation's schema checks the value.
 */

/** Dollars such as `10`, `$0.50` or `-2.25` as micro-dollars. */
export function readDollars(text: string): number {
  const [, sign = '', amount = ''] = /^(-?)\$?(\d{1,15}(?:\.\d{1,6})?)$/.exec(text.trim()) ?? []
  const dollars = parseDecimal(amount)
  if (dollars === null) {
    throw new UsageFailure(
      'must be dollars such as 10 or 0.25: digits without commas, at most six after the point',
    )
  }
  // More than any schema takes, and not exact as a number of micro-dollars.
  if (Number(amount) >= 1e9) throw new UsageFailure('must be at most $100,000,000')
  const micros = Number(formatDecimal({ ...dollars, exponent: dollars.exponent + 6 }))
  return sign === '-' ? -micros : micros
}

/** Words such as `read,keys`. */
export function readWords(text: string): readonly string[] {
  return text.split(',').map((word) => word.trim())
}

type Reader = NonNullable<Taken['read']>

/** A value, or `none`, which removes it. */
export function orNone(read: Reader): Reader {
  return (text, nowMs) => (text === 'none' ? null : read(text, nowMs))
}

/** The options of the models that an account's keys, or a key, may use. */
export const MODEL_OPTIONS: readonly Taken[] = [
  {
    flags: '--models-allow <models>',
    words: 'the only models that can be used, such as "acme/sage-pro,nova/*"; none: all models',
    to: 'body.models.allow',
    read: orNone(readWords),
  },
  {
    flags: '--models-deny <models>',
    words: 'models that cannot be used, even if allowed; none removes the list',
    to: 'body.models.deny',
    read: orNone(readWords),
  },
]

/** The option of notes on an account or a key. */
export const METADATA_OPTION: Taken = {
  flags: '--metadata <key=value>',
  words: 'a note; repeat the option for more. A change replaces all notes; none removes them',
  to: 'body.metadata',
  readAll: readPairs,
}

/** Sets who the receipts of an account are for. */
export const BILLING_OPTION: Taken = {
  flags: '--billing <key=value>',
  words:
    'the buyer on its receipts: name=…, address=… or tax_id=…; repeat the option for more. A change replaces all three; none removes them',
  to: 'body.billing',
  readAll: readPairs,
}

function readPairs(texts: readonly string[]): Readonly<Record<string, string>> | null {
  if (texts.length === 1 && texts[0] === 'none') return null
  const pairs = texts.map((text): readonly [string, string] => {
    const [, memberName, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
    if (memberName === undefined || value === undefined) {
      throw new UsageFailure('must be a key and a value, such as plan=gold, or none')
    }
    return [memberName, value]
  })
  const names = new Set(pairs.map(([memberName]) => memberName))
  if (names.size < pairs.length) throw new UsageFailure('has the same key twice')
  return Object.fromEntries(pairs)
}

/** The notes that {@link METADATA_OPTION} sets. */
export function metadataDetail({
  metadata,
}: {
  readonly metadata: Readonly<Record<string, string>>
}): string | null {
  const pairs = Object.entries(metadata).map(([memberName, value]) => `${memberName}=${value}`)
  return pairs.length === 0 ? null : pairs.join(', ')
}

/** The lists of models that {@link MODEL_OPTIONS} set. */
export const MODEL_DETAILS = {
  'models allowed': ({ models }: WithModels) => listed(models?.allow),
  'models denied': ({ models }: WithModels) => listed(models?.deny),
}

interface WithModels {
  readonly models: z.output<typeof modelsShape>
}

function listed(patterns: readonly string[] = []): string | null {
  return patterns.length === 0 ? null : patterns.join(', ')
}

const PLACES = {
  actions: /^act_\w+$/,
  // In a sorted list, the account's value comes first.
  accounts: /^([\da-f]+_)?acct_\w+$/,
  keys: /^key_\w+$/,
  admin_tokens: /^atok_\w+$/,
  deliveries: /^msg_\w+$/,
  codes: /^code_\w+$/,
  all_purchases: /^pur_\w+$/,
  // The number of a chain, and the address.
  deposit_addresses: /^\d+_0x[\da-f]+$/,
  requests: /^req_\w+$/,
  // The number of an entry, and the balance before it.
  entries: /^\d+_n?\d+$/,
} as const satisfies Partial<Record<ListName, RegExp>>

/** A place in a list: the last id of the page before, or the `next_cursor` of its JSON. */
function readPlace(list: keyof typeof PLACES): (text: string) => string {
  return (text) => (PLACES[list].test(text) ? writeCursor(list, text) : text)
}

/** The `--after` of the next page; null if there is none. */
function nextPlace(list: ListName, nextCursor: string | null): string | null {
  return nextCursor === null ? null : readCursor(list, nextCursor)
}

/** The names of the two kinds of credit. */
export const PURSE_WORDS = { backed: 'paid', free: 'free' } as const
