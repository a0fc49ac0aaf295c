import { readMarkdown } from './markdown.ts'
import type { SourceFile } from './source-tree.ts'
import type { Violation } from './violation.ts'

/** What the page must say of a metric. */
export interface DocumentedMetric {
  readonly kind: string
  readonly labels: readonly string[]
  readonly help: string
}

const METRICS_PAGE = 'docs/metrics.md'

/**
 * The page of metrics says what the metrics say of themselves, of all of them and no others, and when
 * to worry; its alerts ask for none that is not there.
 */
export function checkMetricsPage(
  files: readonly SourceFile[],
  metrics: Readonly<Record<string, DocumentedMetric>>,
): Violation[] {
  const page = files.find(({ path }) => path === METRICS_PAGE)
  if (page === undefined) return [{ path: METRICS_PAGE, line: null, message: 'is missing' }]
  const { prose, blocks } = readMarkdown(page.text)
  const violations: Violation[] = []
  const documented = new Set<string>()
  for (const { text, line } of prose) {
    const [, name, told = ''] = /^\| *`(tollgate_\w+)` *\|(.*)\| *$/.exec(text) ?? []
    if (name === undefined) continue
    const cells = told.split('|').map((cell) => cell.trim())
    const message = documented.has(name) ? 'stands twice' : objection(cells, metrics[name])
    documented.add(name)
    if (message !== null)
      violations.push({ path: METRICS_PAGE, line, message: `${name}: ${message}` })
  }
  for (const { text, line } of blocks.flatMap(({ lines }) => lines)) {
    for (const [name] of text.matchAll(/\btollgate_\w+/g)) {
      if (Object.hasOwn(metrics, name.replace(/_(?:bucket|sum|count)$/, ''))) continue
      violations.push({ path: METRICS_PAGE, line, message: `${name}: no metric has this name` })
    }
  }
  const missing = Object.keys(metrics).filter((name) => !documented.has(name))
  return [
    ...violations,
    ...missing.map((name) => ({ path: METRICS_PAGE, line: null, message: `${name}: has no row` })),
  ]
}

function objection(cells: readonly string[], metric: DocumentedMetric | undefined): string | null {
  if (metric === undefined) return 'no metric has this name'
  const [kind, labels, help, worry = ''] = cells
  const labelCell = metric.labels.map((label) => `\`${label}\``).join(' ') || '-'
  const expected = [metric.kind, labelCell, metric.help].join(' | ')
  if ([kind, labels, help].join(' | ') !== expected) {
    return `says "${[kind, labels, help].join(' | ')}"; the metric says "${expected}"`
  }
  return worry === '' ? 'says not when to worry' : null
}
