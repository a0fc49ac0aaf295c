/**
 * Steps through the bytes of JSON that `JSON.parse` has accepted. Nothing here checks the grammar;
 * on other bytes the positions mean nothing.
 */

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const SPACE = 0x20

/** A value's place in the bytes: from its first byte to just after its last. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** The first position from `at` on that is not white space. */
export function skipSpace(bytes: Buffer, at: number): number {
  let next = at
  while ((bytes[next] ?? 0xff) <= SPACE) next++
  return next
}

// Below this, a loop is faster than a call to the native search.
const NEAR_BYTES = 24

/** The position after the string whose opening quote is at `start`. */
export function skipString(bytes: Buffer, start: number): number {
  const end = stringEnd(bytes, start)
  if (end === -1) throw new RangeError('a string without an end: not bytes of valid JSON')
  return end
}

/** The position after the string whose opening quote is at `start`; -1 where it has no end. */
export function stringEnd(bytes: Buffer, start: number): number {
  let at = start + 1
  let nearBytes = NEAR_BYTES
  for (;;) {
    const near = at + nearBytes
    while (at < near) {
      const byte = bytes[at]
      if (byte === QUOTE) return at + 1
      at += byte === BACKSLASH ? 2 : 1
    }
    const quote = bytes.indexOf(QUOTE, at)
    if (quote === -1) return -1
    let before = quote
    while (before > at && bytes[before - 1] === BACKSLASH) before--
    if ((quote - before) % 2 === 0) return quote + 1
    // Among many escaped quotes, the native search would stop too often.
    nearBytes = quote - at < NEAR_BYTES ? nearBytes * 2 : NEAR_BYTES
    at = quote + 1
  }
}

/** The position after the value that starts at `start`. */
export function skipValue(bytes: Buffer, start: number): number {
  const first = bytes[start]
  if (first === QUOTE) return skipString(bytes, start)
  if (!opens(first)) return skipScalar(bytes, start)
  let depth = 1
  let at = start + 1
  while (depth > 0) {
    at = skipPlain(bytes, at)
    const byte = bytes[at]
    if (byte === undefined) throw new RangeError('a value without an end: not bytes of valid JSON')
    if (byte === QUOTE) at = skipString(bytes, at)
    else {
      // Brackets and braces differ only in this bit: `[` and `{`, `]` and `}`.
      const bracket = byte | 0x20
      if (bracket === OPEN_BRACE) depth++
      else if (bracket === CLOSE_BRACE) depth--
      at++
    }
  }
  return at
}

/** Past digits, commas, signs and white space, which most bytes outside strings are. */
function skipPlain(bytes: Buffer, start: number): number {
  let at = start
  for (;;) {
    const byte = bytes[at]
    if (byte === undefined || byte >= COLON || byte === QUOTE) return at
    at++
  }
}

function skipScalar(bytes: Buffer, start: number): number {
  let at = start
  for (;;) {
    const byte = bytes[at]
    // Ends at white space, a comma or a closing bracket; none of them is inside a scalar.
    if (byte === undefined || byte <= SPACE || byte === 0x2c || closes(byte)) return at
    at++
  }
}

/** Calls back for the key of every object member, however deep: for the strings that a colon follows. */
function forEachKey(bytes: Buffer, visit: (key: Span) => void): void {
  for (let start = nextQuote(bytes, 0); start !== -1; ) {
    const end = skipString(bytes, start)
    const after = skipSpace(bytes, end)
    if (bytes[after] === COLON) visit({ start, end })
    start = nextQuote(bytes, after)
  }
}

/** Whether the string at this span is written with an escape. */
export function hasEscape(bytes: Buffer, { start, end }: Span): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return true
  return false
}

function nextQuote(bytes: Buffer, from: number): number {
  const near = Math.min(from + NEAR_BYTES, bytes.length)
  for (let at = from; at < near; at++) if (bytes[at] === QUOTE) return at
  return bytes.indexOf(QUOTE, near)
}

/** Whether the value that starts with this byte is an object or an array. */
export function opens(byte: number | undefined): boolean {
  return byte === OPEN_BRACE || byte === 0x5b
}

function closes(byte: number): boolean {
  return byte === CLOSE_BRACE || byte === 0x5d
}

/** Whether the value at this position is an object. */
export function isObjectAt(bytes: Buffer, at: number): boolean {
  return bytes[at] === OPEN_BRACE
}

/**
 * The start of the first member's key or first element of the container that opens at `start`, or the
 * position of its closing bracket where it is empty.
 */
export function enterContainer(bytes: Buffer, start: number): number {
  return skipSpace(bytes, start + 1)
}

/** Whether a container ends at this position. */
export function closesAt(bytes: Buffer, at: number): boolean {
  return closes(bytes[at] ?? 0)
}

/** From the end of a key's string to the start of its value. */
export function skipColon(bytes: Buffer, keyEnd: number): number {
  return skipSpace(bytes, skipSpace(bytes, keyEnd) + 1)
}

/** From the end of a value to the next key or element, or to the closing bracket of its container. */
export function skipComma(bytes: Buffer, valueEnd: number): number {
  const at = skipSpace(bytes, valueEnd)
  return closesAt(bytes, at) ? at : skipSpace(bytes, at + 1)
}

/** The text of a string's source, escapes resolved. */
export function decodeString(bytes: Buffer, { start, end }: Span): string {
  const source = bytes.toString('utf8', start, end)
  return source.includes('\\') ? String(JSON.parse(source)) : source.slice(1, -1)
}

/** Whether the string at this span has the text `text`. Stops at the first difference. */
export function stringEquals(bytes: Buffer, span: Span, text: string): boolean {
  const last = span.end - 1
  let at = span.start + 1
  for (let i = 0; i < text.length; i++, at++) {
    const byte = bytes[at] ?? 0
    // Escapes and bytes beyond ASCII are rare in keys: the whole key is decoded then.
    if (at >= last) return false
    if (byte === BACKSLASH || byte >= 0x80) return decodeString(bytes, span) === text
    if (byte !== text.charCodeAt(i)) return false
  }
  return at === last
}

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
 * pairs): they appear as U+E000 and their number. No field of any format has such a name.
 */
export function treeKey(bytes: Buffer, key: Span): string {
  const text = decodeString(bytes, key)
  return hasEscape(bytes, key) ? text.replace(UNWRITABLE, numbered) : text
}

const UNWRITABLE = /["\\\p{Cc}\p{Cs}\ue000]/gu

function numbered(character: string): string {
  return `\ue000${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
