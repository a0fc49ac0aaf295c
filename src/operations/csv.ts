import { type Decimal, formatDecimal } from '../vocabulary/money.ts'

/** A value of a table; null is an empty cell. */
export type CsvCell = string | number | ExactDecimal | null

/** A number with all of its places. */
interface ExactDecimal {
  readonly decimal: string
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
