import { hasEscape, type Span, skipSpace, stringEnd } from './scan.ts'

/** JSON that is nested deeper is not parsed. */
export const JSON_DEPTH_MAX = 512

/** The limit for the tree of a client's body, without the text of its strings. */
export const JSON_TREE_BYTES_MAX = 64 * 1024 * 1024

/** An object, an array or a string, with its slot in its container. */
const NODE_BYTES = 80
const KEY_BYTES = 40
/** A small whole number or a literal. */
const SCALAR_BYTES = 16
/** A number that is slow to read, and stored outside of its container. */
const LONG_SCALAR_BYTES = 32
const SMALL_CHARS_MAX = 9

/**
 * For a key that makes a new shape of an object, or that has an escape, so that the text is rewritten. Its cost
 * is time: a million such keys would block the process for seconds.
 */
const SLOW_KEY_BYTES = 1_024

/** Shorter bytes are not worth a table of shapes: they can't block the process for long. */
const SHAPED_BYTES_MIN = 128 * 1024

/**
 * Adds up, in one pass, the memory of the tree that `JSON.parse` would make of the bytes; null if it is over `treeBytesMax`, or the nesting over
 * {@link JSON_DEPTH_MAX}. The bytes need not be JSON: up to where `JSON.parse` fails it is all counted.
 */
export function surveyJson(
  bytes: Buffer,
  treeBytesMax: number,
): {
  /** The bytes of the tree, without the text of its strings. */
  readonly treeBytes: number
  /** The members of all objects together. */
  readonly members: number
  /** Whether the key of any of them is written with an escape. */
  readonly hasEscapedKeys: boolean
} | null {
  const end = bytes.length
  const slowKeys = end < SHAPED_BYTES_MIN ? null : new SlowKeys(bytes)
  let treeBytes = 0
  let members = 0
  let hasEscapedKeys = false
  let depth = 0
  let at = 0
  while (at < end && treeBytes <= treeBytesMax) {
    const kind = byteKinds[bytes[at] ?? 0]
    if (kind === BETWEEN) {
      at++
      while (at < end && byteKinds[bytes[at] ?? 0] === BETWEEN) at++
    } else if (kind === DIGIT) {
      const start = at++
      while (at < end && byteKinds[bytes[at] ?? 0] === DIGIT) at++
      const isSmall = at - start <= SMALL_CHARS_MAX && (at === end || !isScalar(bytes[at] ?? 0))
      treeBytes += isSmall ? SCALAR_BYTES : LONG_SCALAR_BYTES
      if (!isSmall) at = scalarEnd(bytes, at)
    } else if (kind === QUOTE) {
      const start = at
      at = stringEnd(bytes, start)
      // A string without an end is the last that a parser looks at.
      if (at === -1) break
      const after = skipSpace(bytes, at)
      if (bytes[after] === COLON) {
        const key = { start, end: at }
        const isEscaped: boolean = (slowKeys !== null || !hasEscapedKeys) && hasEscape(bytes, key)
        hasEscapedKeys ||= isEscaped
        members++
        treeBytes += KEY_BYTES
        if (slowKeys?.isNewShape(key, depth) || (slowKeys !== null && isEscaped)) {
          treeBytes += SLOW_KEY_BYTES
        }
      } else {
        treeBytes += NODE_BYTES
      }
      at = after
    } else if (kind === OPENING) {
      if (depth === JSON_DEPTH_MAX) return null
      depth++
      slowKeys?.enter(depth)
      treeBytes += NODE_BYTES
      at++
    } else if (kind === CLOSING) {
      if (depth > 0) depth--
      at++
    } else {
      treeBytes += SCALAR_BYTES
      at = scalarEnd(bytes, at)
    }
  }
  if (treeBytes > treeBytesMax) return null
  return { treeBytes, members, hasEscapedKeys }
}

/** Finds the keys that make a new shape. */
class SlowKeys {
  readonly #shapes: ShapeTable
  /** The shape so far of the open container at each depth. */
  readonly #open = new Int32Array(JSON_DEPTH_MAX + 1)

  constructor(bytes: Buffer) {
    this.#shapes = new ShapeTable(bytes)
  }

  /** A container opens. */
  enter(depth: number): void {
    this.#open[depth] = 0
  }

  /** Adds a key to the object that is open at this depth. */
  isNewShape(key: Span, depth: number): boolean {
    const { count } = this.#shapes
    this.#open[depth] = this.#shapes.extend(this.#open[depth] ?? 0, key)
    return this.#shapes.count > count
  }
}

/** The first position from `start` on where a number or a literal can't continue. */
function scalarEnd(bytes: Buffer, start: number): number {
  let at = start
  while (at < bytes.length && isScalar(bytes[at] ?? 0)) at++
  return at
}

function isScalar(byte: number): boolean {
  return (byteKinds[byte] ?? 0) <= DIGIT
}

// The kind of a byte outside of strings.
const LETTER = 0
const DIGIT = 1
const BETWEEN = 2
const OPENING = 3
const CLOSING = 4
const QUOTE = 5

const COLON = 0x3a

const byteKinds = byteKindsTable()

