import { isUtf8 } from 'node:buffer'
import { Problem } from '../vocabulary/problem.ts'
import { JSON_DEPTH_MAX, JSON_TREE_BYTES_MAX, surveyJson } from './bound.ts'
import {
  closesAt,
  decodeString,
  enterContainer,
  isObjectAt,
  opens,
  skipColon,
  skipComma,
  skipSpace,
  skipString,
  skipValue,
  stringEquals,
  textWithPlainKeys,
  treeKey,
} from './scan.ts'
import {
  isJsonObject,
  isOfClientTools,
  type JsonBody,
  type JsonObject,
  type JsonValue,
  jsonPathText,
} from './walk.ts'

/**
 * Reads a client's body. Throws Problem `invalid_json` if it is not UTF-8, not JSON, not an object, has more values
 * than {@link JSON_TREE_BYTES_MAX} allows, or has a member twice anywhere except in the schemas of the client's own
 * tools: two parsers could pick different members, and a request with the hold of a cheap model would run an expensive
 * one. `reserveTree` is given the cost of the tree before it is made, and may throw.
 */
export function parseJsonBody(
  bytes: Buffer,
  reserveTree: (treeBytes: number) => void = () => {},
): JsonBody {
  if (bytes.length === 0)
    throw new Problem('invalid_json', { message: 'The body is empty: send a JSON object.' })
  if (!isUtf8(bytes)) throw new Problem('invalid_json', { message: 'The body is not valid UTF-8.' })
  const survey = surveyJson(bytes, JSON_TREE_BYTES_MAX)
  if (survey === null) {
    throw new Problem('invalid_json', {
      message: `The body is nested deeper than ${JSON_DEPTH_MAX} levels, or has more values than the gateway reads.`,
    })
  }
  reserveTree(survey.treeBytes)
  const parsed = parseObject(bytes.toString())
  const root = survey.hasEscapedKeys ? parseObject(textWithPlainKeys(bytes)) : parsed
  const body = { bytes, root }
  const duplicate = findDuplicate(body, survey.members)
  if (duplicate !== null) {
    throw new Problem('invalid_json', {
      message: `The body has the field \`${duplicate}\` twice.`,
      param: duplicate,
    })
  }
  return body
}

/** The limit for the tree of a provider's answer: thousands of embeddings are millions of numbers. */
const ANSWER_TREE_BYTES_MAX = 320 * 1024 * 1024

/** Trees of fewer bytes are not measured. */
const MEASURED_BYTES_MIN = 1024 * 1024

/**
 * Reads a provider's answer; null if it is no JSON object, or gives `error` twice. Of other duplicate
 * members the last counts.
 */
export function parseAnswer(answer: Buffer): JsonBody | null {
  return readObject(withoutMark(answer))
}

/**
 * As {@link parseAnswer}, of an answer to a model's call. A large one is read without the elements of its `data`, whose
 * grammar is then checked only in part.
 */
export function parseModelAnswer(answer: Buffer): JsonBody | null {
  const bytes = withoutMark(answer)
  const isReadWhole =
    bytes.length <= MEASURED_BYTES_MIN || MAY_BE_BAD.some((sign) => bytes.includes(sign))
  return readObject((isReadWhole ? null : withoutData(bytes)) ?? bytes)
}

const QUOTE = 0x22
const EMPTY_LIST = Buffer.from('[]')

// An error can be hidden in `data`, and some servers write numbers that JSON lacks.
const MAY_BE_BAD = ['"error"', '\\u00', 'NaN', 'Infinity']

/**
 * An object's JSON with an empty list in place of its `data`: the embeddings and images of an answer, which nothing
 * reads in an answer to a call of a model. As a tree, thousands of embeddings would block the thread for half a second.
 * Null if the bytes have no `data` that can be left out, or are no object. Only the brackets and strings of `data` are
 * looked at.
 */
