import {
  REPORT_COLUMNS,
  REPORT_ORDERS,
  type ReportColumn,
  type ReportOrder,
  sortedRows as sorted,
} from '../../../src/vocabulary/report-order.ts'
import type { OperatorReport } from '../../api/operator.ts'

type Report = Pick<OperatorReport, 'by' | 'data'>
type Row = Report['data'][number]

/** An order of the rows of a report by one of its columns: with a minus, the largest first. */
export type MarginOrder = ReportOrder

/** Reads an order from an address; undefined: it is none. */
export function readMarginOrder(value: unknown): MarginOrder | undefined {
  return REPORT_ORDERS.find((one) => one === value)
}

/** Whether rows can be sorted by a column. */
export function isSortable(column: string): column is ReportColumn {
  return REPORT_COLUMNS.some((one) => one === column)
}

/** The order that is shown. Reports have the largest charge first, and time in its own order. By position: the grouping, and the chosen order. */
export function orderOf(
  by: Report['by'],
  chosen: MarginOrder | undefined,
): MarginOrder | undefined {
  return chosen ?? (by === 'day' || by === 'month' ? undefined : '-charged')
}

/** The order behind a click on the head of a column: the largest first, then the smallest, then that of the report (undefined). */
export function nextOrder(
  column: ReportColumn,
  shown: MarginOrder | undefined,
): MarginOrder | undefined {
  if (shown === `-${column}`) return column
  return shown === column ? undefined : `-${column}`
}

/** The rows in an order; undefined: as they are. */
export function sortedRows(rows: readonly Row[], order: MarginOrder | undefined): readonly Row[] {
  return order === undefined ? rows : sorted(rows, order)
}
