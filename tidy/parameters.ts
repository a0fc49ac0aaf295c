import type { Node, TSType } from 'oxc-parser'
import { isServerCode, type SourceFile } from './source-tree.ts'
import { walk } from './syntax.ts'
import type { Violation } from './violation.ts'

/**
 * A call reads without its declaration: parameters that a caller could swap unseen (two strings, two
 * numbers) or that say nothing at the call (`true`) are fields of one named input object. Where every
 * call reads well all the same, a comment right above says why, after the words "By position:".
 */
export function checkParameters(files: readonly SourceFile[]): Violation[] {
  const violations: Violation[] = []
  for (const file of files) {
    if (!isServerCode(file)) continue
    const { program, comments, lineAt } = file.syntax()
    const excused = new Set(
      comments
        .filter(({ value }) => value.includes('By position:'))
        .map(({ end }) => lineAt(end) + 1),
    )
    walk(program, (node) => {
      if (!('params' in node) || !Array.isArray(node.params) || node.params.length < 2) return
      const message = objection(node.params.map(kindOf))
      if (message !== null && !excused.has(lineAt(node.start)))
        violations.push({ path: file.path, line: lineAt(node.start), message })
    })
  }
  return violations
}

type ParameterKind = 'boolean' | 'number' | 'string' | null

function objection(kinds: readonly ParameterKind[]): string | null {
  if (kinds.includes('boolean')) return 'takes a boolean by position: name it in an input object'
  for (const kind of ['number', 'string'] as const) {
    if (kinds.filter((other) => other === kind).length > 1) {
      return `takes two of type ${kind} by position: name them in an input object`
    }
  }
  return null
}

function kindOf(parameter: Node): ParameterKind {
  if (parameter.type === 'AssignmentPattern')
    return kindOf(parameter.left) ?? kindOfValue(parameter.right)
  if (!('typeAnnotation' in parameter)) return null
  const annotation = parameter.typeAnnotation
  return annotation?.type === 'TSTypeAnnotation' ? kindOfType(annotation.typeAnnotation) : null
}

function kindOfType(type: TSType): ParameterKind {
  switch (type.type) {
    case 'TSBooleanKeyword':
      return 'boolean'
    case 'TSNumberKeyword':
      return 'number'
    case 'TSStringKeyword':
      return 'string'
    default:
      return null
  }
}

function kindOfValue(value: Node): ParameterKind {
  return value.type === 'Literal' && typeof value.value === 'boolean' ? 'boolean' : null
}
