import type { Node } from 'oxc-parser'
import { type Fault, fileRule, isCode, isServerCode, nodeRule } from './source-tree.ts'
import { exportsOf, nameOf } from './syntax.ts'

/**
 * `as` claims a type that nothing checked. Input from outside is parsed into its type; where an assertion is
 * nevertheless true, a comment right above it says why. Brands are made in vocabulary.
 */
export const checkAssertions = nodeRule(
  (file) => isServerCode(file) && !file.path.startsWith('src/vocabulary/'),
  (file) => {
    const { comments, lineAt } = file.syntax()
    const commentLines = new Set(comments.map(({ end }) => lineAt(end)))
    return (node) => {
      if (!isAssertion(node)) return null
      const line = lineAt(node.start)
      return commentLines.has(line - 1) || commentLines.has(line)
        ? null
        : '"as" without a reason: parse the value, or say right above why it is true'
    }
  },
)

function isAssertion(node: Node): boolean {
  if (node.type === 'TSTypeAssertion') return true
  if (node.type !== 'TSAsExpression') return false
  const { typeAnnotation } = node
  return !(typeAnnotation.type === 'TSTypeReference' && nameOf(typeAnnotation.typeName) === 'const')
}

// The folder of a dialect, and the words of its provider.
const DIALECT = 'src/upstreams/openrouter/'
const DIALECT_WORDS =
  /openrouter:|\bgen-|x-generation-id|\/generation\b|cloudflare-ai|native_tokens_|is_byok|server_tool_use_details|output_modalities=/

/**
 * Only its dialect knows a provider's names for things, so that another dialect can be added and this
 * one taken out without a look at the rest.
 */
export const checkDialectWords = fileRule(
  (file) => isServerCode(file) && !file.path.startsWith(DIALECT),
  ({ text }) =>
    text.split('\n').flatMap((line, at): Fault[] => {
      const [word] = DIALECT_WORDS.exec(line) ?? []
      if (word === undefined) return []
      return [[at + 1, `${word} is a provider's word: it belongs into ${DIALECT}`]]
    }),
)

const MONEY = 'src/vocabulary/money.ts'
const FLOATING = new Set<string | null>(['parseFloat', 'toFixed', 'toPrecision'])

/** Only money.ts turns text into amounts and back: floating point loses micro-dollars. */
export const checkFloats = nodeRule(
  (file) => isServerCode(file) && file.path !== MONEY,
  () => (node, parents) => {
    const name = nameOf(node)
    if (!FLOATING.has(name) || parents.at(-1)?.type === 'Property') return null
    return `${name} is floating point: use ${MONEY}`
  },
)

/**
 * V8 allocates a function whose expression is assigned to a property among the old objects. Its references then stay
 * until the next full garbage collection, and each collection of young objects copies it: one such function for each
 * request took 2 ms of every collection where 0.3 are enough. A function that has a name first is a young object.
 */
export const checkOldFunctions = nodeRule(isServerCode, () => (node) => {
  if (node.type !== 'AssignmentExpression' || node.left.type !== 'MemberExpression') return null
  return /^(?:Arrow)?FunctionExpression$/.test(node.right.type)
    ? 'a function assigned to a property is an old object: give it a name first'
    : null
})

/**
 * An import of a value of `node:http` reads every export of that module, and with them loads Node's own `fetch` and
 * `WebSocket`: several MB in every gateway, which uses neither at rest.
 */
export const checkHttpImports = nodeRule(isServerCode, () => (node) => {
  if (node.type !== 'ImportDeclaration' || node.source.value !== 'node:http') return null
  if (node.importKind === 'type') return null
  return "an import of node:http loads Node's fetch too: use src/http/node-http.ts"
})

const LEFT_OVER = /\b(?:FIXME|HACK|TODO|XXX)\b/

/** Unfinished work is not merged: no notes to come back to. */
export const checkLeftovers = fileRule(isCode, (file) => {
  const { comments, lineAt } = file.syntax()
  return comments.flatMap(({ value, start }): Fault[] => {
    const [word] = LEFT_OVER.exec(value) ?? []
    return word === undefined ? [] : [[lineAt(start), `${word}: finish it or drop it`]]
  })
})

/**
 * A call reads without its declaration: parameters that a caller could swap unseen (two strings, two
 * numbers) or that say nothing at the call (`true`) are fields of one named input object. Where every call reads
 * well nevertheless, a comment right above says why, after the words "By position:".
 */
export const checkParameters = nodeRule(isServerCode, (file) => {
  const { comments, lineAt } = file.syntax()
  const reasons = comments.filter(({ value }) => value.includes('By position:'))
  const excused = new Set(reasons.map(({ end }) => lineAt(end) + 1))
  return (node) => {
    if (!('params' in node) || !Array.isArray(node.params) || node.params.length < 2) return null
    return excused.has(lineAt(node.start)) ? null : objection(node.params.map(kindOf))
  }
})

function objection(kinds: readonly (string | null)[]): string | null {
  if (kinds.includes('boolean')) return 'takes a boolean by position: name it in an input object'
  const twice = ['number', 'string'].find((kind) => kinds.indexOf(kind) !== kinds.lastIndexOf(kind))
  return twice === undefined
    ? null
    : `takes two of type ${twice} by position: name them in an input object`
}

const KINDS: Readonly<Record<string, string>> = {
  TSBooleanKeyword: 'boolean',
  TSNumberKeyword: 'number',
  TSStringKeyword: 'string',
}

function kindOf(parameter: Node): string | null {
  if (parameter.type === 'AssignmentPattern') {
    const { left, right } = parameter
    const isFlag = right.type === 'Literal' && typeof right.value === 'boolean'
    return kindOf(left) ?? (isFlag ? 'boolean' : null)
  }
  if (!('typeAnnotation' in parameter)) return null
  const annotation = parameter.typeAnnotation
  if (annotation?.type !== 'TSTypeAnnotation') return null
  return KINDS[annotation.typeAnnotation.type] ?? null
}

/**
 * Every export of `src/` says what it is, in a doc comment right above it. The input object of a
 * function is described by the function's comment and its own members'.
 */
export const checkDocComments = fileRule(isServerCode, (file) => {
  const { program, comments, lineAt } = file.syntax()
  const isDocumented = (node: Node) =>
    comments.some(
      ({ type, value, end }) =>
        type === 'Block' &&
        /^\*[\s*]*\S/.test(value.replace(/[\s*]+$/, '')) &&
        end <= node.start &&
        file.text.slice(end, node.start).trim() === '',
    )
  const overloaded = new Set<string>()
  return exportsOf(program).flatMap(({ name, statement }): Fault[] => {
    if (name.endsWith('Input') || statement === null) return []
    if (isDocumented(statement)) overloaded.add(name)
    return overloaded.has(name)
      ? []
      : [[lineAt(statement.start), `${name} is exported without a doc comment`]]
  })
})
