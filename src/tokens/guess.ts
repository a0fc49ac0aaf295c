/**
 * The likely number of tokens of a text that nothing counts. The bound of `estimate.ts` is separate: it is made to
 * be too high. In sixtieths of a token, so that every weight is a whole number.
 */

export const SIXTIETHS = 60

/** Four characters of ASCII are a token. */
const ASCII = SIXTIETHS / 4
/** A character of two bytes in UTF-8, as Cyrillic: two and a half of them. */
const TWO_BYTES = SIXTIETHS / 2.5
/** A character of three bytes, as Chinese: one and a half of them. */
const THREE_BYTES = SIXTIETHS / 1.5
/** A character of four bytes, as an emoji. */
const FOUR_BYTES = SIXTIETHS

/** The likely tokens of a text, in sixtieths. */
export function guessText(text: string): number {
  // Nearly every text has ASCII alone, and is counted without a loop.
  if (Buffer.byteLength(text) === text.length) return ASCII * text.length
  let sixtieths = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) sixtieths += ASCII
    else if (unit < 0x800) sixtieths += TWO_BYTES
    // Each half of a character outside of the basic plane.
    else if (unit >= 0xd800 && unit < 0xe000) sixtieths += FOUR_BYTES / 2
    else sixtieths += THREE_BYTES
  }
  return sixtieths
}

/** Like {@link guessText}, for the bytes of UTF-8. */
export function guessBytes(bytes: Uint8Array): number {
  let sixtieths = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte < 0x80) sixtieths += ASCII
    // Bytes within a character count with its first.
    else if (byte < 0xc0) continue
    else if (byte < 0xe0) sixtieths += TWO_BYTES
    else sixtieths += byte < 0xf0 ? THREE_BYTES : FOUR_BYTES
  }
  return sixtieths
}
