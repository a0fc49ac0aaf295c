import { type CsvCell, csvLine, dollarsCell } from '../csv.ts'
import type { STEPS } from './usage-range.ts'
import type { Figures, Grouping, ReportRow } from './usage-report-row.ts'

interface CsvColumns {
  /** Undefined: a row is a group, over the whole range. */
  readonly step: (typeof STEPS)[number] | undefined
  readonly columns: readonly (keyof Figures)[]
  /** Whether the account of a key follows its name. */
  readonly hasOwners: boolean
}

/** The lines of a report, and a line of its totals, in exact dollars. */
export function reportCsv(
  {
    by,
    data,
    totals,
  }: {
    readonly by: Grouping
    readonly data: readonly ReportRow[]
    readonly totals: Figures
  },
  { step, columns, hasOwners }: CsvColumns,
): string {
  const isNamed = by === 'key' || by === 'account'
  const line = ({ date, id, name, figures, ...owner }: ReportRow): string => {
    const dated = step === undefined ? [] : [date ?? null]
    const named = isNamed ? [id, name] : [id]
    const { account_id = null, account_name = null } = owner
    const owned = hasOwners ? [account_id, account_name] : []
    return csvLine([
      ...dated,
      ...named,
      ...owned,
      ...columns.map((column) => cellOf(column, figures)),
    ])
  }
  const dated = step === undefined ? [] : ['date']
  const owned = hasOwners ? ['account', 'account_name'] : []
  const head = csvLine([...dated, ...(isNamed ? [by, 'name'] : [by]), ...owned, ...columns])
  const none = by === 'tag' ? NO_TAGS : NO_UPSTREAM
  const rows = data.map((row) => line({ ...row, id: row.id ?? none }))
  const total = { id: 'total', name: null, figures: totals }
  // The first cell says that the line is the total.
  const last = step === undefined ? line(total) : line({ ...total, id: null, date: 'total' })
  return [head, ...rows, last].join('')
}

function cellOf(column: keyof Figures, figures: Figures): CsvCell {
  const value = figures[column]
  return value !== null && AMOUNTS.has(column) ? dollarsCell(value) : value
}

const AMOUNTS: ReadonlySet<keyof Figures> = new Set([
  'charge',
  'backed_charge',
  'free_charge',
  'written_off',
  'cost',
  'uncharged_cost',
  'margin',
] as const)

const NO_TAGS = '(without tags, or pruned)'

const NO_UPSTREAM = '(pruned, upstream not known)'
