import { isCode, type SourceFile } from './source-tree.ts'
import type { Violation } from './violation.ts'

const LEFT_OVER = /\b(?:FIXME|HACK|TODO|XXX)\b/

/** What is not finished is not merged: no notes to come back to. */
export function checkLeftovers(files: readonly SourceFile[]): Violation[] {
  const violations: Violation[] = []
  for (const file of files) {
    if (!isCode(file)) continue
    const { comments, lineAt } = file.syntax()
    for (const { value, start } of comments) {
      const [word] = LEFT_OVER.exec(value) ?? []
      if (word === undefined) continue
      violations.push({
        path: file.path,
        line: lineAt(start),
        message: `${word}: finish it or drop it`,
      })
    }
  }
  return violations
}
