import { isMet, type Measure, type Unit } from './measure.ts'

/** The measures of one scenario. */
export interface Section {
  readonly title: string
  readonly measures: readonly Measure[]
}

/** The result as Markdown: a table of each section. */
export function tablesOf(sections: readonly Section[]): string {
  return sections.map(({ title, measures }) => `### ${title}\n\n${tableOf(measures)}\n`).join('\n')
}

function tableOf(measures: readonly Measure[]): string {
  const rows = [
    ['What', 'Median', 'Least to most', 'Budget', 'Met'],
    ...measures.map(({ name, unit, spread, budget, values }) => [
      name,
      figureText(spread.median, unit),
      values.length === 1 ? '' : `${numberText(spread.low)} to ${numberText(spread.high)}`,
      budget === null ? '' : `≤ ${figureText(budget, unit)}`,
      metText({ name, unit, spread, budget, values }),
    ]),
  ]
  const widths = [0, 1, 2, 3, 4].map((column) =>
    Math.max(3, ...rows.map((row) => (row[column] ?? '').length)),
  )
  const lines = rows.map((row) => lineOf(row.map((cell, at) => cell.padEnd(widths[at] ?? 0))))
  const rule = lineOf(widths.map((width) => '-'.repeat(width)))
  return [lines[0], rule, ...lines.slice(1)].join('\n')
}

function lineOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

function metText(measure: Measure): string {
  const met = isMet(measure)
  return met === null ? '' : met ? 'yes' : '**no**'
}

/** A figure with its unit, as `2.31 ×` or `87 µs`. */
function figureText(value: number, unit: Unit): string {
  return `${numberText(value)} ${unit === 'x' ? '×' : unit}`
}

/** A number with three significant digits. */
export function numberText(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return value.toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
}
