import { hash, randomInt } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_CHARS = 43
const KEY_PATTERN = /^[0-9A-Za-z]{40,64}$/

/** A new API key, with what the store keeps of it. */
interface NewApiKey {
  /** The whole key, `sk-<tag>-` and 43 characters (256 bits): shown once, stored nowhere. */
  readonly text: string
  readonly hash: string
  /** `sk-<tag>-` and the first three and last four characters of the rest. */
  readonly displayPrefix: string
}

/** Makes a key of a deployment's tag from the system's random source. */
export function makeApiKey(keyTag: string): NewApiKey {
  let random = ''
  for (let i = 0; i < RANDOM_CHARS; i++) random += ALPHABET.charAt(randomInt(ALPHABET.length))
  const text = `sk-${keyTag}-${random}`
  const displayPrefix = `sk-${keyTag}-${random.slice(0, 3)}…${random.slice(-4)}`
  return { text, hash: hashApiKey(text), displayPrefix }
}

/** SHA-256 of a key, lower-case hexadecimal. The key is random, so a fast hash keeps it safe. */
export function hashApiKey(text: string): string {
  return hash('sha256', text, 'hex')
}

/** A text that may be a key, and the `<tag>` that a key of this deployment has. */
interface ApiKeyShapeInput {
  readonly text: string
  readonly keyTag: string
}

/** Whether a text has the shape of a key, so that it is worth looking up. */
export function isApiKeyShaped({ text, keyTag }: ApiKeyShapeInput): boolean {
  const prefix = `sk-${keyTag}-`
  return text.startsWith(prefix) && KEY_PATTERN.test(text.slice(prefix.length))
}
