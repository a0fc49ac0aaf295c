import { z } from 'zod'
import { isRecord } from '../../json/walk.ts'
import { isStorable } from '../fields.ts'

const PAIRS_MAX = 16
const KEY_CHARS_MAX = 64
const VALUE_CHARS_MAX = 512

/** The caller's own notes on an account or a key, as the text that is stored; null: none. All of them are replaced. */
export const metadataField = z
  .unknown()
  .meta({
    type: ['object', 'null'],
    additionalProperties: { type: 'string' },
    description: `Notes of your own, as texts by name: at most ${PAIRS_MAX}, with names of at most ${KEY_CHARS_MAX} characters and texts of at most ${VALUE_CHARS_MAX}. They replace all earlier notes; null removes them. Members of the account can read them.`,
  })
  // Not z.record, which silently drops the key `__proto__`.
  .transform((value, checked): string | null => {
    const fault = value === null ? null : faultOf(value)
    if (fault !== null) checked.addIssue({ code: 'custom', message: fault })
    return isRecord(value) && Object.keys(value).length > 0 ? JSON.stringify(value) : null
  })
  .optional()

function faultOf(value: unknown): string | null {
  if (!isRecord(value)) return 'must be an object whose values are texts'
  const pairs = Object.entries(value)
  if (pairs.length > PAIRS_MAX) return `must have at most ${PAIRS_MAX} keys`
  for (const [place, [memberName, text]] of pairs.entries()) {
    // Escapes a quote, a backslash or a control character in a key, as the tree of a body does.
    if (!isText(memberName, KEY_CHARS_MAX) || memberName === '' || memberName.includes('\ue000')) {
      return `must have keys of 1 to ${KEY_CHARS_MAX} characters without quotes, backslashes and control characters; check key ${place + 1}`
    }
    if (!isText(text, VALUE_CHARS_MAX)) {
      return `must have texts of at most ${VALUE_CHARS_MAX} characters without control characters; check the value of key ${place + 1}`
    }
  }
  return null
}

function isText(value: unknown, charsMax: number): boolean {
  return typeof value === 'string' && value.length <= charsMax && isStorable(value)
}

/** Metadata as responses have it. */
export const metadataShape = z
  .record(z.string(), z.string())
  .describe('Notes, as texts by name; empty: there are none.')

/** Metadata of a row as responses have it. */
export function metadataAnswer(stored: string | null): z.output<typeof metadataShape> {
  const metadata: unknown = stored === null ? {} : JSON.parse(stored)
  return Object.fromEntries(
    Object.entries(Object(metadata)).map(([name, value]) => [name, String(value)] as const),
  )
}