function withoutData(bytes: Buffer): Buffer | null {
  const start = skipSpace(bytes, 0)
  if (!isObjectAt(bytes, start)) return null
  const kept: Buffer[] = []
  let keptUntil = 0
  try {
    for (let at = enterContainer(bytes, start); !closesAt(bytes, at); ) {
      if (bytes[at] !== QUOTE) return null
      const key = { start: at, end: skipString(bytes, at) }
      const valueStart = skipColon(bytes, key.end)
      const valueEnd = skipValue(bytes, valueStart)
      if (opens(bytes[valueStart]) && stringEquals(bytes, key, 'data')) {
        kept.push(bytes.subarray(keptUntil, valueStart), EMPTY_LIST)
        keptUntil = valueEnd
      }
      at = skipComma(bytes, valueEnd)
    }
  } catch {
    // A string or a list has no end.
    return null
  }
  if (keptUntil === 0) return null
  return Buffer.concat([...kept, bytes.subarray(keptUntil)])
}

function readObject(bytes: Buffer): JsonBody | null {
  // Answers of many megabytes are embeddings and images, which have neither.
  const mayHide = bytes.includes('"error"') || bytes.includes('\\u00')
  const root = parseUpstreamJson(bytes)
  if (!isJsonObject(root)) return null
  return mayHide && givesErrorTwice(bytes.toString('latin1'), root) ? null : { bytes, root }
}

