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
  treeKey,
} from './scan.ts'
import {
  belongsToTools,
  isJsonObject,
  type JsonBody,
  type JsonObject,
  type JsonValue,
  jsonPathText,
} from './walk.ts'

/**
 * The place of a member that some object gives twice, as text; null where none does. Keys are compared
 * after unescaping. Definitions of the client's own tools are ignored. `members`: how many the bytes have.
 *
 * The bytes have as many members as the parsed tree has keys unless `JSON.parse` dropped a duplicate,
 * so that an honest body costs one scan and one walk; only where they differ is the place looked for.
 */
export function findDuplicate({ bytes, root }: JsonBody, members: number): string | null {
  return members === countKeys(root) ? null : new DuplicateSearch(bytes, root).find()
}

// A quote within a string is escaped, so that this is never a part of one.
const ERROR_KEY = /"(?:e|\\u0065)(?:r|\\u0072){2}(?:o|\\u006[fF])(?:r|\\u0072)"\s*:/g

/**
 * Whether an object of a provider's JSON gives `error` twice: parsing keeps the last, and clients would be
 * sent both. `text` is the JSON as latin-1.
 */
export function givesErrorTwice(text: string, root: JsonObject): boolean {
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

/** A container that is open where the search stands. */
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
      if (!belongsToTools(node, { key, parentKey: frame.parentKey, isRoot })) {
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
