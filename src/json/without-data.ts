import {
  closesAt,
  enterContainer,
  isObjectAt,
  opens,
  skipColon,
  skipComma,
  skipSpace,
  skipString,
  skipValue,
  stringEquals,
} from './scan.ts'

const QUOTE = 0x22
const NOTHING = Buffer.from('[]')

/**
 * An object's JSON with an empty list in place of its `data`: the embeddings and images of an answer, which nothing in
 * the gateway reads in an answer to a call of a model. As a tree, thousands of embeddings would block the thread for seconds. Null if the bytes have no
 * `data` that can be left out, or are no object. Only the brackets and strings of `data` are looked at.
 */
export function withoutData(bytes: Buffer): Buffer | null {
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
        kept.push(bytes.subarray(keptUntil, valueStart), NOTHING)
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