/** Reads JSON of the upstream; undefined if it is not JSON, or has too many values or levels. */
export function parseUpstreamJson(document: Buffer): JsonValue | undefined {
  const bytes = withoutMark(document)
  const isLarge = bytes.length > MEASURED_BYTES_MIN
  if (isLarge && surveyJson(bytes, ANSWER_TREE_BYTES_MAX) === null) return undefined
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

/** The object that is alone in a list, as Gemini writes an error; null for any other JSON. */
export function parseListedError(bytes: Buffer): JsonObject | null {
  const list = parseUpstreamJson(bytes)
  const [only, ...more]: readonly JsonValue[] = Array.isArray(list) ? list : []
  return more.length === 0 && isJsonObject(only) ? only : null
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff')

/** JSON without the mark that it may begin with. */
function withoutMark(bytes: Buffer): Buffer {
  const start = bytes.subarray(0, BYTE_ORDER_MARK.length)
  return start.equals(BYTE_ORDER_MARK) ? bytes.subarray(start.length) : bytes
}

/**
 * The JSON object in an event's data; null for any other text, for one of more values or levels than a client's body
 * may have, and for one that hides an error in a member of the same name. The text is latin-1, as are
 * the strings, unless the text has a `\u` escape: read only words of ASCII and numbers from them. An escaped member name is
 * resolved.
 */
export function parseEventData(text: string): JsonObject | null {
  const isLarge = text.length > MEASURED_BYTES_MIN
  if (isLarge && surveyJson(Buffer.from(text, 'latin1'), JSON_TREE_BYTES_MAX) === null) return null
  try {
    const root: JsonValue = JSON.parse(text)
    if (!isJsonObject(root) || givesErrorTwice(text, root)) return null
    if (!text.includes('\\u')) return root
    const plain: JsonObject = JSON.parse(textWithPlainKeys(Buffer.from(text, 'latin1')))
    return plain
  } catch {
    return null
  }
}

function parseObject(text: string): JsonObject {
  const parsed = parseText(text)
  if (typeof parsed === 'string') throw new Problem('invalid_json', { message: parsed })
  if (isJsonObject(parsed.value)) return parsed.value
  throw new Problem('invalid_json', { message: 'The body is JSON, but not an object.' })
}

/** The value, or a message if the text is not JSON. The engine's own message may quote the text, so it is not used. */
function parseText(text: string): { readonly value: JsonValue } | string {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return syntaxMessage(text, error instanceof SyntaxError ? error.message : '')
  }
}

const PLACE_IN_MESSAGE = / at position \d+ \(line (\d+) column (\d+)\)$/

/** By position: the text, and the engine's message. */
function syntaxMessage(text: string, engineMessage: string): string {
  if (text.startsWith('\ufeff')) {
    return 'The body begins with a byte order mark, which JSON does not have: send it without.'
  }
  const [, line, column] = PLACE_IN_MESSAGE.exec(engineMessage) ?? placeOfNoValue(text) ?? []
  if (line !== undefined) return `The body is not valid JSON: see line ${line}, column ${column}.`
  if (engineMessage === 'Unexpected end of JSON input') {
    return 'The body is not valid JSON: it ends too early.'
  }
  return 'The body is not valid JSON.'
}

/** A longer text is not searched. */
const SEARCHED_CHARS_MAX = 64 * 1024
const WORD = /[\t\n\r ]*("[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|-?\d[-+.\deE]*|true|false|null|)/y

/**
 * Finds the first word that is not JSON, such as `NaN`, or the first missing value: the engine names no place for these.
 * Null if there is none. In the manner of a match: the text before it, the line, the column.
 */
function placeOfNoValue(text: string): readonly [string, number, number] | null {
  if (text.length > SEARCHED_CHARS_MAX) return null
  const word = new RegExp(WORD)
  let before = ':'
  for (;;) {
    const [, now = ''] = word.exec(text) ?? []
    const at = word.lastIndex - now.length
    const lacksValue = /^[:,[]$/.test(before) && /^[\]},:]$/.test(now) && before + now !== '[]'
    if (now === '' && at === text.length) return null
    if (now === '' || lacksValue) {
      const lines = text.slice(0, at).split('\n')
      return [text, lines.length, (lines.at(-1)?.length ?? 0) + 1]
    }
    before = now
  }
}

/**
 * The place of a member that some object gives twice, as text; null if none does. Keys are compared
 * after unescaping. Definitions of the client's own tools are ignored. `members`: how many the bytes have.
 *
 * The bytes have as many members as the parsed tree has keys unless `JSON.parse` dropped a duplicate,
 * so that an honest body costs one scan and one walk; only where they differ is the place looked for.
 */
function findDuplicate({ bytes, root }: JsonBody, members: number): string | null {
  return members === countKeys(root) ? null : new DuplicateSearch(bytes, root).find()
}

// A quote within a string is escaped, so that this is never a part of one.
const ERROR_KEY = /"(?:e|\\u0065)(?:r|\\u0072){2}(?:o|\\u006[fF])(?:r|\\u0072)"\s*:/g

/**
 * Whether an object of a provider's JSON gives `error` twice: parsing keeps the last, and clients would be
 * sent both. `text` is the JSON as latin-1.
 */
function givesErrorTwice(text: string, root: JsonObject): boolean {
  const written = text.match(ERROR_KEY)?.length ?? 0
  if (written < 2) return false
  let kept = 0
  const pending: JsonValue[] = [root]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (typeof node !== 'object' || node === null) continue
    if (isJsonObject(node) && Object.hasOwn(node, 'error')) kept++
    for (const value of Object.values(node)) pending.push(value)
  }
  return kept < written
}

/** How many members all objects of the tree have. */
function countKeys(root: JsonObject): number {
  let count = 0
  const pending: (JsonObject | readonly JsonValue[])[] = []
  const countObject = (node: JsonObject): void => {
    for (const key in node) {
      count++
      const value = node[key]
      if (typeof value === 'object' && value !== null) pending.push(value)
    }
  }
  countObject(root)
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (isJsonObject(node)) countObject(node)
    else {
      for (let i = 0; i < node.length; i++) {
        const value = node[i]
        if (typeof value !== 'object' || value === null) continue
        // Objects in arrays are the most common, and are counted at once.
        if (isJsonObject(value)) countObject(value)
        else if (value.length > 0) pending.push(value)
      }
    }
  }
  return count
}

