import {
  closesAt,
  enterContainer,
  isObjectAt,
  skipColon,
  skipComma,
  skipSpace,
  skipString,
  skipValue,
  stringEquals,
} from './scan.ts'
import type { JsonBody } from './value.ts'

const NUMBER_START = /^[-0-9]/

/**
 * The source text of the number at a path of member names, digits exactly as written; null where no
 * number is there. Of duplicate members the last counts, as in the parsed tree.
 */
export function numberSource(body: JsonBody, path: readonly string[]): string | null {
  const source = valueSource(body, path)
  if (source === null) return null
  return NUMBER_START.test(source.toString('latin1', 0, 1)) ? source.toString('latin1') : null
}

/**
 * The source bytes of the value at a path of member names, a slice of the body; null where none is
 * there. Of duplicate members the last counts, as in the parsed tree.
 */
export function valueSource({ bytes }: JsonBody, path: readonly string[]): Buffer | null {
  let start = skipSpace(bytes, 0)
  for (const name of path) {
    if (!isObjectAt(bytes, start)) return null
    const memberStart = findMember(bytes, start, name)
    if (memberStart === null) return null
    start = memberStart
  }
  return bytes.subarray(start, skipValue(bytes, start))
}

/** Where the value of the object's last member of this name starts; null where there is none. */
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
