import { randomInt } from 'node:crypto'
import type { Kysely, Transaction } from 'kysely'
import { AUTHENTICATOR_APPS, RECOVERY_CODES } from '../../store/people-tables.ts'
import type { Tables } from '../../store/schema.ts'
import { type DbWithClock, hasRow } from '../../store/store.ts'
import { MINUTE_MS } from '../../vocabulary/clock.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { makeTypedCode, plainTypedCode } from '../../vocabulary/typed-code.ts'
import { SignInAttempts } from '../attempts.ts'
import { hashSecret, type OfUser } from '../links.ts'
import { completeSignIn, type NewSession, type SignedIn, updateSession } from '../sessions.ts'
import { stepOfCode } from './authenticator-app.ts'
import { listPasskeys } from './own-factors.ts'
import {
  type PasskeyAnswer,
  type PasskeyOptions,
  type PasskeySite,
  passkeyOptions,
  readSignature,
} from './passkeys.ts'

/** A session of a user. */
export type OwnSession = Pick<SignedIn, 'user' | 'sessionId'>

interface SignedByPasskey {
  /** Null: the page is at an address that has no passkeys. */
  readonly site: PasskeySite | null
  readonly answer: PasskeyAnswer
}

/** The proof of a second factor. */
export type FactorProof =
  | {
      readonly kind: 'code'
      /** Six digits of an app, or a recovery code, as typed. */
      readonly code: string
    }
  | ({ readonly kind: 'passkey' } & SignedByPasskey)

const APP_CODE = /^\d{6}$/

/** Checks second factors, which users show in addition to the first proof of who they are. */
export class SecondFactors {
  readonly #input: DbWithClock
  readonly #attempts: SignInAttempts

  constructor(input: DbWithClock) {
    this.#input = input
    this.#attempts = new SignInAttempts(input)
  }

  /** Asks for a signature by one of the user's passkeys, once. Null: none of them is of this site. */
  async challenge(
    { user, sessionId }: OwnSession,
    site: PasskeySite,
  ): Promise<PasskeyOptions | null> {
    const { db, clock } = this.#input
    const known = await listPasskeys(db, { userId: user.id, host: site.host })
    if (known.length === 0) return null
    const asked = await passkeyOptions(site, known)
    const { challenge } = asked
    await keepChallenge(db, { sessionId, challenge, nowMs: clock.nowMs() })
    return asked
  }

  /**
   * Lets a session in that waits, under another token. Throws Problem `not_signed_in` if it has ended or was let
   * in, and as {@link check} does.
   */
  async letIn(own: OwnSession, proof: FactorProof): Promise<NewSession> {
    const { db, clock } = this.#input
    const { sessionId } = own
    await this.check(own, proof)
    const made = await completeSignIn(db, { sessionId, nowMs: clock.nowMs() })
    if (made === null) throw new Problem('not_signed_in')
    return made
  }

  /**
   * Checks and uses up the proof that a user shows in a session. Throws Problem `invalid_second_factor`, and
   * `rate_limited` from the fifth wrong one in ten minutes on.
   */
  async check(own: OwnSession, proof: FactorProof): Promise<void> {
    const wrong = proof.kind === 'code' ? wrongCode() : wrongPasskey()
    const check = async () => ((await this.#take(own, proof)) ? true : null)
    await this.#attempts.run({ factorOf: own.user.id }, { check, wrong })
  }

  async #take(own: OwnSession, proof: FactorProof): Promise<boolean> {
    const { db, clock } = this.#input
    const nowMs = clock.nowMs()
    const userId = own.user.id
    if (proof.kind === 'passkey') return this.#takeSignature(own, { ...proof, nowMs })
    const { code } = proof
    const plain = code.replace(/\s/g, '')
    return APP_CODE.test(plain)
      ? this.#takeAppCode(userId, { code: plain, nowMs })
      : takeRecoveryCode(db, { userId, code, nowMs })
  }

  /** A code is right once: a code that was seen over a shoulder is of no use. */
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
    const taken = db
      .updateTable('authenticator_apps')
      .set({ last_step: step, last_used_at_ms: nowMs })
      .where('id', '=', id)
      .where('last_step', '<', step)
    return hasRow(taken.returning('id'))
  }

