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

/** Marks text that a spreadsheet would run as a formula as text. */
function cellText(cell: CsvCell): string {
  if (cell === null) return ''
  if (typeof cell === 'number') return String(cell)
  if (typeof cell === 'object') return cell.decimal
  const guarded = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}
