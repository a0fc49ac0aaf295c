import type { Transaction } from 'kysely'
import type { LinkRow, UserRow } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import type { DbWithIds } from '../store/store.ts'
import type { StartTimer } from '../vocabulary/clock.ts'
import { Problem } from '../vocabulary/problem.ts'
import { SignInAttempts } from './attempts.ts'
import { FactorSetup } from './factors/factor-setup.ts'
import { dropFactors } from './factors/own-factors.ts'
import { type FactorProof, SecondFactors } from './factors/second-factors.ts'
import { claimFirstUser, grant } from './invitations.ts'
import { KnownBrowsers } from './known-browsers.ts'
import { endOwnLinks, readLink, takeLink } from './links.ts'
import { tryCode } from './mail-door.ts'
import { enterFromOutside, type OutsideIdentity } from './outside/outside-identity.ts'
import { type Checked, noPassword, PasswordChecks, type Passwords } from './passwords.ts'
import { proveAddress, vouchAgain } from './proof.ts'
import {
  endOtherSessions,
  hasSession,
  type NewSession,
  Sessions,
  type SignedIn,
  updateSession,
  type Visitor,
} from './sessions.ts'
import type { SignUp } from './sign-up.ts'
import {
  addUser,
  findIdentity,
  findPassword,
  findUser,
  getUser,
  hasUsers,
  isPasswordUnchanged,
  joinFirstAccount,
  lockPassword,
  type StoredPassword,
  setPasswordHash,
} from './users.ts'

/** The parts of sign-in. */
interface PeopleInput extends DbWithIds {
  /** Whether the first user becomes the owner of the first account: with play money. */
  readonly joinsFirstAccount: boolean
  /** How people become users without an invitation; null: they do not. */
  readonly signUp: SignUp | null
  readonly passwords: Passwords
  /** Default: a timer that does not keep the process alive. */
  readonly startTimer?: StartTimer | undefined
}

interface Credentials {
  readonly email: string
  readonly password: string
}

interface SetUpInput extends Credentials {
  readonly linkText: string
  readonly name: string
}

interface ChangePasswordInput {
  readonly signedIn: SignedIn
  readonly currentPassword: string
  readonly password: string
}

/**
 * People who sign in to the page. Passwords are hashed before a transaction begins, because a transaction
 * of SQLite keeps all other writers waiting.
 */
export class People {
  readonly sessions: Sessions
  readonly factors: SecondFactors
  readonly factorSetup: FactorSetup
  readonly knownBrowsers: KnownBrowsers
  readonly #input: PeopleInput
  readonly #attempts: SignInAttempts
  readonly #passwords: Passwords
  readonly #checks: PasswordChecks

  constructor(input: PeopleInput) {
    this.#input = input
    this.sessions = new Sessions(input)
    this.factors = new SecondFactors(input)
    this.factorSetup = new FactorSetup(input)
    this.#attempts = new SignInAttempts(input)
    this.knownBrowsers = new KnownBrowsers(input)
    this.#checks = new PasswordChecks(input.startTimer)
    this.#passwords = input.passwords
  }

  /**
   * Signs a person in. Throws Problem `invalid_sign_in` for a wrong password and for an unknown address
   * alike, and `rate_limited` from the fifth wrong one in ten minutes on.
   */
  async signIn({ email, password }: Credentials, visitor: Visitor): Promise<NewSession> {
    const wrong = new Problem('invalid_sign_in')
    const checked = await this.#attempts.run(
      { address: visitor.address, email },
      { check: () => this.#checkTyped({ email, password }, visitor), wrong },
    )
    return this.#startSession(checked, visitor)
  }

  /** Makes the first user, an operator. Throws Problem `invalid_link`, also where there is a user. */
  async setUp({ linkText, ...person }: SetUpInput, visitor: Visitor): Promise<NewSession> {
    const { db, clock, ids, joinsFirstAccount } = this.#input
    const { id } = await readLink(db, { kind: 'setup', text: linkText, nowMs: clock.nowMs() })
    const passwordHash = await this.#hash(person.password, visitor)
    const made = await db.transaction().execute(async (trx) => {
      const nowMs = clock.nowMs()
      await takeLink(trx, { id, nowMs })
      if (await hasUsers(trx)) throw new Problem('invalid_link')
      const rights = { isOperator: true, isVouched: true }
      const user = await addUser(trx, { ...person, ...rights, ids, nowMs, passwordHash })
      if (user === null || !(await claimFirstUser(trx, user.id))) throw new Problem('invalid_link')
      if (joinsFirstAccount) await joinFirstAccount(trx, { userId: user.id, nowMs })
      return { userId: user.id, passwordHash }
    })
    return this.#startSession(made, visitor)
  }

