/** The figures, as the API names them, that rows of a report can be sorted by; a margin of null is not known. */
interface SortedFigures {
  readonly requests: number
  readonly charge: number
  readonly cost: number
  readonly margin: number | null
}

/** The columns that rows of a report can be sorted by. */
export const REPORT_COLUMNS = ['requests', 'charged', 'cost', 'margin'] as const

/** One of them. */
export type ReportColumn = (typeof REPORT_COLUMNS)[number]

/** An order of the rows of a report: with a minus, the largest first. */
export type ReportOrder = ReportColumn | `-${ReportColumn}`

/** Every order. */
export const REPORT_ORDERS: readonly ReportOrder[] = REPORT_COLUMNS.flatMap(
  (column) => [column, `-${column}`] as const,
)

/** The rows in an order; margins that are not known last, and equal rows as they were. */
export function sortedRows<Row extends { readonly figures: SortedFigures }>(
  rows: readonly Row[],
  order: ReportOrder,
): readonly Row[] {
  const column = REPORT_COLUMNS.find((one) => order === one || order === `-${one}`) ?? 'charged'
  const sign = order === column ? 1 : -1
  return rows.toSorted(({ figures: one }, { figures: other }) => {
    const [left, right] = [FIGURES[column](one), FIGURES[column](other)]
    if (left === null || right === null) return Number(left === null) - Number(right === null)
    return sign * (left - right)
  })
}

const FIGURES: Readonly<Record<ReportColumn, (figures: SortedFigures) => number | null>> = {
  requests: ({ requests }) => requests,
  charged: ({ charge }) => charge,
  cost: ({ cost }) => cost,
  margin: ({ margin }) => margin,
}
