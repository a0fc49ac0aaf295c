import { posix } from 'node:path'
import type { Node } from 'oxc-parser'
import { isCode, type SourceFile } from './source-tree.ts'
import { nameOf, walk } from './syntax.ts'

/** `path name` of every export that some other file imports, including tests and programs outside `src/`. */
export function importedNamesOf(tree: readonly SourceFile[]): ReadonlySet<string> {
  const names = new Set<string>()
  for (const file of tree) {
    if (!isCode(file)) continue
    const pathOf = (specifier: string): string => posix.join(posix.dirname(file.path), specifier)
    walk(file.syntax().program, (node) => {
      if (node.type === 'ImportDeclaration') {
        for (const each of node.specifiers) {
          const name = each.type === 'ImportSpecifier' ? nameOf(each.imported) : null
          if (name !== null) names.add(`${pathOf(node.source.value)} ${name}`)
        }
      } else if (node.type === 'ExportNamedDeclaration' && node.source !== null) {
        for (const { local } of node.specifiers) {
          names.add(`${pathOf(node.source.value)} ${nameOf(local)}`)
        }
      } else if (node.type === 'MemberExpression') {
        // (await import('…')).name
        const path = loadedPath(node.object)
        if (path !== null) names.add(`${pathOf(path)} ${nameOf(node.property)}`)
      } else if (node.type === 'VariableDeclarator' && node.id.type === 'ObjectPattern') {
        // const { name } = await import('…')
        const path = loadedPath(node.init)
        if (path === null) return
        for (const property of node.id.properties) {
          const name = property.type === 'Property' ? nameOf(property.key) : null
          if (name !== null) names.add(`${pathOf(path)} ${name}`)
        }
      }
    })
  }
  return names
}

/** The path that an awaited import loads; null for any other expression. */
function loadedPath(expression: Node | null): string | null {
  if (expression?.type === 'ParenthesizedExpression') return loadedPath(expression.expression)
  if (expression?.type !== 'AwaitExpression') return null
  const { argument } = expression
  if (argument.type !== 'ImportExpression' || argument.source.type !== 'Literal') return null
  return String(argument.source.value)
}