  /**
   * Makes an invited person a user, or gives a user with this address and password the rights that the invitation
   * allows. Throws Problem `invalid_link`, or `invalid_sign_in` for the wrong password of a user.
   */
  async acceptInvitation(
    { linkText, name, password }: Omit<SetUpInput, 'email'>,
    visitor: Visitor,
  ): Promise<NewSession> {
    const { db, clock, ids } = this.#input
    const presented = { kind: 'invitation', text: linkText, nowMs: clock.nowMs() } as const
    const link = await readLink(db, presented)
    const { email, mailed } = link
    if (email === null) throw new Problem('invalid_link')
    const known = await findUser(db, email)
    // The person who has the email owns the address; another person may have set the present password.
    const isTakenOver = mailed && known !== null && !known.emailVerified
    const proved =
      known === null || isTakenOver
        ? { userId: null, passwordHash: await this.#hash(password, visitor) }
        : await this.#requirePassword({ user: known, password, field: 'password' }, visitor)
    const checked = await db.transaction().execute(async (trx) => {
      const nowMs = clock.nowMs()
      const { userId, passwordHash } = proved
      if (userId !== null && !(await isPasswordUnchanged(trx, { userId, passwordHash })))
        throw wrongPassword('password')
      if (isTakenOver) await lockPassword(trx, known.id)
      await takeLink(trx, { id: link.id, nowMs })
      // Another invitation of the same address may have been accepted in between.
      if ((await findUser(trx, email))?.id !== known?.id) throw new Problem('invalid_link')
      const { isOperator, vouched: isVouched } = link
      const added = { ids, nowMs, email, name, passwordHash, isOperator, isVouched }
      const user = known ?? (await addUser(trx, added))
      if (user === null) throw new Problem('invalid_link')
      const proof = { userId: user.id, passwordHash, nowMs }
      const isFirst = mailed && (await proveAddress(trx, proof))
      // Proved in another way in between.
      if (isTakenOver && !isFirst) throw new Problem('invalid_link')
      await grant(trx, { userId: user.id, link, nowMs })
      return { userId: user.id, passwordHash }
    })
    return this.#startSession(checked, visitor)
  }

  /**
   * Sets a new password by a link, and ends all sessions. A link that did not go by email comes from the operator, and
   * removes the second factors: it also lets a user back in who lost them. Throws Problem `invalid_link`.
   */
  async resetPassword(
    { linkText, password }: Pick<SetUpInput, 'linkText' | 'password'>,
    visitor: Visitor,
  ): Promise<NewSession> {
    const { db, clock } = this.#input
    const presented = { kind: 'reset', text: linkText, nowMs: clock.nowMs() } as const
    const { id, userId, mailed } = await readLink(db, presented)
    const user = userId === null ? null : await getUser(db, userId)
    if (user === null) throw new Problem('invalid_link')
    const passwordHash = await this.#hash(password, visitor)
    await db.transaction().execute(async (trx) => {
      await lockPassword(trx, user.id)
      const nowMs = clock.nowMs()
      await takeLink(trx, { id, nowMs })
      if (mailed) await proveAddress(trx, { userId: user.id, passwordHash, nowMs })
      else {
        await dropFactors(trx, user.id)
        await vouchAgain(trx, user.id)
      }
      await this.#setPassword(trx, { userId: user.id, passwordHash, keptSessionId: null })
    })
    await this.#attempts.forget({ address: visitor.address, email: user.email })
    return this.#startSession({ userId: user.id, passwordHash }, visitor)
  }

  /** Signs a user in by the link of an email. Throws Problem `invalid_link`. */
  async signInByLink(linkText: string, visitor: Visitor): Promise<NewSession> {
    const { db, clock } = this.#input
    const presented = { kind: 'sign_in', text: linkText, nowMs: clock.nowMs() } as const
    return this.#enterByMail(await readLink(db, presented), visitor)
  }

  /** Signs a user in by the code of an email, in the browser that asked for it. Throws Problem `invalid_code`. */
  async signInByCode(
    presented: { readonly ticket: string; readonly code: string },
    visitor: Visitor,
  ): Promise<NewSession> {
    const { db, clock } = this.#input
    const link = await tryCode(db, { ...presented, nowMs: clock.nowMs() })
    return this.#enterByMail(link, visitor)
  }

  /**
   * The first proof of an address ends the password that was set without one, and its sessions: another person may
   * have set it.
   */
  async #enterByMail(link: LinkRow, visitor: Visitor): Promise<NewSession> {
    const { db, clock } = this.#input
    const { id, userId, email } = link
    const newcomer = email === null ? null : await findUser(db, email)
    const user = userId === null ? newcomer : await getUser(db, userId)
    if (user === null) return this.#signUpByMail(link, visitor)
    const checked = await db.transaction().execute(async (trx) => {
      const nowMs = clock.nowMs()
      const stored = await lockPassword(trx, user.id)
      await takeLink(trx, { id, nowMs })
      // Removed since the link was read, or changed to another address than the one that it was sent to.
      const isHere = email === null || (await findUser(trx, email))?.id === user.id
      if (stored === null || !isHere) throw new Problem('invalid_link')
      const proof = { userId: user.id, passwordHash: noPassword(), nowMs }
      return (await proveAddress(trx, proof)) ? proof : { ...proof, passwordHash: stored }
    })
    return this.#startSession(checked, visitor)
  }

