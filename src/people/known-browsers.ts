import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { UserRow } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import { settingOnce } from '../store/settings.ts'
import type { DbWithClock } from '../store/store.ts'
import { type Clock, DAY_MS } from '../vocabulary/clock.ts'
import { getUser } from './users.ts'

/** How long a browser stays known after a sign-in. */
export const KNOWN_MS = 180 * DAY_MS

/** The fields of a user that identify a known browser. */
type KnownUser = Pick<UserRow, 'id' | 'emailVerified'>

/**
 * Browsers in which a user signed in before: they have a text with the user's id, the time and a signature of the
 * store. It does not sign the user in. Attempts by strangers with an email address do not count against these
 * browsers. The first proof of an address forgets earlier browsers, because another person may have signed in
 * then.
 */
export class KnownBrowsers {
  readonly #db: Kysely<Tables>
  readonly #clock: Clock
  #secret: Promise<string> | null = null

  constructor({ db, clock }: DbWithClock) {
    this.#db = db
    this.#clock = clock
  }

  /** The text for a browser in which a user has just signed in. */
  async textFor(user: KnownUser): Promise<string> {
    const signedAt = this.#clock.nowMs().toString(36)
    return `${user.id}.${signedAt}.${await this.#signature(user, signedAt)}`
  }

  /** Whether a text is of a browser in which this user signed in. */
  async isOf(text: string | null, user: KnownUser): Promise<boolean> {
    const [userId, signedAt = '', signature = ''] = (text ?? '').split('.')
    if (userId !== user.id) return false
    const right = Buffer.from(await this.#signature(user, signedAt))
    const shown = Buffer.from(signature)
    if (shown.length !== right.length || !timingSafeEqual(shown, right)) return false
    return this.#clock.nowMs() - Number.parseInt(signedAt, 36) < KNOWN_MS
  }

  /** Whether a text is the cookie of a browser in which any user signed in. */
  async isKnown(text: string | null): Promise<boolean> {
    const [userId = ''] = (text ?? '').split('.')
    const user = userId === '' ? null : await getUser(this.#db, userId)
    return user !== null && this.isOf(text, user)
  }

  async #signature({ id, emailVerified }: KnownUser, signedAt: string): Promise<string> {
    this.#secret ??= this.#readSecret().catch((error: unknown) => {
      this.#secret = null
      throw error
    })
    const signed = `${id}.${signedAt}.${emailVerified ? 'proved' : 'unproved'}`
    return createHmac('sha256', await this.#secret)
      .update(signed)
      .digest('hex')
  }

  #readSecret(): Promise<string> {
    const value = randomBytes(32).toString('hex')
    return settingOnce(this.#db, { name: 'known_browser_secret', value })
  }
}
