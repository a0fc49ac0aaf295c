import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { makeLinkText } from './link-text.ts'

/** Hashes and checks passwords. */
export interface Passwords {
  hash(password: string): Promise<string>
  /** A hash of null, and one of {@link noPassword}, which no password has, take the same time. */
  isRight(input: {
    readonly passwordHash: string | null
    readonly password: string
  }): Promise<boolean>
}

/** The cost of each hash: N × r × 128 bytes of memory, and time in proportion. */
interface ScryptCost {
  /** A power of two. */
  readonly N: number
  readonly r: number
}

// Node refuses to take more.
const MEMORY_BYTES_MAX = 64 * 1024 * 1024
const KEY_BYTES = 64
const SALT_BYTES = 16

/** Hexadecimal salt, colon, hexadecimal key. */
const HASH = /^([0-9a-f]{32}):([0-9a-f]{128})$/

const deriveKey = promisify<string, string, number, ScryptOptions, Buffer>(scrypt)

/**
 * Passwords as scrypt hashes, made on Node's thread pool. What look like the same characters are the same password
 * (NFKC). A hash does not say its cost: those of another cost are never right.
 */
export function makeScryptPasswords(cost: ScryptCost): Passwords {
  const scryptCost = { ...cost, p: 1, maxmem: MEMORY_BYTES_MAX }
  // The salt is its text, not the bytes that the text stands for.
  const derived = ({ password, salt }: { readonly password: string; readonly salt: string }) =>
    deriveKey(password.normalize('NFKC'), salt, KEY_BYTES, scryptCost)
  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES).toString('hex')
      return `${salt}:${(await derived({ password, salt })).toString('hex')}`
    },
    async isRight({ passwordHash, password }) {
      const [, salt = '', stored] = HASH.exec(passwordHash ?? '') ?? []
      const typed = await derived({ password, salt })
      return stored !== undefined && timingSafeEqual(typed, Buffer.from(stored, 'hex'))
    },
  }
}

/** The cost that every gateway uses: some 60 ms and 32 MB a hash. */
export const scryptPasswords = makeScryptPasswords({ N: 16_384, r: 16 })

/**
 * In place of the hash of a user who has no password. Each differs, so that a session which began before one was put in
 * another's place is recognized.
 */
export function noPassword(): string {
  return `!${makeLinkText()}`
}

/** Whether a user has no password. */
export function isNoPassword({ passwordHash }: { readonly passwordHash: string }): boolean {
  return passwordHash.startsWith('!')
}
