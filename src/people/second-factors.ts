import type { Kysely, Transaction } from 'kysely'
import { AUTHENTICATOR_APPS, type UserRow } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import type { Clock } from '../vocabulary/clock.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import { Problem } from '../vocabulary/problem.ts'
import { SignInAttempts } from './attempts.ts'
import { appUrl, makeAppSecret, stepOfCode } from './authenticator-app.ts'
import { countRecoveryCodes, dropFactors, listFactors } from './own-factors.ts'
import { replaceRecoveryCodes, takeRecoveryCode } from './recovery-codes.ts'
import { endOtherSessions, hasSession, passFactor, type SignedIn } from './sessions.ts'
import { lockPassword } from './users.ts'

interface SecondFactorsInput {
  readonly db: Kysely<Tables>
  readonly clock: Clock
  readonly ids: IdSource
}

/** What a person shows beside the password: a code of six digits of an app, or a recovery code. */
export interface FactorProof {
  readonly code: string
}

/** A factor that has just been added. */
interface AddedFactor {
  /** Null: the user has codes from an earlier factor. Nothing else has their texts. */
  readonly recoveryCodes: readonly string[] | null
}

/** A session of a user. */
type OwnSession = Pick<SignedIn, 'user' | 'sessionId'>

interface AddAppInput {
  readonly signedIn: OwnSession
  /** As {@link SecondFactors.beginApp} made it. */
  readonly secret: string
  /** What the app shows. */
  readonly code: string
}

const APP_CODE = /^\d{6}$/

/** What users show beside the first proof of who they are. */
export class SecondFactors {
  readonly #input: SecondFactorsInput
  readonly #attempts: SignInAttempts

  constructor(input: SecondFactorsInput) {
    this.#input = input
    this.#attempts = new SignInAttempts(input)
  }

  /** A secret for a user's app to be scanned, which counts when {@link addApp} gets it with a code of that app. */
  beginApp({ email }: Pick<UserRow, 'email'>): { readonly secret: string; readonly url: string } {
    const secret = makeAppSecret()
    return { secret, url: appUrl({ secret, email }) }
  }

  /**
   * Gives a user an authenticator app, in place of an earlier one, and ends the user's other sessions. Throws Problem
   * `invalid_second_factor` for a wrong code, and `not_signed_in` where the session has ended.
   */
  async addApp({ signedIn, secret, code }: AddAppInput): Promise<AddedFactor> {
    const { db, clock, ids } = this.#input
    const nowMs = clock.nowMs()
    const lastStep = stepOfCode({ secret, code, nowMs })
    if (lastStep === null) throw wrongCode()
    const { user, sessionId } = signedIn
    const userId = user.id
    const fresh = { id: ids.next('fact'), secret, createdAtMs: nowMs, lastStep, lastUsedAtMs: null }
    const { user_id: _, ...again } = AUTHENTICATOR_APPS.record({ userId, ...fresh })
    return db.transaction().execute(async (trx) => {
      await this.#lock(trx, signedIn)
      const recoveryCodes =
        (await countRecoveryCodes(trx, userId)) > 0
          ? null
          : await replaceRecoveryCodes(trx, { userId, nowMs })
      await trx
        .insertInto('authenticator_apps')
        .values({ user_id: userId, ...again })
        .onConflict((conflict) => conflict.column('user_id').doUpdateSet(again))
        .execute()
      await passFactor(trx, { sessionId, nowMs })
      await endOtherSessions(trx, { userId, keptSessionId: sessionId })
      return { recoveryCodes }
    })
  }

  /**
   * Takes a second factor from its user, with the last one the recovery codes, and ends the user's other sessions. False:
   * the user has none of this id.
   */
  async remove(signedIn: OwnSession, factorId: string): Promise<boolean> {
    const userId = signedIn.user.id
    return this.#input.db.transaction().execute(async (trx) => {
      await this.#lock(trx, signedIn)
      const removed = await trx
        .deleteFrom('authenticator_apps')
        .where('user_id', '=', userId)
        .where('id', '=', factorId)
        .returning('id')
        .executeTakeFirst()
      if (removed === undefined) return false
      if ((await listFactors(trx, userId)).length === 0) await dropFactors(trx, userId)
      // One that waits for a factor would need none any more.
      await endOtherSessions(trx, { userId, keptSessionId: signedIn.sessionId })
      return true
    })
  }

  /** Ten new recovery codes in place of the earlier ones. Throws Problem `not_found` for a user without a second factor. */
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

  /** Lets a session in that waits. Throws Problem `not_signed_in` where it has ended, and as {@link check} does. */
  async letIn({ user, sessionId }: OwnSession, proof: FactorProof): Promise<void> {
    const { db, clock } = this.#input
    await this.check(user.id, proof)
    const isPassed = await passFactor(db, { sessionId, nowMs: clock.nowMs() })
    if (!isPassed) throw new Problem('not_signed_in')
  }

  /**
   * Checks what a user shows, which is used up by that. Throws Problem `invalid_second_factor`, and `rate_limited` from the
   * fifth wrong one in ten minutes on.
   */
  async check(userId: string, proof: FactorProof): Promise<void> {
    await this.#attempts.run(
      { factorOf: userId },
      { check: async () => ((await this.#take(userId, proof)) ? true : null), wrong: wrongCode() },
    )
  }

  async #take(userId: string, { code }: FactorProof): Promise<boolean> {
    const { db, clock } = this.#input
    const nowMs = clock.nowMs()
    const plain = code.replace(/\s/g, '')
    return APP_CODE.test(plain)
      ? this.#takeAppCode(userId, { code: plain, nowMs })
      : takeRecoveryCode(db, { userId, code, nowMs })
  }

  /** A code is right once: what someone sees over a shoulder is of no use. */
  async #takeAppCode(
    userId: string,
    { code, nowMs }: { readonly code: string; readonly nowMs: number },
  ): Promise<boolean> {
    const { db } = this.#input
    const row = await db
      .selectFrom('authenticator_apps')
      .selectAll()
      .where('user_id', '=', userId)
      .executeTakeFirst()
    if (row === undefined) return false
    const { id, secret } = AUTHENTICATOR_APPS.read(row)
    const step = stepOfCode({ secret, code, nowMs })
    if (step === null) return false
    const taken = await db
      .updateTable('authenticator_apps')
      .set({ last_step: step, last_used_at_ms: nowMs })
      .where('id', '=', id)
      .where('last_step', '<', step)
      .returning('id')
      .executeTakeFirst()
    return taken !== undefined
  }

  /** Changes of a user's factors and password come one after the other, each by a session that has not ended. */
  async #lock(trx: Transaction<Tables>, { user, sessionId }: OwnSession): Promise<void> {
    await lockPassword(trx, user.id)
    if (!(await hasSession(trx, sessionId))) throw new Problem('not_signed_in')
  }
}

function wrongCode(): Problem {
  return new Problem('invalid_second_factor', { param: 'code' })
}
