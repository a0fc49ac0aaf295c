import { decodeString, forEachKey, hasEscape } from './json-scan.ts'

/**
 * The text of valid JSON with every key written in the one way that `JSON.stringify` writes it.
 *
 * `JSON.parse` of this engine can't be trusted with escaped keys: once it has seen a key such as
 * `mode\`, it reads `mode\u006c` as that and not as `model` (nodejs/node#63785). A body with that key
 * beside a plain `model` would be held at the price of one model and run on another. Keys of plain
 * names are read right; those that need an escape can only be taken for others with a backslash.
 */
export function textWithPlainKeys(bytes: Buffer): string {
  const parts: string[] = []
  let kept = 0
  forEachKey(bytes, (key) => {
    if (!hasEscape(bytes, key)) return
    parts.push(bytes.toString('utf8', kept, key.start), JSON.stringify(decodeString(bytes, key)))
    kept = key.end
  })
  parts.push(bytes.toString('utf8', kept))
  return parts.join('')
}
