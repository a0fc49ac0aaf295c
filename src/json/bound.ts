import { hasEscape, type Span, skipSpace, stringEnd } from './scan.ts'
import { ShapeTable } from './shapes.ts'

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

/** The result of one pass over bytes: the tree that `JSON.parse` would make of them. */
interface JsonSurvey {
  /** The bytes of the tree, without the text of its strings. */
  readonly treeBytes: number
  /** The members of all objects together. */
  readonly members: number
  /** Whether the key of any of them is written with an escape. */
  readonly hasEscapedKeys: boolean
}

/**
 * Adds up what the bytes cost as a tree; null where that is over `treeBytesMax`, or the nesting over
 * {@link JSON_DEPTH_MAX}. The bytes need not be JSON: up to where `JSON.parse` fails it is all counted.
 */
export function surveyJson(bytes: Buffer, treeBytesMax: number): JsonSurvey | null {
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