  /** Makes the user of an address that is proved by its email. Throws Problem `invalid_link` and `rate_limited`. */
  async #signUpByMail({ id, email }: LinkRow, visitor: Visitor): Promise<NewSession> {
    const { db, clock, signUp } = this.#input
    if (email === null || signUp === null) throw new Problem('invalid_link')
    await signUp.count({ email, address: visitor.address })
    const made = await db.transaction().execute(async (trx) => {
      const nowMs = clock.nowMs()
      await takeLink(trx, { id, nowMs })
      return signUp.addNewcomer(trx, { email, nowMs })
    })
    return this.#startSession(made, visitor)
  }

  /**
   * Signs in a person whom a provider outside of the gateway has named, and accepts an invitation that the person opened.
   * Throws Problem as `enterFromOutside` does.
   */
  async signInFromOutside(
    proof: { readonly identity: OutsideIdentity; readonly linkText: string | null },
    visitor: Visitor,
  ): Promise<NewSession> {
    const { db, clock, ids, signUp } = this.#input
    const { verifiedEmail: email } = proof.identity
    const isKnown = (await findIdentity(db, proof.identity)) !== null
    const isUser = isKnown || email === null || (await findUser(db, email)) !== null
    const canSignUp = !isUser && signUp !== null && (await signUp.isOpen())
    if (canSignUp && proof.linkText === null) {
      await signUp.count({ email, address: visitor.address })
    }
    const checked = await db.transaction().execute((trx) => {
      const nowMs = clock.nowMs()
      return enterFromOutside(trx, { ...proof, canSignUp, ids, nowMs })
    })
    return this.#startSession(checked, visitor)
  }

  /**
   * Sets a new password and ends all other sessions. Throws Problem `invalid_sign_in`, `rate_limited`, and
   * `not_signed_in` where another password was set, or the session has ended, since the call began.
   */
  async changePassword(
    { signedIn: { user, sessionId }, currentPassword, password }: ChangePasswordInput,
    visitor: Visitor,
  ): Promise<void> {
    const { db } = this.#input
    const field = 'current_password'
    const required = { user, password: currentPassword, field, isSignedIn: true }
    const checked = await this.#requirePassword(required, visitor)
    const passwordHash = await this.#hash(password, { knownUserId: user.id })
    await db.transaction().execute(async (trx) => {
      const isStill =
        (await isPasswordUnchanged(trx, checked)) && (await hasSession(trx, sessionId))
      if (!isStill) throw new Problem('not_signed_in')
      await this.#setPassword(trx, { userId: user.id, passwordHash, keptSessionId: sessionId })
    })
  }

  /**
   * Asks for the password again, and for the second factor of a user who has one, for what needs a recent sign-in. Throws
   * Problem `invalid_sign_in`, `invalid_second_factor`, `rate_limited`.
   */
  async confirm(
    {
      signedIn,
      password,
      proof,
    }: Omit<ChangePasswordInput, 'currentPassword'> & {
      /** The second factor of a user who has one. */
      readonly proof: FactorProof
    },
    visitor: Visitor,
  ): Promise<void> {
    const { db, clock } = this.#input
    const { user, sessionId, hasFactor } = signedIn
    const required = { user, password, field: 'password', isSignedIn: true }
    const checked = await this.#requirePassword(required, visitor)
    if (hasFactor) await this.factors.check(signedIn, proof)
    await db.transaction().execute(async (trx) => {
      if (!(await isPasswordUnchanged(trx, checked))) throw new Problem('not_signed_in')
      await updateSession(trx, sessionId, { confirmed_at_ms: clock.nowMs() })
    })
  }

  /** Returns the password as it is stored. */
  async #requirePassword(
    {
      user,
      password,
      field,
      isSignedIn = false,
    }: {
      readonly user: UserRow
      readonly password: string
      /** The field of the form that has it. */
      readonly field: string
      /** Default: no. */
      readonly isSignedIn?: boolean
    },
    visitor: Visitor,
  ): Promise<StoredPassword> {
    const { email } = user
    const { address } = visitor
    const check = () =>
      isSignedIn
        ? this.#check({ email, password }, { knownUserId: user.id })
        : this.#checkTyped({ email, password }, visitor)
    return this.#attempts.run({ address, email }, { check, wrong: wrongPassword(field) })
  }

  /** Checks the address and password of a sign-in. Returns the result of {@link #check}. */
  async #checkTyped(credentials: Credentials, { address, known }: Visitor) {
    const user = known === null ? null : await findUser(this.#input.db, credentials.email)
    const isKnown = user !== null && (await this.knownBrowsers.isOf(known, user))
    return this.#check(credentials, isKnown ? { knownUserId: user.id } : { address })
  }

  /** The password as it is stored; null: it is wrong, or no user has this address, which takes the same time. */
  async #check({ email, password }: Credentials, checked: Checked): Promise<StoredPassword | null> {
    const stored = await findPassword(this.#input.db, email)
    const { passwordHash } = stored ?? { passwordHash: null }
    const isRight = await this.#checks.run(checked, () =>
      this.#passwords.isRight({ passwordHash, password }),
    )
    return isRight ? stored : null
  }

  /**
   * Makes a session of a user whose password was checked, or set by a link. It needs no check, so that no queue and
   * no count of attempts refuses it once the link is used up. The transaction that sets another password ends the
   * user's sessions: this one by that, or it began later and finds the other password here.
   */
  async #startSession(checked: StoredPassword, visitor: Visitor): Promise<NewSession> {
    await this.#input.signUp?.openAccount(checked.userId)
    const made = await this.sessions.start(checked.userId, visitor)
    await this.sessions.removeEnded()
    if (await isPasswordUnchanged(this.#input.db, checked)) return made
    await this.sessions.endByToken(made.sessionToken)
    throw new Problem('invalid_sign_in')
  }

  /** Sets a password that is locked, and ends the sessions and links of the earlier one. */
  async #setPassword(
    trx: Transaction<Tables>,
    { keptSessionId, ...password }: StoredPassword & { readonly keptSessionId: string | null },
  ): Promise<void> {
    const nowMs = this.#input.clock.nowMs()
    const { userId } = password
    await setPasswordHash(trx, password)
    await endOwnLinks(trx, { userId, nowMs })
    await endOtherSessions(trx, { userId, keptSessionId })
  }

  #hash(password: string, checked: Checked): Promise<string> {
    return this.#checks.run(checked, () => this.#passwords.hash(password))
  }
}

function wrongPassword(field: string): Problem {
  return new Problem('invalid_sign_in', { message: 'The password is wrong.', param: field })
}