/** A container that is open at the position of the search. */
interface Frame {
  readonly node: JsonObject | readonly JsonValue[]
  readonly start: number
  /** The key that the container is the value of; null for an element and the root. */
  readonly parentKey: string | null
  /** Members or elements entered so far. */
  entered: number
  /** The key or index of the one entered last. */
  segment: string | number
}

/**
 * Goes through bytes and tree side by side. An object has a duplicate only where its bytes give more
 * members than its node has keys. Below a duplicate, bytes and tree may disagree; whatever is
 * found there, the body is refused, as it must be.
 */
class DuplicateSearch {
  readonly #bytes: Buffer
  readonly #frames: Frame[] = []
  #at: number

  constructor(bytes: Buffer, root: JsonObject) {
    this.#bytes = bytes
    this.#at = skipSpace(bytes, 0)
    this.#enter(root, null)
  }

  find(): string | null {
    for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) {
      if (!closesAt(this.#bytes, this.#at)) {
        if (Array.isArray(frame.node)) this.#stepElement(frame, frame.node)
        else if (isJsonObject(frame.node)) this.#stepMember(frame, frame.node)
      } else {
        const duplicate = this.#duplicateIn(frame)
        if (duplicate !== null) return duplicate
        this.#frames.pop()
        if (this.#frames.length > 0) this.#at = skipComma(this.#bytes, this.#at + 1)
      }
    }
    return null
  }

  #stepMember(frame: Frame, node: JsonObject): void {
    const keyEnd = skipString(this.#bytes, this.#at)
    const valueStart = skipColon(this.#bytes, keyEnd)
    frame.entered++
    if (opens(this.#bytes[valueStart])) {
      const key = treeKey(this.#bytes, { start: this.#at, end: keyEnd })
      this.#at = valueStart
      const isRoot = this.#frames.length === 1
      if (!isOfClientTools(node, { key, parentKey: frame.parentKey, isRoot })) {
        frame.segment = key
        this.#enterOrSkip(node[key], key)
        return
      }
    }
    this.#at = skipComma(this.#bytes, skipValue(this.#bytes, valueStart))
  }

  #stepElement(frame: Frame, node: readonly JsonValue[]): void {
    frame.segment = frame.entered++
    this.#enterOrSkip(node[frame.segment], null)
  }

  /** Enters the value at the present position where it is a container, in bytes and tree alike. */
  #enterOrSkip(child: JsonValue | undefined, parentKey: string | null): void {
    const alike =
      typeof child === 'object' &&
      child !== null &&
      opens(this.#bytes[this.#at]) &&
      isObjectAt(this.#bytes, this.#at) === isJsonObject(child)
    if (alike) this.#enter(child, parentKey)
    else this.#at = skipComma(this.#bytes, skipValue(this.#bytes, this.#at))
  }

  #enter(node: JsonObject | readonly JsonValue[], parentKey: string | null): void {
    this.#frames.push({ node, start: this.#at, parentKey, entered: 0, segment: 0 })
    this.#at = enterContainer(this.#bytes, this.#at)
  }

  /** Compares the keys themselves where there are too few of them in the tree. */
  #duplicateIn(frame: Frame): string | null {
    const { node } = frame
    if (!isJsonObject(node) || frame.entered <= Object.keys(node).length) return null
    const segments = this.#frames.slice(0, -1).map(({ segment }) => segment)
    const keys = new Set<string>()
    let at = enterContainer(this.#bytes, frame.start)
    while (!closesAt(this.#bytes, at)) {
      const keyEnd = skipString(this.#bytes, at)
      const key = decodeString(this.#bytes, { start: at, end: keyEnd })
      if (keys.has(key)) return jsonPathText([...segments, key])
      keys.add(key)
      at = skipComma(this.#bytes, skipValue(this.#bytes, skipColon(this.#bytes, keyEnd)))
    }
    return null
  }
}
