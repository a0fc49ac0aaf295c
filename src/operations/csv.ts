import { type Decimal, formatDecimal } from '../vocabulary/money.ts'

/** A value of a table; null is an empty cell. */
export type CsvCell = string | number | ExactDecimal | null

/** A number with all of its places. */
interface ExactDecimal {
  readonly decimal: string
}

/** The columns of a table in order: the name of each in the first line, and its cell of a row. */
export type CsvColumns<Row, Name extends string = string> = Readonly<
  Record<Name, (row: Row) => CsvCell>
>

/** The first line of a table, and the line of a row. */
export function csvTable<Row>(columns: CsvColumns<Row>) {
  const cells = Object.values(columns)
  return {
    head: csvLine(Object.keys(columns)),
    line: (row: Row): string => csvLine(cells.map((cell) => cell(row))),
  }
}

/** The rows of a page of a long table. */
export const CSV_PAGE_ROWS = 1_000

/**
 * A long table, a page of rows at a time. Each page is read when the one before was taken. Even an empty one is passed
 * on: a client that has left is noticed between two pages.
 */
export async function* csvPages<Row, Place>(
  columns: CsvColumns<Row>,
  readPage: (
    after: Place | null,
  ) => Promise<{ readonly rows: readonly Row[]; readonly next: Place | null }>,
): AsyncGenerator<string> {
  const { head, line } = csvTable(columns)
  yield head
  let after: Place | null = null
  do {
    const { rows, next }: Awaited<ReturnType<typeof readPage>> = await readPage(after)
    yield rows.map(line).join('')
    after = next
  } while (after !== null)
}

/** A line of CSV with its end. */
export function csvLine(cells: readonly CsvCell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`
}

/** Micro-dollars as exact dollars: a decimal that spreadsheets can add up. */
export function dollarsCell(amountMicros: number): ExactDecimal {
  return exactCell({ digits: BigInt(amountMicros), exponent: -6 })
}

/** A number with all of its places. */
export function exactCell(value: Decimal): ExactDecimal {
  return { decimal: formatDecimal(value) }
}

// The characters that begin a formula; those of East Asia are as wide as an ideograph.
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/

// Where columns are separated by semicolons, as in Germany, a spreadsheet divides a cell at these, quoted or not.
const FORMULA_WITHIN = /([;\t\r\n]["' ]*)(?=[=+\-@＝＋－＠])/g

/** Marks text that a spreadsheet would run as a formula as text. */
function cellText(cell: CsvCell): string {
  if (cell === null) return ''
  if (typeof cell === 'number') return String(cell)
  if (typeof cell === 'object') return cell.decimal
  const marked = cell.replace(FORMULA_WITHIN, "$1'")
  const guarded = FORMULA.test(marked) ? `'${marked}` : marked
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}
