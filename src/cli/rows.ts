import type { z } from 'zod'
import { type ListName, listShape, readCursor, writeCursor } from '../operations/fields.ts'
import type { Answered } from '../operations/operation.ts'
import { type Shown, show } from './operation-command.ts'
import { CUT_WIDTH_MIN, type FittingTable, fittingTable } from './table.ts'
import type { Sent, Taken } from './typed-input.ts'

type PagedList = Parameters<typeof readPlace>[0]

interface Columns<Row> {
  /** The list that `--after` continues. Absent: it has no pages. */
  readonly list?: PagedList
  /** The text where there are no rows. */
  readonly none: string
  /** The text where options of the command leave no row. Default: `none`. */
  readonly noneMatch?: string
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
  { list, none, noneMatch = none, columns, cut = [], details = {} }: Columns<z.output<Shape>>,
): ShownRows {
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
    page(answered, { sent: { query } }) {
      const { data, next_cursor } = listShape(shape).parse(answered.body)
      const next = list === undefined ? null : nextPlace(list, next_cursor)
      const isFiltered = Object.keys(query).some((name) => !FILTERS_NOTHING.has(name))
      return {
        out: data.length > 0 ? inTable(data, kept) : isFiltered ? noneMatch : none,
        ...(next === null ? {} : { note: `more: --after ${next}` }),
      }
    },
  }
}

/** Shows one row, or a page of rows. */
interface ShownRows {
  readonly one: (answered: Answered) => Shown
  readonly page: (answered: Answered, ran: { readonly sent: Pick<Sent, 'query'> }) => Shown
}

/** The options of lists that leave out no row: the range of accounts is that of their spend. */
const FILTERS_NOTHING: ReadonlySet<string> = new Set(['limit', 'sort', 'from', 'to'])

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
