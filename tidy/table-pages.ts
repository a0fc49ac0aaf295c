import { SETTINGS } from '../src/app/config.ts'
import { METRICS } from '../src/telemetry/metric-table.ts'
import { PROBLEMS } from '../src/vocabulary/problem.ts'
import { readMarkdown } from './markdown.ts'
import type { SourceFile, Violation } from './source-tree.ts'

/** A page whose tables have a row for each entry of a table in the code. */
export interface TablePage {
  readonly path: string
  /** The prefix of the names, if the page also has other tables. */
  readonly prefix?: string
  /** By name, the cells that come from the code; they follow the name. */
  readonly rows: Readonly<Record<string, readonly string[]>>
  /** Cells at the end of each row that are written by hand. */
  readonly ownCells: number
}

/** The pages of docs/ whose tables are made from the code. */
export const TABLE_PAGES: readonly TablePage[] = [
  {
    path: 'docs/errors.md',
    rows: cellsOf(PROBLEMS, ({ httpStatus, owner, retryable, meaning, remedy, places }) => [
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

const ROW = /^\| *`(\w+)` *\|(.*)\| *$/

/**
 * The page with its rows as the code has them. Rows of unknown and repeated names go. A name without a row gets none: which table it
 * belongs to is for the writer of the page to say.
 */
export function withRows(text: string, { rows, ownCells, prefix = '' }: TablePage): string {
  const rowLines = new Set(readMarkdown(text).prose.map(({ line }) => line))
  const lines: string[] = []
  const written = new Set<string>()
  for (const [index, line] of text.split('\n').entries()) {
    const [, name, current = ''] = (rowLines.has(index + 1) && ROW.exec(line)) || []
    if (name === undefined || !name.startsWith(prefix)) {
      lines.push(line)
      continue
    }
    const cells = Object.hasOwn(rows, name) ? rows[name] : undefined
    if (cells === undefined || written.has(name)) continue
    written.add(name)
    const before = current.split('|').map((cell) => cell.trim())
    const row = [`\`${name}\``, ...cells, ...before.slice(before.length - ownCells)]
    lines.push(`| ${row.join(' | ')} |`)
  }
  return lines.join('\n')
}

/** A page of tables has exactly the code's row for each name, and none of its own cells is empty. */
export function checkTablePage(files: readonly SourceFile[], page: TablePage): Violation[] {
  const { path } = page
  const text = files.find((file) => file.path === path)?.text
  if (text === undefined) return [{ path, line: null, message: 'is missing' }]
  const lines = text.split('\n')
  const empty = lines.findIndex((line) => ROW.test(line) && /\| *\|$/.test(line))
  if (empty !== -1) return [{ path, line: empty + 1, message: 'leaves its last cell empty' }]
  const absent = Object.keys(page.rows).find((name) => !text.includes(`\n| \`${name}\` |`))
  if (absent !== undefined) {
    const message = `has no row for ${absent}: add | \`${absent}\` | | to the table it belongs to, and run \`npm run docs\``
    return [{ path, line: null, message }]
  }
  const made = withRows(text, page).split('\n')
  const differs = made.findIndex((line, index) => line !== lines[index])
  if (differs === -1 && made.length === lines.length) return []
  const line = differs === -1 ? made.length : differs + 1
  return [{ path, line, message: 'is not what the code says: run `npm run docs`' }]
}
