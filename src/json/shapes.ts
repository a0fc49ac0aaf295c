import type { Span } from './scan.ts'

// The engine keeps no shape of more keys than this, and no more shapes than this that differ in their
// last key alone. Objects beyond these limits are always slow to make.
const KEYS_MAX = 128
const SIBLINGS_MAX = 1_000

const PROBES_MAX = 16
const HASHED_BYTES = 48

/**
 * The shapes of the objects in some bytes: which keys they have, in which order. The engine makes a shape
 * once, key by key, which takes microseconds; all objects of that shape share it.
 */
export class ShapeTable {
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
  /** Where it is found again; null where there is no room for it. */
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
