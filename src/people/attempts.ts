import { type Kysely, sql } from 'kysely'
import type { Tables } from '../store/schema.ts'
import type { DbWithClock } from '../store/store.ts'
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../vocabulary/clock.ts'
import { countInWords } from '../vocabulary/count-in-words.ts'
import { Problem } from '../vocabulary/problem.ts'
import { hashSecret } from './links.ts'

const WINDOW_MS = 10 * MINUTE_MS

/** The number of wrong attempts in ten minutes; the last of them is already refused with 429. */
const WRONG_MAX = 5

/** The sender of an attempt: an address that signs in by password, or a user who then shows a second factor. */
type Attempter =
  | {
      /** The client address; an IPv6 address counts as its network. */
      readonly address: string
      readonly email: string
    }
  | { readonly factorOf: string }

interface Check<Right> {
  /** Resolves with null if the typed text is wrong. Rejects if it could not be checked. */
  readonly check: () => Promise<Right | null>
  /** How a wrong one is refused, unless it is one too many. */
  readonly wrong: Problem
}

/** An attempt that was counted. */
interface Attempt {
  readonly attempts: number
  readonly startedAtMs: number
}

/**
 * Counts attempts to sign in, by client address and email address together: never by email address
 * alone, which would let a stranger lock a person out. Attempts at a second factor count by the user, because only
 * users who have passed the first factor reach them. An attempt counts before it is checked, so that a hundred at
 * the same time are no more guesses than one after the other.
 */
export class SignInAttempts {
  readonly #db: Kysely<Tables>
  readonly #clock: Clock

  constructor({ db, clock }: DbWithClock) {
    this.#db = db
    this.#clock = clock
  }

  /**
   * Runs a check as an attempt. Throws `wrong`, or Problem `rate_limited` where there were too many. An attempt that was not
   * checked, because the server is busy, does not count.
   */
  async run<Right>(attempter: Attempter, { check, wrong }: Check<Right>): Promise<Right> {
    const attempt = await this.#begin(attempter)
    if (attempt.attempts > WRONG_MAX) throw this.#refusal(attempter, attempt)
    const right = await check().catch(async (error: unknown) => {
      await this.#takeBack(attempter, attempt)
      throw error
    })
    if (right === null) {
      throw attempt.attempts === WRONG_MAX ? this.#refusal(attempter, attempt) : wrong
    }
    await this.forget(attempter)
    return right
  }

  /** Forgets the attempts of a person who has signed in. */
  async forget(attempter: Attempter): Promise<void> {
    await this.#db
      .deleteFrom('sign_in_rates')
      .where('caller_hash', '=', callerHash(attempter))
      .execute()
  }

  async #begin(attempter: Attempter): Promise<Attempt> {
    const nowMs = this.#clock.nowMs()
    await this.#db
      .deleteFrom('sign_in_rates')
      .where((rate) =>
        rate.or([
          rate('started_at_ms', '<=', nowMs - WINDOW_MS),
          // Counted while the clock was far ahead: it would refuse a person until then.
          rate('started_at_ms', '>', nowMs + DAY_MS),
        ]),
      )
      .execute()
    return this.#db
      .insertInto('sign_in_rates')
      .values({ caller_hash: callerHash(attempter), attempts: 1, started_at_ms: nowMs })
      .onConflict((conflict) =>
        conflict
          .column('caller_hash')
          .doUpdateSet({ attempts: sql<number>`${sql.ref('sign_in_rates.attempts')} + 1` }),
      )
      .returning(['attempts', 'started_at_ms as startedAtMs'])
      .executeTakeFirstOrThrow()
  }

  async #takeBack(attempter: Attempter, { startedAtMs }: Attempt): Promise<void> {
    await this.#db
      .updateTable('sign_in_rates')
      .set(({ eb }) => ({ attempts: eb('attempts', '-', 1) }))
      .where('caller_hash', '=', callerHash(attempter))
      .where('started_at_ms', '=', startedAtMs)
      .where('attempts', '>', 0)
      .execute()
  }

  #refusal(attempter: Attempter, { startedAtMs }: Attempt): Problem {
    const tooMany =
      'factorOf' in attempter
        ? 'Too many wrong second factors for this user.'
        : 'Too many wrong passwords for this email address from your network.'
    const waitMs = startedAtMs + WINDOW_MS - this.#clock.nowMs()
    return tooSoon(waitMs, (wait) => `${tooMany} Try again in ${wait}.`)
  }
}

/** Refuses something that can be done again after a time. By position: the time, and the message with it in words. */
export function tooSoon(waitMs: number, message: (wait: string) => string): Problem {
  return new Problem('rate_limited', {
    message: message(waitWords(waitMs)),
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
  })
}

/** A time in whole minutes, or from two hours on in hours, rounded up: `9 minutes`. */
export function waitWords(waitMs: number): string {
  const minutes = Math.max(1, Math.ceil(waitMs / MINUTE_MS))
  return minutes < 120
    ? countInWords(minutes, 'minute')
    : countInWords(Math.ceil(waitMs / HOUR_MS), 'hour')
}

function callerHash(attempter: Attempter): string {
  if ('factorOf' in attempter) return hashSecret(`second factor ${attempter.factorOf}`)
  return hashSecret(`${attempter.address} ${attempter.email.toLowerCase()}`)
}
