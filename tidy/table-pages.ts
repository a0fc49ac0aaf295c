import { SETTINGS } from '../src/app/config.ts'
import { METRICS } from '../src/telemetry/metric-table.ts'
import { PROBLEMS, type ProblemCode } from '../src/vocabulary/problem.ts'
import { PROBLEM_PLACES } from '../src/vocabulary/problem-places.ts'
import type { TablePage } from './table-rows.ts'

const PLACED_PROBLEMS = Object.fromEntries(
  Object.entries(PROBLEM_PLACES).map(([code, places]) => [
    code,
    { ...PROBLEMS[code as ProblemCode], places },
  ]),
)

/** The pages of docs/ whose tables are made from the code. */
export const TABLE_PAGES: readonly TablePage[] = [
  {
    path: 'docs/errors.md',
    rows: cellsOf(PLACED_PROBLEMS, ({ httpStatus, owner, retryable, meaning, remedy, places }) => [
      String(httpStatus),
      places.length === 3 ? 'everywhere' : places.join(', '),
      owner,
      retryable ? 'yes' : 'no',
      meaning,
      remedy,
    ]),
    ownCells: 0,
  },
  {
    path: 'docs/config.md',
    rows: cellsOf(SETTINGS, ({ fallback, description }) => [
      fallback === null || fallback === '' ? '-' : `\`${fallback}\``,
      description,
    ]),
    ownCells: 0,
  },
  {
    // When to worry is written by hand.
    path: 'docs/metrics.md',
    prefix: 'tollgate_',
    rows: cellsOf(METRICS, ({ kind, labels, help }) => [
      kind,
      labels.map((label) => `\`${label}\``).join(' ') || '-',
      help,
    ]),
    ownCells: 1,
  },
]

/** By position: a table of the code, and the cells of one of its entries. */
function cellsOf<Entry>(
  table: Readonly<Record<string, Entry>>,
  cells: (entry: Entry) => readonly string[],
): Record<string, readonly string[]> {
  return Object.fromEntries(Object.entries(table).map(([name, entry]) => [name, cells(entry)]))
}
