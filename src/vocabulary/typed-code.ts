// Crockford's base 32: no letters that are taken for digits when a code is read aloud or typed.
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** A secret that people read and type, in groups with hyphens between: five bits a character. */
export function makeTypedCode({
  groups,
  groupChars,
  randomInt,
}: {
  readonly groups: number
  readonly groupChars: number
  /** A whole number from 0 up to but not including the given one, from a cryptographic source. */
  readonly randomInt: (max: number) => number
}): string {
  const group = () =>
    Array.from({ length: groupChars }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('')
  return Array.from({ length: groups }, group).join('-')
}

/** The characters of a code as typed: in any case, with or without hyphens and spaces, O for 0, I and L for 1. */
export function plainTypedCode(typed: string): string {
  return typed.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1')
}
