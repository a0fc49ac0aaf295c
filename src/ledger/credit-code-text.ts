import { createHash, randomInt } from 'node:crypto'

// Crockford's base 32: no letters that are taken for digits when a code is read aloud or typed.
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const CODE_CHARS = 24
const GROUP_CHARS = 6

/** A new credit code, with what the store keeps of it. */
interface NewCreditCode {
  /** The whole code, four groups of six characters (120 bits): shown once, stored nowhere. */
  readonly text: string
  readonly hash: string
  /** The last group. */
  readonly displaySuffix: string
}

/** Makes a code from the system's random source. */
export function makeCreditCode(): NewCreditCode {
  let plain = ''
  for (let i = 0; i < CODE_CHARS; i++) plain += ALPHABET.charAt(randomInt(ALPHABET.length))
  const groups: string[] = []
  for (let start = 0; start < CODE_CHARS; start += GROUP_CHARS) {
    groups.push(plain.slice(start, start + GROUP_CHARS))
  }
  const text = groups.join('-')
  return { text, hash: hashCreditCode(text), displaySuffix: plain.slice(-GROUP_CHARS) }
}

/**
 * SHA-256 of a code as somebody typed it, lower-case hexadecimal: in any case, with or without
 * hyphens and spaces, O for 0, I and L for 1.
 */
export function hashCreditCode(typed: string): string {
  const plain = typed.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1')
  return createHash('sha256').update(plain).digest('hex')
}
