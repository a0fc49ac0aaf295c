import type { Kysely, Transaction } from 'kysely'
import type { CreateAccountInput } from '../ledger/ledger.ts'
import type { Tables } from '../store/schema.ts'
import { type DbWithIds, hasRow } from '../store/store.ts'
import { Problem } from '../vocabulary/problem.ts'
import { grant, hasOpenInvitation, takeOpenInvitations } from './invitations.ts'
import { countSignUp } from './mail-rates.ts'
import { noPassword } from './passwords.ts'
import { proveAddress } from './proof.ts'
import {
  addUser,
  findUser,
  getUser,
  hasUsers,
  listMemberships,
  type StoredPassword,
} from './users.ts'

interface SignUpInput extends DbWithIds {
  /** Makes an account, or finds the account that has the external ID. */
  readonly createAccount: (input: CreateAccountInput) => Promise<unknown>
}

const ACCOUNTS_MAX = 5

/** How people who were not invited become users: by an address that they prove, with an account of their own. */
export class SignUp {
  readonly #input: SignUpInput

  constructor(input: SignUpInput) {
    this.#input = input
  }

  /** Whether people can sign up now: not before the first operator, because a sign-up would end the setup link. */
  isOpen(): Promise<boolean> {
    return hasUsers(this.#input.db)
  }

  /**
   * Counts a person who signs up from a client address, unless one with an open invitation. Throws Problem
   * `rate_limited` from the sixth in a day on.
   */
  async count({ email, address }: { readonly email: string; readonly address: string }) {
    const { db, clock } = this.#input
    const isInvited = await hasOpenInvitation(db, { email, nowMs: clock.nowMs() })
    if (!isInvited) await countSignUp({ db, clock }, address)
  }

  /**
   * Makes a user, who also gets the rights of open invitations of the address. Throws Problem `invalid_link` if there
   * is one.
   */
  async addNewcomer(
    trx: Transaction<Tables>,
    { email, nowMs }: { readonly email: string; readonly nowMs: number },
  ): Promise<StoredPassword> {
    const { ids } = this.#input
    if ((await findUser(trx, email)) !== null) throw new Problem('invalid_link')
    const invitations = await takeOpenInvitations(trx, { email, nowMs })
    const isOperator = invitations.some((invitation) => invitation.isOperator)
    const passwordHash = noPassword()
    const newUser = { ids, nowMs, email, name: email, passwordHash, isOperator, isVouched: false }
    const user = await addUser(trx, newUser)
    if (user === null) throw new Problem('invalid_link')
    await proveAddress(trx, { userId: user.id, passwordHash, nowMs })
    for (const link of invitations) await grant(trx, { userId: user.id, link, nowMs })
    return { userId: user.id, passwordHash }
  }

  /**
   * Makes an account for a user who is in none, with the user as its owner: of two sign-ins at once, one makes it. A user who
   * left the account, or was removed, gets another, up to five.
   */
  async openAccount(userId: string): Promise<void> {
    const { db, ids, createAccount } = this.#input
    const user = await getUser(db, userId)
    if (user === null || user.isOperator || !user.emailVerified) return
    if ((await listMemberships(db, userId)).length > 0) return
    const { name, email } = user
    for (let place = 1; place <= ACCOUNTS_MAX; place++) {
      const externalId = `sign-up:${userId}${place === 1 ? '' : `:${place}`}`
      if (await hasAccount(db, externalId)) {
        // Another sign-in may have made it since: the account and its owner are there together.
        if ((await listMemberships(db, userId)).length > 0) return
        continue
      }
      await createAccount({ id: ids.next('acct'), name, email, ownerId: userId, externalId })
      return
    }
  }
}

function hasAccount(db: Kysely<Tables>, externalId: string): Promise<boolean> {
  return hasRow(db.selectFrom('accounts').select('id').where('external_id', '=', externalId))
}
