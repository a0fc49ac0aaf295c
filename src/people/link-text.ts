import { hash, randomBytes } from 'node:crypto'

const RANDOM_BYTES = 24

/** A new secret text for a link: 24 random bytes as base64url. Only its hash is stored. */
export function makeLinkText(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url')
}

/** SHA-256 of a link's or a session's secret, lower-case hexadecimal. Both are random, so a fast hash keeps them safe. */
export function hashSecret(secretText: string): string {
  return hash('sha256', secretText, 'hex')
}
