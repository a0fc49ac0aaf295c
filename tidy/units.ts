import type { Node, TSType } from 'oxc-parser'
import { type Declaration, declarationsOf, wordsOf } from './declarations.ts'
import { type Fault, fileRule, isCode } from './source-tree.ts'
import { nameOf } from './syntax.ts'

// Quantities that mean nothing without a unit. Counts (attempts, completions) are their own unit.
const DURATION = /^(?:age|backoff|deadline|delay|duration|elapsed|interval|period|timeout|ttl)$/
const MONEY = /^(?:amount|balance|charge|fee|price)$/
const OTHERS: Readonly<Record<string, string>> = {
  cost: 'costMicros, or costUsd where it is the provider’s',
  size: 'bytes, chars or tokens in the name',
  limit: 'a unit and then max, as in bodyBytesMax',
}

// Fields of the API, in micro-dollars, that functions of the vocabulary read.
const API_FIELD = /^src\/vocabulary\/\S+ (?:amount|charge|cost)$/

const QUALIFIERS = new Set(['average', 'default', 'least', 'max', 'min', 'mean', 'most', 'total'])

/**
 * A number that is a duration, a size or money says its unit in its name. Numbers of a branded type
 * (`Micros`) say it there; a field on the wire has the name that the wire gives it.
 */
export const checkUnits = fileRule(isCode, (file) =>
  declarationsOf(file).flatMap((declaration): Fault[] => {
    const { name, line, kind } = declaration
    if (kind === 'member' && API_FIELD.test(`${file.path} ${name}`)) return []
    const unit = unitFor(name)
    if (unit === null || !isNumber(declaration)) return []
    return [[line, `${name} is a number without a unit: say ${unit}`]]
  }),
)

/** The unit for the quantity at the end of a name, qualifiers aside; null where none is. */
function unitFor(name: string): string | null {
  // Names of the wire are in snake_case; ours never are, except constants. Pages of a list are asked
  // for with `limit`, on the wire and so in here.
  if (/[a-z]_/.test(name) || name === 'limit') return null
  const word = wordsOf(name).findLast((candidate) => !QUALIFIERS.has(candidate))
  if (word === undefined) return null
  if (DURATION.test(word)) return `${word}Ms`
  return MONEY.test(word) ? `${word}Micros` : (OTHERS[word] ?? null)
}

function isNumber({ kind, type, value }: Declaration): boolean {
  if (kind === 'function' || kind === 'type' || kind === 'destructured') return false
  return type === null ? value !== null && isNumeric(value) : isNumberType(type)
}

function isNumberType(type: TSType): boolean {
  if (type.type === 'TSUnionType') return type.types.some(isNumberType)
  return type.type === 'TSNumberKeyword' || type.type === 'TSBigIntKeyword'
}

function isNumeric(node: Node): boolean {
  switch (node.type) {
    case 'Literal':
      return typeof node.value === 'number' || typeof node.value === 'bigint'
    case 'BinaryExpression':
      return (
        ['-', '*', '/', '%', '**'].includes(node.operator) ||
        (node.operator === '+' && isNumeric(node.right))
      )
    case 'UnaryExpression':
      return isNumeric(node.argument)
    case 'CallExpression':
      return node.callee.type === 'MemberExpression'
        ? nameOf(node.callee.object) === 'Math'
        : ['Number', 'BigInt'].includes(nameOf(node.callee) ?? '')
    default:
      return false
  }
}
