import { decodeString, forEachKey, hasEscape, type Span } from './scan.ts'

/**
 * The text of valid JSON with every escaped key written without an escape: as itself, or where it can't
 * be, by a name of its own (see {@link treeKey}).
 *
 * `JSON.parse` of this engine can't be trusted with escaped keys: once it has seen a key such as
 * `mode\`, it reads `mode\u006c` as that and not as `model` (nodejs/node#63785). A body with that key
 * beside a plain `model` would be held at the price of one model and run on another.
 */
export function textWithPlainKeys(bytes: Buffer): string {
  const parts: string[] = []
  let kept = 0
  forEachKey(bytes, (key) => {
    if (!hasEscape(bytes, key)) return
    parts.push(bytes.toString('utf8', kept, key.start), `"${treeKey(bytes, key)}"`)
    kept = key.end
  })
  parts.push(bytes.toString('utf8', kept))
  return parts.join('')
}

/**
 * The name that a key has in the tree of its body. That is the key itself, but for an escaped key with
 * characters that can't be written otherwise (quotes, backslashes, control characters, halves of
 * pairs): they stand as U+E000 and their number. No field of any format has such a name.
 */
export function treeKey(bytes: Buffer, key: Span): string {
  const text = decodeString(bytes, key)
  return hasEscape(bytes, key) ? text.replace(UNWRITABLE, numbered) : text
}

const UNWRITABLE = /["\\\p{Cc}\p{Cs}\ue000]/gu

function numbered(character: string): string {
  return `\ue000${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
