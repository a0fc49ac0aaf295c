import { type Decimal, isNegative, parseDecimal } from '../vocabulary/money.ts'
import {
  closesAt,
  enterContainer,
  isObjectAt,
  opens,
  type Span,
  skipColon,
  skipComma,
  skipSpace,
  skipString,
  skipValue,
  stringEquals,
} from './scan.ts'
import type { JsonBody } from './walk.ts'

/** A place in a body: member names and element indexes from the root down; never empty. */
export type JsonPath = readonly (string | number)[]

/** One change to a body's bytes. `json` is the source text of the new value. */
export type JsonEdit =
  /**
   * Replaces the value at `path`; a member that is absent is added at the end of its object, which
   * must be there. An array element must be there.
   */
  | { readonly kind: 'set'; readonly path: JsonPath; readonly json: string }
  /** Adds an element at the end of the array at `path`, which must be there. */
  | { readonly kind: 'append'; readonly path: JsonPath; readonly json: string }
  /** Takes the member at `path` out of its object, with its name; it must be there. */
  | { readonly kind: 'remove'; readonly path: JsonPath }

/** Bytes to replace; where `start` is `end`, text is added there. */
interface Replacement {
  readonly start: number
  readonly end: number
  readonly text: string
}

/**
 * The body's bytes with the edits made, as parts in this order: unchanged bytes are slices of the
 * body, and not copied. Without edits, only the body. Throws TypeError, for a
 * bug in the caller, if a place does not exist, has the wrong kind, or is edited twice.
 */
export function editJson(body: JsonBody, edits: readonly JsonEdit[]): readonly Buffer[] {
  if (edits.length === 0) return [body.bytes]
  if (edits.some(({ path }) => path.length === 0)) throw new TypeError('an edit of the whole body')
  const search = new EditSearch(body.bytes)
  search.visitValue(skipSpace(body.bytes, 0), { edits, depth: 0 })
  if (search.placed !== edits.length)
    throw new TypeError('an edit of a place that is not in the body')
  return splice(body.bytes, search.replacements)
}

/** The edits at or below a value, all of whose paths agree in the first `depth` segments. */
interface Wanted {
  readonly edits: readonly JsonEdit[]
  readonly depth: number
}

