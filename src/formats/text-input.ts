import { isJsonObject, type JsonValue } from '../json/walk.ts'
import { wrongType } from './fields.ts'

/** What an input may be. */
interface TextInputRules {
  /** The field that the input stands in, for the refusal. */
  readonly param: string
  /** Whether an element may be an object with parts as its `content`. */
  readonly takesParts: boolean
}

type ElementKind = 'text' | 'tokenId' | 'tokenIds' | 'parts'

/**
 * How many texts an input is: one for a string or an array of token ids, else one for each element of an
 * array of strings, of arrays of token ids, or of parts. An empty array counts as one. Throws
 * `invalid_parameter` for anything else, arrays of several kinds among it.
 */
export function countTexts(input: JsonValue, rules: TextInputRules): number {
  if (typeof input === 'string') return 1
  if (!isArray(input)) throw wrongType(rules.param, expected(rules))
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
  { takesParts }: TextInputRules,
): ElementKind | null {
  if (typeof element === 'string') return 'text'
  if (isTokenId(element)) return 'tokenId'
  if (isArray(element)) return element.every(isTokenId) ? 'tokenIds' : null
  if (takesParts && isJsonObject(element) && Array.isArray(element['content'])) return 'parts'
  return null
}

function isTokenId(value: JsonValue | undefined): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function isArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value)
}

function expected({ takesParts }: TextInputRules): string {
  const base = 'a string, or an array of strings, of token ids or of arrays of token ids'
  return takesParts ? `${base}, or of objects with \`content\`` : base
}

function elementExpected(first: ElementKind | null): string {
  switch (first) {
    case 'text':
      return 'a string, as the elements before it are'
    case 'tokenId':
      return 'a token id, as the elements before it are'
    case 'tokenIds':
      return 'an array of token ids, as the elements before it are'
    case 'parts':
      return 'an object with an array as its `content`, as the elements before it are'
    case null:
      return 'a string, a token id or an array of token ids'
  }
}
