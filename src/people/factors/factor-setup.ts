import type { Transaction } from 'kysely'
import { AUTHENTICATOR_APPS, PASSKEYS, type UserRow } from '../../store/people-tables.ts'
import type { Tables } from '../../store/schema.ts'
import { type DbWithIds, hasRow } from '../../store/store.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { endOtherSessions, hasSession, updateSession } from '../sessions.ts'
import { lockPassword } from '../users.ts'
import { appUrl, makeAppSecret, stepOfCode } from './authenticator-app.ts'
import { countRecoveryCodes, dropFactors, listFactors, listPasskeys } from './own-factors.ts'
import {
  type NewPasskeyAnswer,
  type NewPasskeyOptions,
  newPasskeyOptions,
  type PasskeySite,
  readNewPasskey,
} from './passkeys.ts'
import {
  keepChallenge,
  type OwnSession,
  replaceRecoveryCodes,
  takeChallenge,
  wrongCode,
  wrongPasskey,
} from './second-factors.ts'

const PASSKEYS_MAX = 10

/** A factor that has just been added. */
interface AddedFactor {
  /** The texts of new recovery codes, which are not kept; null: the user has codes from an earlier factor. */
  readonly recoveryCodes: readonly string[] | null
}

/** Sets up second factors and removes them. Each change ends the user's other sessions. */
export class FactorSetup {
  readonly #input: DbWithIds

  constructor(input: DbWithIds) {
    this.#input = input
  }

  /** A secret for the user's app to scan. It counts once {@link addApp} gets it with a code of that app. */
  beginApp({ email }: Pick<UserRow, 'email'>): { readonly secret: string; readonly url: string } {
    const secret = makeAppSecret()
    return { secret, url: appUrl({ secret, email }) }
  }