  async #takeSignature(
    { user, sessionId }: OwnSession,
    { site, answer, nowMs }: SignedByPasskey & { readonly nowMs: number },
  ): Promise<boolean> {
    const { db } = this.#input
    const challenge = await takeChallenge(db, { sessionId, nowMs })
    if (challenge === null || site === null) return false
    const known = await listPasskeys(db, { userId: user.id, host: site.host })
    const passkey = known.find(({ credentialId }) => credentialId === answer.id)
    if (passkey === undefined) return false
    const signatures = await readSignature(site, { challenge, answer, passkey })
    if (signatures === null) return false
    const taken = db
      .updateTable('passkeys')
      .set({ signatures, last_used_at_ms: nowMs })
      .where('id', '=', passkey.id)
      // Another signature may have counted meanwhile.
      .where('signatures', '=', passkey.signatures)
    return hasRow(taken.returning('id'))
  }
}

/** How a wrong code is refused. */
export function wrongCode(): Problem {
  return new Problem('invalid_second_factor', { param: 'code' })
}

/** How a passkey is refused. */
export function wrongPasskey(): Problem {
  return new Problem('invalid_second_factor', {
    message: 'This passkey was not accepted. Try again within five minutes, or use a code.',
    param: 'passkey',
  })
}

/** How long a device has to sign a challenge. */
const CHALLENGE_MS = 5 * MINUTE_MS

interface OfSession {
  readonly sessionId: string
  readonly nowMs: number
}

/** Keeps the challenge that a passkey must sign in a session, in place of an earlier one. */
export async function keepChallenge(
  db: Kysely<Tables>,
  { sessionId, challenge, nowMs }: OfSession & { readonly challenge: string },
): Promise<void> {
  await updateSession(db, sessionId, { challenge, challenge_at_ms: nowMs })
}

/** Takes the challenge of a session, once. Null: there is none, or it is older than five minutes. */
export async function takeChallenge(
  db: Kysely<Tables>,
  { sessionId, nowMs }: OfSession,
): Promise<string | null> {
  const row = await db
    .selectFrom('sessions')
    .select(['challenge', 'challenge_at_ms'])
    .where('id', '=', sessionId)
    .executeTakeFirst()
  const { challenge = null, challenge_at_ms: keptAtMs = null } = row ?? {}
  if (challenge === null || keptAtMs === null) return null
  const taken = await db
    .updateTable('sessions')
    .set({ challenge: null, challenge_at_ms: null })
    .where('id', '=', sessionId)
    .where('challenge', '=', challenge)
    .returning('id')
    .executeTakeFirst()
  return taken !== undefined && nowMs - Number(keptAtMs) < CHALLENGE_MS ? challenge : null
}

const CODES = 10
// Four groups of four characters are 80 bits, so that a fast hash keeps them safe.
const SHAPE = { groups: 4, groupChars: 4, randomInt }

/**
 * Gives a user ten new recovery codes; earlier ones no longer work. Returns them: the only place that has their
 * texts.
 */
export async function replaceRecoveryCodes(
  trx: Transaction<Tables>,
  { userId, nowMs: createdAtMs }: OfUser,
): Promise<readonly string[]> {
  const codes = Array.from({ length: CODES }, () => makeTypedCode(SHAPE))
  const rows = codes.map((code) => {
    const codeHash = hashSecret(plainTypedCode(code))
    return RECOVERY_CODES.record({ ...RECOVERY_CODES.start, userId, codeHash, createdAtMs })
  })
  await trx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  await trx.insertInto('recovery_codes').values(rows).execute()
  return codes
}

/** Uses up a recovery code. False: it is not the user's, or was used before. */
function takeRecoveryCode(
  db: Kysely<Tables>,
  { userId, code, nowMs }: OfUser & { readonly code: string },
): Promise<boolean> {
  const taken = db
    .updateTable('recovery_codes')
    .set({ used_at_ms: nowMs })
    .where('user_id', '=', userId)
    .where('code_hash', '=', hashSecret(plainTypedCode(code)))
    .where('used_at_ms', 'is', null)
  return hasRow(taken.returning('code_hash'))
}
