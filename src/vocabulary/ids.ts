import type { Clock } from './clock.ts'

/** The kind of a thing with an id. The prefix is part of the id, so that a pasted id shows its kind. */
export type IdPrefix =
  | 'req'
  | 'acct'
  | 'key'
  | 'inst'
  | 'code'
  | 'pur'
  | 'user'
  | 'sess'
  | 'sign'
  | 'fact'
  | 'link'
  | 'act'
  | 'atok'
  | 'hook'
  | 'msg'
  | 'alrt'
  | 'gap'
  | 'store'

/** Makes ids that sort by the millisecond they were made in and can't be guessed. */
export interface IdSource {
  next(prefix: IdPrefix): string
}

// Crockford's base 32 in lower case: no letters that are taken for digits.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const TIME_CHARS = 10
const RANDOM_CHARS = 16

/** Ids of the form `req_` + 10 characters of time + 16 of randomness (80 bits). */
export function createIdSource({
  clock,
  fillRandom,
}: {
  readonly clock: Clock
  /** Fills the array with random bytes from a cryptographic source. */
  readonly fillRandom: (bytes: Uint8Array) => void
}): IdSource {
  // Random bytes are drawn for many ids at once: a call to the system for each costs more than the ID.
  const pool = new Uint8Array(RANDOM_CHARS * 256)
  let poolNext = pool.length
  return {
    next(prefix) {
      if (poolNext === pool.length) {
        fillRandom(pool)
        poolNext = 0
      }
      const time = timeTextOf(clock.nowMs())
      let random = ''
      for (let i = 0; i < RANDOM_CHARS; i++) random += ALPHABET.charAt((pool[poolNext++] ?? 0) & 31)
      return `${prefix}_${time}${random}`
    },
  }
}

/** A hold opens within this time after its request's id was made: bodies may be slow, and clocks disagree. */
export const ID_AGE_MS_MAX = 3_600_000

/** A bound between IDs: earlier IDs sort before it, and IDs of this moment or later sort after it. */
export function firstIdOf({
  prefix,
  timeMs,
}: {
  readonly prefix: IdPrefix
  /** Milliseconds since the Unix epoch. */
  readonly timeMs: number
}): string {
  return `${prefix}_${timeTextOf(Math.max(0, timeMs))}`
}

/** The time in an id, milliseconds since the Unix epoch; null: it has none. */
export function timeOfId(id: string): number | null {
  const start = id.indexOf('_') + 1
  if (start === 0 || id.length < start + TIME_CHARS) return null
  let timeMs = 0
  for (let place = start; place < start + TIME_CHARS; place++) {
    const digit = ALPHABET.indexOf(id.charAt(place))
    if (digit === -1) return null
    timeMs = timeMs * 32 + digit
  }
  return timeMs
}

function timeTextOf(timeMs: number): string {
  let time = ''
  for (let place = 0, rest = timeMs; place < TIME_CHARS; place++) {
    time = ALPHABET.charAt(rest % 32) + time
    rest = Math.floor(rest / 32)
  }
  return time
}
