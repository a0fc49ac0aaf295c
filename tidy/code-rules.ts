import type { Node, Program, TSType } from 'oxc-parser'
import { isCode, isServerCode, type SourceFile, type Violation } from './source-tree.ts'
import { nameOf, walk } from './syntax.ts'

/**
 * `as` claims a type that nothing checked. Input from outside is parsed into its type; where an assertion is
 * nevertheless true, a comment right above it says why. Brands are made in vocabulary.
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

/** The folder of each dialect, and the words of its provider: they stand nowhere else in `src/`. */
const WORDS_BY_FOLDER: Readonly<Record<string, RegExp>> = {
  'src/upstreams/openrouter/':
    /openrouter:|\bgen-|x-generation-id|\/generation\b|cloudflare-ai|native_tokens_|is_byok|server_tool_use_details|output_modalities=/,
}

/**
 * Only its dialect knows a provider's names for things, so that another dialect can be added and this
 * one taken out without a look at the rest.
 */
export function checkDialectWords(files: readonly SourceFile[]): Violation[] {
  const violations: Violation[] = []
  for (const file of files.filter(isServerCode)) {
    for (const [folder, words] of Object.entries(WORDS_BY_FOLDER)) {
      if (file.path.startsWith(folder)) continue
      for (const [at, line] of file.text.split('\n').entries()) {
        const [word] = words.exec(line) ?? []
        if (word === undefined) continue
        const message = `${word} is a provider's word: it belongs into ${folder}`
        violations.push({ path: file.path, line: at + 1, message })
      }
    }
  }
  return violations
}

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

/**
 * V8 makes a function whose expression is assigned to a property among the old objects. What it refers to then stays until
 * the next full garbage collection, and each collection of young objects copies it: one such function for each request
 * took 2 ms of every collection where 0.3 are enough. A function that has a name first is a young object.
 */
export function checkOldFunctions(files: readonly SourceFile[]): Violation[] {
  const violations: Violation[] = []
  for (const file of files) {
    if (!isServerCode(file)) continue
    const { program, lineAt } = file.syntax()
    walk(program, (node) => {
      if (node.type !== 'AssignmentExpression' || node.left.type !== 'MemberExpression') return
      const { type } = node.right
      if (type !== 'ArrowFunctionExpression' && type !== 'FunctionExpression') return
      const message = 'a function assigned to a property is an old object: give it a name first'
      violations.push({ path: file.path, line: lineAt(node.start), message })
    })
  }
  return violations
}

const LEFT_OVER = /\b(?:FIXME|HACK|TODO|XXX)\b/

/** Unfinished work is not merged: no notes to come back to. */
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

/**
 * A call reads without its declaration: parameters that a caller could swap unseen (two strings, two
 * numbers) or that say nothing at the call (`true`) are fields of one named input object. Where every call reads
 * well nevertheless, a comment right above says why, after the words "By position:".
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