  /**
   * Gives a user an authenticator app, in place of an earlier one. Throws Problem `invalid_second_factor` for a wrong code, and
   * `not_signed_in` where the session has ended.
   */
  async addApp({
    signedIn,
    secret,
    code,
  }: {
    readonly signedIn: OwnSession
    /** The secret that {@link FactorSetup.beginApp} made. */
    readonly secret: string
    /** The code that the app shows. */
    readonly code: string
  }): Promise<AddedFactor> {
    const nowMs = this.#input.clock.nowMs()
    const lastStep = stepOfCode({ secret, code, nowMs })
    if (lastStep === null) throw wrongCode()
    const userId = signedIn.user.id
    const { user_id: _, ...again } = AUTHENTICATOR_APPS.record({
      userId,
      id: this.#input.ids.next('fact'),
      secret,
      createdAtMs: nowMs,
      lastStep,
      lastUsedAtMs: null,
    })
    return this.#add(signedIn, async (trx) => {
      await trx
        .insertInto('authenticator_apps')
        .values({ user_id: userId, ...again })
        .onConflict((conflict) => conflict.column('user_id').doUpdateSet(again))
        .execute()
    })
  }

  /** Asks for a new passkey, which {@link addPasskey} then gets. */
  async beginPasskey(
    { user, sessionId }: OwnSession,
    site: PasskeySite,
  ): Promise<NewPasskeyOptions> {
    const { db, clock } = this.#input
    const known = await listPasskeys(db, { userId: user.id, host: site.host })
    const asked = await newPasskeyOptions(site, { user, known })
    const { challenge } = asked
    await keepChallenge(db, { sessionId, challenge, nowMs: clock.nowMs() })
    return asked
  }

  /**
   * Gives a user a passkey. Throws Problem `invalid_second_factor` if it does not answer {@link beginPasskey},
   * `invalid_parameter` from the eleventh on, and `not_signed_in` where the session has ended.
   */
  async addPasskey({
    signedIn,
    site,
    name,
    answer,
  }: {
    readonly signedIn: OwnSession
    readonly site: PasskeySite
    /** The user's name for it. */
    readonly name: string
    readonly answer: NewPasskeyAnswer
  }): Promise<AddedFactor> {
    const { db, clock, ids } = this.#input
    const nowMs = clock.nowMs()
    const challenge = await takeChallenge(db, { sessionId: signedIn.sessionId, nowMs })
    const made = challenge === null ? null : await readNewPasskey(site, { challenge, answer })
    if (made === null) throw wrongPasskey()
    const userId = signedIn.user.id
    const row = PASSKEYS.record({
      ...made,
      id: ids.next('fact'),
      userId,
      name,
      host: site.host,
      createdAtMs: nowMs,
      lastUsedAtMs: null,
    })
    return this.#add(signedIn, async (trx) => {
      if ((await listPasskeys(trx, { userId })).length >= PASSKEYS_MAX) throw tooManyPasskeys()
      const added = trx
        .insertInto('passkeys')
        .values(row)
        .onConflict((conflict) => conflict.column('credential_id').doNothing())
      if (!(await hasRow(added.returning('id')))) throw wrongPasskey()
    })
  }

  /** Takes a second factor from its user, with the last one the recovery codes. False: the user has none of this id. */
  async remove(signedIn: OwnSession, factorId: string): Promise<boolean> {
    const userId = signedIn.user.id
    return this.#input.db.transaction().execute(async (trx) => {
      await this.#lock(trx, signedIn)
      let isRemoved = false
      for (const table of ['authenticator_apps', 'passkeys'] as const) {
        const removed = trx.deleteFrom(table).where('user_id', '=', userId)
        if (await hasRow(removed.where('id', '=', factorId).returning('id'))) isRemoved = true
      }
      if (!isRemoved) return false
      if ((await listFactors(trx, userId)).length === 0) await dropFactors(trx, userId)
      // A session that waits for a factor would no longer need one.
      await endOtherSessions(trx, { userId, keptSessionId: signedIn.sessionId })
      return true
    })
  }

  /**
   * Ten new recovery codes in place of the earlier ones. Throws Problem `not_found` for a user without a second
   * factor.
   */
  async renewRecoveryCodes(signedIn: OwnSession): Promise<readonly string[]> {
    const userId = signedIn.user.id
    return this.#input.db.transaction().execute(async (trx) => {
      await this.#lock(trx, signedIn)
      if ((await listFactors(trx, userId)).length === 0) {
        throw new Problem('not_found', { message: 'Set up a second factor first.' })
      }
      return replaceRecoveryCodes(trx, { userId, nowMs: this.#input.clock.nowMs() })
    })
  }

  /** Adds a factor; with the first one, recovery codes. */
  async #add(
    signedIn: OwnSession,
    insert: (trx: Transaction<Tables>) => Promise<void>,
  ): Promise<AddedFactor> {
    const { db, clock } = this.#input
    const nowMs = clock.nowMs()
    const { user, sessionId } = signedIn
    const userId = user.id
    return db.transaction().execute(async (trx) => {
      await this.#lock(trx, signedIn)
      await insert(trx)
      const recoveryCodes =
        (await countRecoveryCodes(trx, userId)) > 0
          ? null
          : await replaceRecoveryCodes(trx, { userId, nowMs })
      await updateSession(trx, sessionId, { factor_passed_at_ms: nowMs })
      await endOtherSessions(trx, { userId, keptSessionId: sessionId })
      return { recoveryCodes }
    })
  }

  /** Changes of a user's factors and password come one after the other, each by a session that has not ended. */
  async #lock(trx: Transaction<Tables>, { user, sessionId }: OwnSession): Promise<void> {
    await lockPassword(trx, user.id)
    if (!(await hasSession(trx, sessionId))) throw new Problem('not_signed_in')
  }
}

function tooManyPasskeys(): Problem {
  return new Problem('invalid_parameter', {
    message: `A user can have at most ${PASSKEYS_MAX} passkeys. Remove one first.`,
  })
}
