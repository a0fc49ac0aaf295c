import { type Kysely, sql } from 'kysely'
import type { Tables } from '../store/schema.ts'
import type { Clock } from '../vocabulary/clock.ts'
import { Problem } from '../vocabulary/problem.ts'
import { hashSecret } from './link-text.ts'

const WINDOW_MS = 10 * 60_000

/** With this many wrong passwords in ten minutes, the last of them is refused with 429 already. */
const WRONG_MAX = 5

/** Who tries to sign in, as whom. */
interface Attempter {
  /** The client address; an IPv6 address counts as its network. */
  readonly address: string
  readonly email: string
}

/** An attempt that may go on. */
export interface AdmittedAttempt {
  /** Whether a wrong password now is one too many. */
  readonly isLast: boolean
  /** How one too many is refused. */
  refusal(): Problem
}

/**
 * Counts attempts to sign in, by client address and e-mail address together: never by e-mail address
 * alone, which would let a stranger lock a person out. An attempt counts before its password is checked, so
 * that a hundred at the same time are no more guesses than one after the other.
 */
export class SignInAttempts {
  readonly #db: Kysely<Tables>
  readonly #clock: Clock

  constructor({ db, clock }: { readonly db: Kysely<Tables>; readonly clock: Clock }) {
    this.#db = db
    this.#clock = clock
  }

  /** Counts an attempt. Throws Problem `rate_limited` where there were too many. */
  async begin(attempter: Attempter): Promise<AdmittedAttempt> {
    const nowMs = this.#clock.nowMs()
    await this.#db
      .deleteFrom('sign_in_rates')
      .where('started_at_ms', '<=', nowMs - WINDOW_MS)
      .execute()
    const { attempts, started_at_ms: startedAtMs } = await this.#db
      .insertInto('sign_in_rates')
      .values({ caller_hash: callerHash(attempter), attempts: 1, started_at_ms: nowMs })
      .onConflict((conflict) =>
        conflict
          .column('caller_hash')
          .doUpdateSet({ attempts: sql<number>`${sql.ref('sign_in_rates.attempts')} + 1` }),
      )
      .returning(['attempts', 'started_at_ms'])
      .executeTakeFirstOrThrow()
    const refusal = (): Problem =>
      new Problem('rate_limited', {
        message:
          'Too many wrong passwords for this e-mail address from your network. Try again later.',
        retryAfterSeconds: Math.max(1, Math.ceil((startedAtMs + WINDOW_MS - nowMs) / 1_000)),
      })
    if (attempts > WRONG_MAX) throw refusal()
    return { isLast: attempts === WRONG_MAX, refusal }
  }

  /** Forgets the attempts of a person who has signed in. */
  async forget(attempter: Attempter): Promise<void> {
    await this.#db
      .deleteFrom('sign_in_rates')
      .where('caller_hash', '=', callerHash(attempter))
      .execute()
  }
}

function callerHash({ address, email }: Attempter): string {
  return hashSecret(`${address} ${email.toLowerCase()}`)
}
