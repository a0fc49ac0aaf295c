import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { type StartTimer, startUnrefTimer } from '../vocabulary/clock.ts'
import { FairQueue } from '../vocabulary/fair-queue.ts'
import { Problem } from '../vocabulary/problem.ts'
import { makeLinkText } from './links.ts'

/** Hashes and checks passwords. */
export interface Passwords {
  hash(password: string): Promise<string>
  /** A hash of null, and one of {@link noPassword}, which no password has, take the same time. */
  isRight(input: {
    readonly passwordHash: string | null
    readonly password: string
  }): Promise<boolean>
}

// Node refuses to take more.
const MEMORY_BYTES_MAX = 64 * 1024 * 1024
const KEY_BYTES = 64
const SALT_BYTES = 16

/** Hexadecimal salt, colon, hexadecimal key. */
const HASH = /^([0-9a-f]{32}):([0-9a-f]{128})$/

const deriveKey = promisify<string, string, number, ScryptOptions, Buffer>(scrypt)

/**
 * Passwords as scrypt hashes, made on Node's thread pool. Characters that look the same are the same password
 * (NFKC). A hash does not contain its cost, so no password matches a hash that was made with another cost. A hash takes
 * N × r × 128 bytes of memory, and time in proportion.
 */
export function makeScryptPasswords(cost: {
  /** A power of two. */
  readonly N: number
  readonly r: number
}): Passwords {
  const scryptCost = { ...cost, p: 1, maxmem: MEMORY_BYTES_MAX }
  // The salt is its hexadecimal text, not the bytes.
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
export function lacksPassword({ passwordHash }: { readonly passwordHash: string }): boolean {
  return passwordHash.startsWith('!')
}

// Node's thread pool has four threads, which connections to the provider need too. Each check takes
// some 60 ms and 32 MB.
const AT_ONCE_MAX = 2
const STRANGERS_WAITING_MAX = 32
const KNOWN_WAITING_MAX = 8

const REFUSED_AFTER_MS = 2_000
const REFUSED_LATER_MAX = 256

/** The owner of a password that is checked: a user who is signed in, or was before in this browser, or a stranger. */
export type Checked =
  | { readonly knownUserId: string }
  /** The client address; an IPv6 address counts as its network. */
  | { readonly address: string }

/**
 * Checks passwords a few at a time, so that a flood of sign-ins does not take the thread pool from the gateway. Known users go
 * first. Strangers take turns by network, in each the newest first; when all places are taken, the oldest of the network with
 * the most gives way. It is answered two seconds later, so that a client that tries again at once floods no faster.
 */
export class PasswordChecks {
  readonly #startTimer: StartTimer
  readonly #queue: FairQueue
  readonly #refusals = new WeakSet<Error>()
  #refusedLater = 0

  constructor(startTimer: StartTimer = startUnrefTimer) {
    this.#startTimer = startTimer
    this.#queue = new FairQueue({
      placesMax: AT_ONCE_MAX,
      lanes: [
        { waitingMax: KNOWN_WAITING_MAX, whenFull: 'oldestOfLargestLeaves' },
        {
          waitingMax: STRANGERS_WAITING_MAX,
          first: 'newest',
          whenFull: 'oldestOfLargestLeaves',
        },
      ],
      refusal: () => this.#refusal(),
    })
  }

  /** Throws Problem `service_unavailable` if the check gave way. */
  async run<T>(checked: Checked, check: () => Promise<T>): Promise<T> {
    const entry =
      'knownUserId' in checked
        ? { lane: 0, owner: checked.knownUserId }
        : { lane: 1, owner: networkOf(checked.address) }
    try {
      return await this.#queue.run(entry, check)
    } catch (error) {
      if (error instanceof Error && this.#refusals.has(error)) await this.#wait()
      throw error
    }
  }

  #refusal(): Problem {
    const refusal = new Problem('service_unavailable', {
      message: 'Too many people are signing in at this moment. Try again in a few seconds.',
      retryAfterSeconds: 2,
    })
    this.#refusals.add(refusal)
    return refusal
  }

  async #wait(): Promise<void> {
    if (this.#refusedLater >= REFUSED_LATER_MAX) return
    this.#refusedLater++
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#startTimer({ delayMs: REFUSED_AFTER_MS, run: resolve })
    await promise
    this.#refusedLater--
  }
}

/** The network of a client address: of IPv4 24 bits, of IPv6 48. */
function networkOf(address: string): string {
  const separator = address.includes(':') ? ':' : '.'
  return address.split(separator).slice(0, 3).join(separator)
}
