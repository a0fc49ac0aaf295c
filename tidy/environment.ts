import type { Node } from 'oxc-parser'
import { isCode, isTest, type SourceFile } from './source-tree.ts'
import { nameOf, propertyOf, walk } from './syntax.ts'
import type { Violation } from './violation.ts'

// Each program's own front door.
const READS_ENVIRONMENT = new Set(['src/app/config.ts', 'simulator/main.ts'])

/**
 * The environment is read once, in config.ts (and where the simulator is started on its own): no
 * other module depends on where it runs.
 */
export function checkEnvironment(files: readonly SourceFile[]): Violation[] {
  const violations: Violation[] = []
  for (const file of files) {
    if (!isCode(file) || isTest(file) || READS_ENVIRONMENT.has(file.path)) continue
    if (!file.path.startsWith('src/') && !file.path.startsWith('simulator/')) continue
    const { program, lineAt } = file.syntax()
    walk(program, (node) => {
      if (!readsEnvironment(node)) return
      violations.push({
        path: file.path,
        line: lineAt(node.start),
        message: 'reads the environment: take the setting from config.ts, passed down by main.ts',
      })
    })
  }
  return violations
}

function readsEnvironment(node: Node): boolean {
  switch (node.type) {
    case 'MemberExpression':
      return nameOf(node.object) === 'process' && propertyOf(node) === 'env'
    case 'VariableDeclarator':
      return (
        nameOf(node.init) === 'process' &&
        node.id.type === 'ObjectPattern' &&
        node.id.properties.some(
          (property) => property.type === 'Property' && nameOf(property.key) === 'env',
        )
      )
    case 'ImportDeclaration':
      return (
        /^(?:node:)?process$/.test(node.source.value) &&
        node.specifiers.some(
          (specifier) =>
            specifier.type === 'ImportSpecifier' && nameOf(specifier.imported) === 'env',
        )
      )
    default:
      return false
  }
}
