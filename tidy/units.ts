import type { Node, TSType } from 'oxc-parser'
import { type Declaration, declarationsOf, wordsOf } from './declarations.ts'
import { isCode, type SourceFile, type Violation } from './source-tree.ts'
import { nameOf } from './syntax.ts'

// Quantities that mean nothing without a unit. Counts (attempts, completions) are their own unit.
const NEEDS_UNIT = new Map([
  ...[
    'age',
    'backoff',
    'deadline',
    'delay',
    'duration',
    'elapsed',
    'interval',
    'period',
    'timeout',
    'ttl',
  ].map((word) => [word, `${word}Ms`] as const),
  ['cost', 'costMicros, or costUsd where it is the provider’s'],
  ['size', 'bytes, chars or tokens in the name'],
  ['limit', 'a unit and then max, as in bodyBytesMax'],
  ...['amount', 'balance', 'charge', 'fee', 'price'].map(
    (word) => [word, `${word}Micros`] as const,
  ),
])

const QUALIFIERS = new Set(['average', 'default', 'least', 'max', 'min', 'mean', 'most', 'total'])

/**
 * A number that is a duration, a size or money says its unit in its name. Numbers of a branded type
 * (`Micros`) say it there; a field on the wire has the name that the wire gives it.
 */
export function checkUnits(files: readonly SourceFile[]): Violation[] {
  const violations: Violation[] = []
  for (const file of files) {
    if (!isCode(file)) continue
    for (const declaration of declarationsOf(file)) {
      const word = quantityOf(declaration.name)
      if (word === null || !isNumber(declaration)) continue
      violations.push({
        path: file.path,
        line: declaration.line,
        message: `${declaration.name} is a number without a unit: say ${NEEDS_UNIT.get(word)}`,
      })
    }
  }
  return violations
}

/** The quantity at the end of a name, qualifiers aside; null where none is. */
function quantityOf(name: string): string | null {
  // Names of the wire are in snake_case; ours never are, except constants. Pages of a list are asked
  // for with `limit`, on the wire and so in here.
  if (/[a-z]_/.test(name) || name === 'limit') return null
  const word = wordsOf(name).findLast((candidate) => !QUALIFIERS.has(candidate))
  return word !== undefined && NEEDS_UNIT.has(word) ? word : null
}

function isNumber({ kind, type, value }: Declaration): boolean {
  if (kind === 'function' || kind === 'type' || kind === 'destructured') return false
  return type === null ? value !== null && isNumeric(value) : isNumberType(type)
}

function isNumberType(type: TSType): boolean {
  switch (type.type) {
    case 'TSNumberKeyword':
    case 'TSBigIntKeyword':
      return true
    case 'TSUnionType':
      return type.types.some(isNumberType)
    default:
      return false
  }
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
      return isNumericCall(node.callee)
    default:
      return false
  }
}

function isNumericCall(callee: Node): boolean {
  if (callee.type === 'MemberExpression') return nameOf(callee.object) === 'Math'
  return ['Number', 'BigInt'].includes(nameOf(callee) ?? '')
}
