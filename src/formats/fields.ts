import type { JsonEdit } from '../json/edit.ts'
import {
  isJsonArray,
  isJsonObject,
  isTokenCount,
  type JsonObject,
  type JsonValue,
} from '../json/walk.ts'
import type { Call } from '../vocabulary/call.ts'
import type { Offer } from '../vocabulary/offer.ts'
import { echoed, invalidParameter, Problem } from '../vocabulary/problem.ts'
import type { ClientName } from './client-names.ts'
import { SIXTIETHS } from './token-guess.ts'

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

/** The refusal of a field with a value of the wrong type. By position: the field, then what it must be. */
export function wrongType(param: string, expected: string): Problem {
  return invalidParameter(param, `\`${param}\` must be ${expected}.`)
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
  switch (first) {
    case 'text':
      return 'a string, as the elements before it are'
    case 'tokenId':
      return 'a token ID, as the elements before it are'
    case 'tokenIds':
      return 'an array of token IDs, as the elements before it are'
    case 'parts':
      return 'an object with an array as its `content`, as the elements before it are'
    case null:
      return 'a string, a token ID or an array of token IDs'
  }
}

/** The facts of a forwarded request that can explain its refusal. Kept while the call lasts: it is small. */
export interface SentFacts {
  /** The fields of the client's own body. */
  readonly fields: readonly string[]
  /** The names of its tools, by their place; null: a tool has none that can be shown. */
  readonly tools: readonly (string | null)[]
  /** The output cap that the gateway set, in a field that the client did not set; null: it set none. */
  readonly ownCap: OwnCap | null
  readonly size: SentSize
}

/** How large a call is, for the refusal of one that is too long. */
export interface SentSize {
  /** The likely tokens of its prompt; null: it has pictures or files, whose tokens are not guessed. */
  readonly promptTokens: number | null
  /** The output cap that it has, of the client or of the gateway; null: none. */
  readonly capTokens: number | null
  /** The context window that its model lists; null: none. */
  readonly contextTokens: number | null
}

interface OwnCap {
  readonly param: string
  readonly tokens: number
}

/** The facts of a call that was not sent. */
export const NOTHING_SENT: SentFacts = {
  fields: [],
  tools: [],
  ownCap: null,
  size: { promptTokens: null, capTokens: null, contextTokens: null },
}

/** The fields of output caps. */
export const CAP_PARAMETERS: readonly string[] = [
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
]

const FIELDS_MAX = 64
const TOOLS_MAX = 512

/** The facts that can explain a refusal. */
export function sentFacts({
  root,
  edits,
  call,
  offer,
}: {
  /** The client's body. */
  readonly root: JsonObject
  /** The replacements in it. */
  readonly edits: readonly JsonEdit[]
  readonly call: Pick<Call, 'promptGuess' | 'outputCapTokens' | 'media'>
  readonly offer: Pick<Offer, 'contextTokens'>
}): SentFacts {
  const tools: JsonValue = root['tools'] ?? []
  const ownCap = capIn(edits, root)
  return {
    fields: Object.keys(root).slice(0, FIELDS_MAX),
    tools: isJsonArray(tools) ? tools.slice(0, TOOLS_MAX).map(toolName) : [],
    ownCap,
    size: {
      promptTokens: hasOnlyText(call) ? Math.ceil(call.promptGuess / SIXTIETHS) : null,
      capTokens: call.outputCapTokens ?? ownCap?.tokens ?? null,
      contextTokens: offer.contextTokens,
    },
  }
}

function hasOnlyText({ media }: Pick<Call, 'media'>): boolean {
  const { files, imagesInline, imagesByUrl, videosInline, videosByUrl } = media
  return files + imagesInline + imagesByUrl + videosInline + videosByUrl === 0
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

function capIn(edits: readonly JsonEdit[], root: JsonObject): OwnCap | null {
  for (const edit of edits) {
    if (edit.kind !== 'set') continue
    const [param, ...deeper] = edit.path
    if (typeof param !== 'string' || deeper.length > 0 || !CAP_PARAMETERS.includes(param)) continue
    if ((root[param] ?? null) !== null) continue
    return { param, tokens: Number(edit.json) }
  }
  return null
}
