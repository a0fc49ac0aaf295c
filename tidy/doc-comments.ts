import type { Node, Program } from 'oxc-parser'
import { isServerCode, type SourceFile } from './source-tree.ts'
import { nameOf } from './syntax.ts'
import type { Violation } from './violation.ts'

/**
 * Every export of `src/` says what it is, in a doc comment right above it. The input object of a
 * function is described by the function's comment and its own members'.
 */
export function checkDocComments(files: readonly SourceFile[]): Violation[] {
  const violations: Violation[] = []
  for (const file of files) {
    if (!isServerCode(file)) continue
    const { program, comments, lineAt } = file.syntax()
    const isDocumented = (node: Node) =>
      comments.some(
        ({ type, value, start, end }) =>
          type === 'Block' &&
          /^\*[\s*]*\S/.test(value.replace(/[\s*]+$/, '')) &&
          start < node.start &&
          end <= node.start &&
          file.text.slice(end, node.start).trim() === '',
      )
    const overloaded = new Set<string>()
    for (const { name, node } of exportsOf(program)) {
      if (name.endsWith('Input')) continue
      if (isDocumented(node)) overloaded.add(name)
      else if (!overloaded.has(name)) {
        violations.push({
          path: file.path,
          line: lineAt(node.start),
          message: `${name} is exported without a doc comment`,
        })
      }
    }
  }
  return violations
}

interface Exported {
  readonly name: string
  /** The statement that the comment stands above. */
  readonly node: Node
}

function exportsOf(program: Program): Exported[] {
  return program.body.flatMap((statement): Exported[] => {
    if (statement.type === 'ExportDefaultDeclaration') return [{ name: 'default', node: statement }]
    if (statement.type !== 'ExportNamedDeclaration' || statement.source !== null) return []
    if (statement.declaration !== null) {
      return namesOf(statement.declaration).map((name) => ({ name, node: statement }))
    }
    return statement.specifiers.flatMap(({ local }) => {
      const name = nameOf(local)
      const declared = program.body.find((other) => name !== null && namesOf(other).includes(name))
      return name === null || declared === undefined ? [] : [{ name, node: declared }]
    })
  })
}

function namesOf(statement: Node): string[] {
  if (statement.type === 'VariableDeclaration') {
    return statement.declarations.map(({ id }) => nameOf(id) ?? 'a pattern')
  }
  const name = 'id' in statement ? nameOf(statement.id) : null
  return name === null ? [] : [name]
}
