import { isServerCode, type SourceFile } from './source-tree.ts'
import { nameOf, walk } from './syntax.ts'
import type { Violation } from './violation.ts'

const MONEY = 'src/vocabulary/money.ts'
const FLOATING = new Set(['parseFloat', 'toFixed', 'toPrecision'])

/** Only money.ts turns text into amounts and back: floating point loses micro-dollars. */
export function checkFloats(files: readonly SourceFile[]): Violation[] {
  const violations: Violation[] = []
  for (const file of files) {
    if (!isServerCode(file) || file.path === MONEY) continue
    const { program, lineAt } = file.syntax()
    walk(program, (node, parents) => {
      const name = nameOf(node)
      if (name === null || !FLOATING.has(name) || parents.at(-1)?.type === 'Property') return
      violations.push({
        path: file.path,
        line: lineAt(node.start),
        message: `${name} is floating point: use ${MONEY}`,
      })
    })
  }
  return violations
}
