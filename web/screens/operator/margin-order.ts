import type { OperatorReport } from '../../api/operator.ts'

type Report = Pick<OperatorReport, 'by' | 'data'>
type Row = Report['data'][number]

const FIGURES = {
  requests: ({ requests }: Row['figures']) => requests,
  charged: ({ charge }: Row['figures']) => charge,
  cost: ({ cost }: Row['figures']) => cost,
  margin: ({ margin }: Row['figures']) => margin,
} as const

type Column = keyof typeof FIGURES

/** An order of the rows of a report by one of its columns: with a minus, the largest first. */
export type MarginOrder = Column | `-${Column}`

/** Reads an order from an address; undefined: it is none. */
export function readMarginOrder(value: unknown): MarginOrder | undefined {
  return COLUMNS.flatMap((column) => [column, `-${column}`] as const).find((one) => one === value)
}

const COLUMNS = ['requests', 'charged', 'cost', 'margin'] as const

/** Whether rows can be sorted by a column. */
export function isSortable(column: string): column is Column {
  return column in FIGURES
}

/** The order that is shown. Reports have the largest charge first, and time in its own order. By position: the grouping, and the chosen order. */
export function orderOf(
  by: Report['by'],
  chosen: MarginOrder | undefined,
): MarginOrder | undefined {
  return chosen ?? (by === 'day' || by === 'month' ? undefined : '-charged')
}

/** The order behind a click on the head of a column: the largest first, then the smallest, then that of the report (undefined). */
export function nextOrder(column: Column, shown: MarginOrder | undefined): MarginOrder | undefined {
  if (shown === `-${column}`) return column
  return shown === column ? undefined : `-${column}`
}

/** The rows in an order; margins that are not known last. */
export function sortedRows(rows: readonly Row[], order: MarginOrder | undefined): readonly Row[] {
  const column = COLUMNS.find((one) => order === one || order === `-${one}`)
  if (column === undefined) return rows
  const sign = order === column ? 1 : -1
  return rows.toSorted(({ figures: one }, { figures: other }) => {
    const [left, right] = [FIGURES[column](one), FIGURES[column](other)]
    if (left === null || right === null) return Number(left === null) - Number(right === null)
    return sign * (left - right)
  })
}
