import { readMarkdown } from './markdown.ts'
import type { SourceFile } from './source-tree.ts'
import type { Violation } from './violation.ts'

/** The alerts and queries in code blocks of the docs ask for metrics that exist. */
export function checkAlerts(
  files: readonly SourceFile[],
  metrics: Readonly<Record<string, unknown>>,
): Violation[] {
  const violations: Violation[] = []
  for (const { path, text } of files) {
    if (!path.startsWith('docs/')) continue
    for (const { lines } of readMarkdown(text).blocks) {
      for (const { text: code, line } of lines) {
        for (const [name] of code.matchAll(/\btollgate_\w+/g)) {
          if (Object.hasOwn(metrics, name.replace(/_(?:bucket|sum|count)$/, ''))) continue
          violations.push({ path, line, message: `${name}: no metric has this name` })
        }
      }
    }
  }
  return violations
}
