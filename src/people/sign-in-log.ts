import type { Kysely } from 'kysely'
import { recordAction } from '../ledger/operator-actions.ts'
import type { Tables } from '../store/schema.ts'
import type { DbWithIds } from '../store/store.ts'
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../vocabulary/clock.ts'
import { firstIdOf, type IdSource } from '../vocabulary/ids.ts'
import { SIGN_IN_RECORDS } from '../vocabulary/recorded-operation.ts'
import { storableAgent, type Visitor } from './sessions.ts'
import { findUser, getUser } from './users.ts'

/** How a person shows who they are; the ID of a provider outside of the gateway, for a sign-in there. */
export type SignInMethod =
  | 'password'
  | 'second factor'
  | 'setup link'
  | 'invitation'
  | 'password link'
  | 'email'
  | (string & {})

/** A sign-in, or an attempt at one. */
interface SignInAttempt {
  readonly method: SignInMethod
  readonly visitor: Omit<Visitor, 'known'>
}

const KEPT_MS = 365 * DAY_MS
const PRUNED_EVERY_MS = DAY_MS

/** The failed attempts at one operator's sign-in that are recorded in an hour. The next record has the number of the others. */
const FAILED_MAX = 20
/** How many of these can be from one client address: a flood from it leaves room for those from others. */
const FAILED_OF_ADDRESS_MAX = 5
/** Once that many are recorded, another is recorded only after this time, with the number of the others: a flood shows that it goes on. */
const FAILED_AFTER_MS = 5 * MINUTE_MS

/** Failed attempts at the sign-in of one operator, in the present hour. */
interface Failures {
  readonly hour: number
  /** The client addresses of the recorded ones, one for each, without those of {@link FAILED_AFTER_MS}. */
  readonly recordedOf: string[]
  /** The time of the last record. */
  recordedAtMs: number
  unrecorded: number
}

/**
 * Records operators' sign-ins in the audit log, and failed attempts at them. No answer waits for it: one that came
 * later for the address of an operator would tell a stranger whose address it is.
 */
export class SignInLog {
  readonly #db: Kysely<Tables>
  readonly #clock: Clock
  readonly #ids: IdSource
  readonly #onFailure: (cause: unknown) => void
  readonly #underWay = new Set<Promise<void>>()
  readonly #failures = new Map<string, Failures>()
  #prunedAtMs = Number.NEGATIVE_INFINITY

  constructor(
    input: DbWithIds & {
      /** Called when a record could not be written. Must not throw. */
      readonly onFailure: (cause: unknown) => void
    },
  ) {
    this.#db = input.db
    this.#clock = input.clock
    this.#ids = input.ids
    this.#onFailure = input.onFailure
  }

  /** Records that a user has signed in, if the user is an operator. */
  succeeded(userId: string, attempt: SignInAttempt): void {
    this.#later(async () => {
      const user = await getUser(this.#db, userId)
      if (user?.isOperator !== true) return
      await this.#record('signIn', { userId, ...attempt })
      await this.#prune()
    })
  }

  /** Records an attempt that failed, if it was at an operator's sign-in. */
  failed(
    who: { readonly email: string } | { readonly userId: string },
    attempt: SignInAttempt,
  ): void {
    this.#later(async () => {
      const user =
        'email' in who ? await findUser(this.#db, who.email) : await getUser(this.#db, who.userId)
      if (user?.isOperator !== true) return
      const before = this.#countFailure(user.id, attempt.visitor.address)
      if (before === null) return
      const detail = before === 0 ? {} : { not_recorded: before }
      await this.#record('failedSignIn', { userId: user.id, ...attempt, detail })
      await this.#prune()
    })
  }

  /** Resolves when everything is written. Never rejects. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  /** The failures before this one that were not recorded; null: nor is this one. By position: the operator, the client address. */
  #countFailure(userId: string, address: string): number | null {
    const nowMs = this.#clock.nowMs()
    const hour = Math.floor(nowMs / HOUR_MS)
    const known = this.#failures.get(userId)
    const isNew = known === undefined || known.hour !== hour
    const { unrecorded = 0 } = known ?? {}
    const counted = isNew ? { hour, recordedOf: [], recordedAtMs: nowMs, unrecorded } : known
    this.#failures.set(userId, counted)
    const ofAddress = counted.recordedOf.filter((one) => one === address).length
    const isMany = ofAddress >= FAILED_OF_ADDRESS_MAX || counted.recordedOf.length >= FAILED_MAX
    if (isMany && nowMs < counted.recordedAtMs + FAILED_AFTER_MS) {
      counted.unrecorded++
      return null
    }
    if (!isMany) counted.recordedOf.push(address)
    counted.recordedAtMs = nowMs
    const before = counted.unrecorded
    counted.unrecorded = 0
    return before
  }

  async #record(
    action: (typeof SIGN_IN_RECORDS)[number],
    {
      userId,
      method,
      visitor,
      detail = {},
    }: SignInAttempt & {
      readonly userId: string
      readonly detail?: Readonly<Record<string, number>>
    },
  ): Promise<void> {
    const { address, agent } = visitor
    await recordAction(this.#db, {
      by: { id: this.#ids.next('act'), userId, action },
      detail: { method, address: address || null, browser: storableAgent(agent), ...detail },
      nowMs: this.#clock.nowMs(),
    })
  }

  /** Removes the records that are older than a year: they have addresses of people. Once a day is enough. */
  async #prune(): Promise<void> {
    const nowMs = this.#clock.nowMs()
    if (nowMs < this.#prunedAtMs + PRUNED_EVERY_MS) return
    await this.#db
      .deleteFrom('operator_actions')
      .where('id', '<', firstIdOf({ prefix: 'act', timeMs: nowMs - KEPT_MS }))
      .where('action', 'in', SIGN_IN_RECORDS)
      .execute()
    this.#prunedAtMs = nowMs
  }

  #later(write: () => Promise<void>): void {
    const written = write()
      .catch(this.#onFailure)
      .finally(() => this.#underWay.delete(written))
    this.#underWay.add(written)
  }
}
