import type { Node } from 'oxc-parser'
import { isServerCode, type SourceFile } from './source-tree.ts'
import { nameOf, walk } from './syntax.ts'
import type { Violation } from './violation.ts'

/**
 * `as` claims a type that nothing checked. What comes from outside is parsed into its type; where an
 * assertion is true all the same, a comment right above it says why. Brands are made in vocabulary.
 */
export function checkAssertions(files: readonly SourceFile[]): Violation[] {
  const violations: Violation[] = []
  for (const file of files) {
    if (!isServerCode(file) || file.path.startsWith('src/vocabulary/')) continue
    const { program, comments, lineAt } = file.syntax()
    const commentLines = new Set(comments.map(({ end }) => lineAt(end)))
    walk(program, (node) => {
      if (!isAssertion(node)) return
      const line = lineAt(node.start)
      if (commentLines.has(line - 1) || commentLines.has(line)) return
      violations.push({
        path: file.path,
        line,
        message: '"as" without a reason: parse the value, or say right above why it is true',
      })
    })
  }
  return violations
}

function isAssertion(node: Node): boolean {
  if (node.type === 'TSTypeAssertion') return true
  if (node.type !== 'TSAsExpression') return false
  const { typeAnnotation } = node
  return !(typeAnnotation.type === 'TSTypeReference' && nameOf(typeAnnotation.typeName) === 'const')
}