/** Passes once over the containers on the way to the edited places, and over nothing below them. */
class EditSearch {
  readonly replacements: Replacement[] = []
  placed = 0
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Places the wanted edits in the value that starts here; returns where it ends. Recurses along paths only. */
  visitValue(start: number, wanted: Wanted): number {
    if (wanted.edits.some((edit) => edit.kind === 'set' && edit.path.length === wanted.depth)) {
      return this.#replace(start, wanted)
    }
    if (!opens(this.#bytes[start])) return skipValue(this.#bytes, start)
    return isObjectAt(this.#bytes, start)
      ? this.#visitObject(start, wanted)
      : this.#visitArray(start, wanted)
  }

  #replace(start: number, { edits: [edit, ...others] }: Wanted): number {
    if (edit?.kind !== 'set' || others.length > 0) throw new TypeError('edits that overlap')
    const end = skipValue(this.#bytes, start)
    this.placed++
    this.replacements.push({ start, end, text: edit.json })
    return end
  }

  #visitObject(start: number, { edits, depth }: Wanted): number {
    const bytes = this.#bytes
    const absent = new Set(edits)
    let at = enterContainer(bytes, start)
    // The ends of the last member, and of the last member that stays; null: there is none.
    let lastEnd: number | null = null
    let keptEnd: number | null = null
    while (!closesAt(bytes, at)) {
      const key = { start: at, end: skipString(bytes, at) }
      const below = edits.filter(({ path }) => {
        const segment = path[depth]
        return typeof segment === 'string' && stringEquals(bytes, key, segment)
      })
      for (const edit of below) absent.delete(edit)
      const valueStart = skipColon(bytes, key.end)
      const inside = { edits: below, depth: depth + 1 }
      if (isRemoved(inside)) {
        lastEnd = this.#remove({ keyStart: key.start, valueStart, keptEnd }, inside)
      } else {
        lastEnd = this.#visitOrSkip(valueStart, inside)
        keptEnd = lastEnd
      }
      at = skipComma(bytes, lastEnd)
    }
    const names = new Set<string>()
    const texts: string[] = []
    for (const edit of absent) {
      const name = edit.path[depth]
      if (edit.kind !== 'set' || edit.path.length > depth + 1 || typeof name !== 'string') continue
      if (names.has(name)) throw new TypeError('edits that overlap')
      names.add(name)
      texts.push(`${JSON.stringify(name)}:${edit.json}`)
    }
    const isEmptied = keptEnd === null && lastEnd !== null
    this.#add({ at: isEmptied ? at : (lastEnd ?? start + 1), isFirst: keptEnd === null, texts })
    return at + 1
  }

  /** Takes a member out, with the comma between it and its neighbours; returns its end. */
  #remove({ keyStart, valueStart, keptEnd }: Member, { edits }: Wanted): number {
    if (edits.length > 1) throw new TypeError('edits that overlap')
    const end = skipValue(this.#bytes, valueStart)
    this.placed++
    this.replacements.push(
      keptEnd === null
        ? { start: keyStart, end: skipComma(this.#bytes, end), text: '' }
        : { start: keptEnd, end, text: '' },
    )
    return end
  }

  #visitArray(start: number, { edits, depth }: Wanted): number {
    const bytes = this.#bytes
    const first = enterContainer(bytes, start)
    let at = first
    let lastEnd = first
    for (let index = 0; !closesAt(bytes, at); index++) {
      const below = edits.filter(({ path }) => path[depth] === index)
      lastEnd = this.#visitOrSkip(at, { edits: below, depth: depth + 1 })
      at = skipComma(bytes, lastEnd)
    }
    const texts = edits
      .filter((edit) => edit.kind === 'append')
      .filter(({ path }) => path.length === depth)
      .map(({ json }) => json)
    const isFirst = at === first
    this.#add({ at: isFirst ? start + 1 : lastEnd, isFirst, texts })
    return at + 1
  }

  #visitOrSkip(start: number, wanted: Wanted): number {
    return wanted.edits.length === 0
      ? skipValue(this.#bytes, start)
      : this.visitValue(start, wanted)
  }

  /** Adds members or elements at the end of a container. */
  #add({ at, isFirst, texts }: Addition): void {
    if (texts.length === 0) return
    this.placed += texts.length
    const text = texts.join(',')
    this.replacements.push({ start: at, end: at, text: isFirst ? text : `,${text}` })
  }
}

function isRemoved({ edits, depth }: Wanted): boolean {
  return edits.some(({ kind, path }) => kind === 'remove' && path.length === depth)
}

/** A member that is taken out of its object. */
interface Member {
  readonly keyStart: number
  readonly valueStart: number
  /** The end of the last member before it that stays; null: none does. */
  readonly keptEnd: number | null
}

interface Addition {
  readonly at: number
  /** Whether it is the first in its container. */
  readonly isFirst: boolean
  readonly texts: readonly string[]
}

/** Replacements come in ascending order, because the search passes over the bytes once. */
function splice(bytes: Buffer, replacements: readonly Replacement[]): readonly Buffer[] {
  const parts: Buffer[] = []
  let kept = 0
  for (const { start, end, text } of replacements) {
    parts.push(bytes.subarray(kept, start), Buffer.from(text))
    kept = end
  }
  parts.push(bytes.subarray(kept))
  return parts
}

const NUMBER_START = /^[-0-9]/

/** The number at a path, from its digits in the body; null if there is none or it is negative. */
export function decimalAt(body: JsonBody, path: readonly string[]): Decimal | null {
  const source = valueSource(body, path)
  if (source === null || !NUMBER_START.test(source.toString('latin1', 0, 1))) return null
  const decimal = parseDecimal(source.toString('latin1'))
  return decimal === null || isNegative(decimal) ? null : decimal
}

/**
 * The source bytes of the value at a path, a slice of the body; null if none is there. Of duplicate members the
 * last counts, as in the parsed tree.
 */
export function valueSource(body: JsonBody, path: JsonPath): Buffer | null {
  const span = valueSpan(body, path)
  return span === null ? null : body.bytes.subarray(span.start, span.end)
}

/** The place of {@link valueSource} in the body's bytes. */
export function valueSpan({ bytes }: JsonBody, path: JsonPath): Span | null {
  let start = skipSpace(bytes, 0)
  for (const segment of path) {
    if (!opens(bytes[start]) || isObjectAt(bytes, start) !== (typeof segment === 'string'))
      return null
    const found =
      typeof segment === 'string'
        ? findMember(bytes, start, segment)
        : findElement(bytes, { arrayStart: start, index: segment })
    if (found === null) return null
    start = found
  }
  return { start, end: skipValue(bytes, start) }
}

/** The start of the array's element of this index; null if there is none. */
function findElement(
  bytes: Buffer,
  { arrayStart, index }: { readonly arrayStart: number; readonly index: number },
): number | null {
  let at = enterContainer(bytes, arrayStart)
  for (let before = 0; before < index && !closesAt(bytes, at); before++) {
    at = skipComma(bytes, skipValue(bytes, at))
  }
  return closesAt(bytes, at) ? null : at
}

/** The start of the value of the object's last member of this name; null if there is none. */
function findMember(bytes: Buffer, objectStart: number, name: string): number | null {
  let found: number | null = null
  let at = enterContainer(bytes, objectStart)
  while (!closesAt(bytes, at)) {
    const keyEnd = skipString(bytes, at)
    const valueStart = skipColon(bytes, keyEnd)
    if (stringEquals(bytes, { start: at, end: keyEnd }, name)) found = valueStart
    at = skipComma(bytes, skipValue(bytes, valueStart))
  }
  return found
}
