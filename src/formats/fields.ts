import {
  isJsonArray,
  isJsonObject,
  isTokenCount,
  type JsonObject,
  type JsonValue,
} from '../json/walk.ts'
import { echoed, invalidParameter, Problem } from '../vocabulary/problem.ts'
import type { ClientName } from './client-names.ts'

/** A member's value; undefined if it is absent or null, which all formats treat the same. */
export function member(owner: JsonObject, name: string): Exclude<JsonValue, null> | undefined {
  if (!Object.hasOwn(owner, name)) return undefined
  return owner[name] ?? undefined
}

/** Like {@link member}, for an object in a client's body. */
export function field(body: JsonObject, name: ClientName): Exclude<JsonValue, null> | undefined {
  return member(body, name)
}

/** False if absent. Throws `invalid_parameter` unless it is a boolean. */
export function readBoolean(body: JsonObject, name: ClientName): boolean {
  const value = field(body, name)
  if (value === undefined) return false
  if (typeof value !== 'boolean') throw wrongType(name, 'true or false')
  return value
}

/** Null if absent. Throws `invalid_parameter` unless it is a whole number above zero. */
export function readCount(body: JsonObject, name: ClientName): number | null {
  const value = field(body, name)
  if (value === undefined) return null
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) {
    throw wrongType(name, 'a whole number above zero')
  }
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}

/** Empty if absent. Throws `invalid_parameter` unless it is an array of objects. */
export function readObjects(body: JsonObject, name: ClientName): readonly JsonObject[] {
  const value = field(body, name)
  if (value === undefined) return []
  if (!Array.isArray(value)) throw wrongType(name, 'an array of objects')
  const elements: readonly JsonValue[] = value
  return elements.map((element, index) => {
    if (isJsonObject(element)) return element
    throw wrongType(`${name}[${index}]`, 'an object')
  })
}

/** Undefined if absent. Throws `invalid_parameter` unless it is an object. */
export function readObject(body: JsonObject, name: ClientName): JsonObject | undefined {
  const value = field(body, name)
  if (value === undefined || isJsonObject(value)) return value
  throw wrongType(name, 'an object')
}

/** A number within the safe integers. Throws `invalid_parameter` unless it is whole and not negative. */
export function wholeNumber(value: JsonValue, param: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) {
    throw wrongType(param, 'a whole number of zero or more')
  }
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}

/**
 * The refusal of a field with a value of the wrong type. By position: the field, what it must be, and a sentence that
 * follows, with a space before it.
 */
export function wrongType(param: string, expected: string, advice = ''): Problem {
  return invalidParameter(param, `\`${param}\` must be ${expected}.${advice}`)
}

/** The refusal of a field that is not supported. By position: the field, then the message. */
export function unsupported(param: string, message: string): Problem {
  return new Problem('unsupported_parameter', { param, message })
}

interface TextsRules {
  /** The field of the texts. */
  readonly param: string
  /** Whether an element may be an object with parts as its `content`. */
  readonly takesParts: boolean
}

type ElementKind = 'text' | 'tokenId' | 'tokenIds' | 'parts'

/**
 * The number of texts in an input: one for a string, an array of token ids or an empty array, else one for each
 * element of an array of strings, of arrays of token ids, or of parts. Throws `invalid_parameter` for any other
 * value and for elements of different kinds.
 */
export function countTexts(input: JsonValue, rules: TextsRules): number {
  if (typeof input === 'string') return 1
  if (!isJsonArray(input)) throw wrongType(rules.param, expected(rules))
  let first: ElementKind | null = null
  for (let i = 0; i < input.length; i++) {
    const kind = elementKind(input[i], rules)
    first ??= kind
    if (kind === null || kind !== first)
      throw wrongType(`${rules.param}[${i}]`, elementExpected(first))
  }
  return first === null || first === 'tokenId' ? 1 : input.length
}

function elementKind(
  element: JsonValue | undefined,
  { takesParts }: TextsRules,
): ElementKind | null {
  if (typeof element === 'string') return 'text'
  if (isTokenCount(element)) return 'tokenId'
  if (isJsonArray(element)) return element.every(isTokenCount) ? 'tokenIds' : null
  if (takesParts && isJsonObject(element) && Array.isArray(element['content'])) return 'parts'
  return null
}

function expected({ takesParts }: TextsRules): string {
  const base = 'a string, or an array of strings, of token IDs or of arrays of token IDs'
  return takesParts ? `${base}, or of objects with \`content\`` : base
}

function elementExpected(first: ElementKind | null): string {
  if (first === null) return 'a string, a token ID or an array of token IDs'
  return `${ELEMENTS[first]}, as the elements before it are`
}

const ELEMENTS: Readonly<Record<ElementKind, string>> = {
  text: 'a string',
  tokenId: 'a token ID',
  tokenIds: 'an array of token IDs',
  parts: 'an object with an array as its `content`',
}

/** The name of a tool, as it may be shown; null: it has none. */
export function toolName(tool: JsonValue): string | null {
  if (!isJsonObject(tool)) return null
  for (const owner of [tool, tool['function'], tool['custom']]) {
    const name = isJsonObject(owner) ? owner['name'] : undefined
    if (typeof name === 'string') return echoed(name)
  }
  return null
}