function byteKindsTable(): Uint8Array {
  const kinds = new Uint8Array(256).fill(LETTER)
  const mark = (characters: string, kind: number): void => {
    for (const character of characters) kinds[character.charCodeAt(0)] = kind
  }
  mark('-0123456789', DIGIT)
  mark(' \t\n\r,:', BETWEEN)
  mark('[{', OPENING)
  mark(']}', CLOSING)
  mark('"', QUOTE)
  return kinds
}

// The engine keeps no shape of more keys than this, and no more shapes than this that differ only in
// their last key. Objects beyond these limits are always slow to make.
const KEYS_MAX = 128
const SIBLINGS_MAX = 1_000

const PROBES_MAX = 16
const HASHED_BYTES = 48

/**
 * The shapes of the objects in some bytes: which keys they have, in which order. The engine makes a shape
 * once, key by key, which takes microseconds; all objects of that shape share it.
 */
class ShapeTable {
  /** How many steps to a new shape there were; one that can't be kept is new each time. */
  count = 0
  readonly #bytes: Buffer
  #columns: Columns = columnsFor(64)
  /** Shapes by hash; 0 is none. Never more than a quarter full. */
  #slots = new Int32Array(256)

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** The shape of an object with one key more; 0 is the shape without keys. */
  extend(parent: number, key: Span): number {
    const hash = this.#hash(parent, key)
    const mask = this.#slots.length - 1
    let free: number | null = null
    for (let probe = 0; probe < PROBES_MAX; probe++) {
      const slot = (hash + probe) & mask
      const shape = this.#slots[slot] ?? 0
      if (shape === 0) {
        free = slot
        break
      }
      if (this.#columns.hashes[shape] === hash && this.#isStep(shape, { parent, key })) return shape
    }
    return this.#add({ parent, key, hash, slot: free })
  }

  #add({ parent, key, hash, slot }: NewShape): number {
    const shape = ++this.count
    if (shape === this.#columns.parents.length) this.#columns = grown(this.#columns)
    const columns = this.#columns
    columns.hashes[shape] = hash
    columns.parents[shape] = parent
    columns.starts[shape] = key.start
    columns.ends[shape] = key.end
    const keys = (columns.keys[parent] ?? 0) + 1
    columns.keys[shape] = keys
    const siblings = columns.children[parent] ?? 0
    if (slot === null || keys > KEYS_MAX || siblings >= SIBLINGS_MAX) return shape
    columns.children[parent] = siblings + 1
    this.#slots[slot] = shape
    if (shape * 4 > this.#slots.length) this.#spread()
    return shape
  }

  #isStep(shape: number, { parent, key: { start, end } }: Step): boolean {
    const { parents, starts, ends } = this.#columns
    const otherStart = starts[shape] ?? 0
    const otherEnd = ends[shape] ?? 0
    return (
      parents[shape] === parent &&
      otherEnd - otherStart === end - start &&
      isSame(this.#bytes, { at: otherStart, as: start, length: end - start })
    )
  }

  #hash(parent: number, { start, end }: Span): number {
    let hash = Math.imul(parent, 0x9e3779b1) ^ (end - start)
    const hashedEnd = Math.min(end, start + HASHED_BYTES)
    for (let at = start; at < hashedEnd; at++) {
      hash = Math.imul(hash ^ (this.#bytes[at] ?? 0), 0x01000193)
    }
    return hash ^ (hash >>> 15)
  }

  /** Twice the slots. Shapes that find none there are new when they come again. */
  #spread(): void {
    const slots = new Int32Array(this.#slots.length * 2)
    const mask = slots.length - 1
    for (const shape of this.#slots) {
      if (shape === 0) continue
      const hash = this.#columns.hashes[shape] ?? 0
      for (let probe = 0; probe < PROBES_MAX; probe++) {
        const slot = (hash + probe) & mask
        if (slots[slot] !== 0) continue
        slots[slot] = shape
        break
      }
    }
    this.#slots = slots
  }
}

/** One key more. */
interface Step {
  readonly parent: number
  readonly key: Span
}

interface NewShape extends Step {
  readonly hash: number
  /** The index by which it is found again; null if there is no room for it. */
  readonly slot: number | null
}

/** The facts of each shape, by its number: its last step, its keys and the shapes after it. */
interface Columns {
  readonly hashes: Int32Array
  readonly parents: Int32Array
  readonly starts: Int32Array
  readonly ends: Int32Array
  readonly keys: Int32Array
  readonly children: Int32Array
}

function columnsFor(length: number): Columns {
  return {
    hashes: new Int32Array(length),
    parents: new Int32Array(length),
    starts: new Int32Array(length),
    ends: new Int32Array(length),
    keys: new Int32Array(length),
    children: new Int32Array(length),
  }
}

function grown(columns: Columns): Columns {
  const larger = columnsFor(columns.parents.length * 2)
  larger.hashes.set(columns.hashes)
  larger.parents.set(columns.parents)
  larger.starts.set(columns.starts)
  larger.ends.set(columns.ends)
  larger.keys.set(columns.keys)
  larger.children.set(columns.children)
  return larger
}

/** Whether `length` bytes are the same at two places. */
function isSame(
  bytes: Buffer,
  { at, as, length }: { readonly at: number; readonly as: number; readonly length: number },
): boolean {
  if (length > HASHED_BYTES) return bytes.compare(bytes, at, at + length, as, as + length) === 0
  for (let i = 0; i < length; i++) if (bytes[at + i] !== bytes[as + i]) return false
  return true
}
