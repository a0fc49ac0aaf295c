import type { Transaction } from 'kysely'
import { recordAction } from '../ledger/operator-actions.ts'
import { emailChangedLetter, type Letter, newEmailLetter } from '../mail/letter.ts'
import { LINKS, type UserRow } from '../store/people-tables.ts'
import { sqlStateOf } from '../store/postgres/postgres-failure.ts'
import type { Tables } from '../store/schema.ts'
import { type DbWithIds, hasRow } from '../store/store.ts'
import { DAY_MS } from '../vocabulary/clock.ts'
import { invalidParameter, Problem } from '../vocabulary/problem.ts'
import {
  endNewEmailLinks,
  endOwnLinks,
  hashSecret,
  MAILED_LINK_MS,
  makeLinkText,
  readLink,
  removeExpiredLinks,
  takeLink,
} from './links.ts'
import { countMail } from './mail-rates.ts'
import { endInvitations } from './removal.ts'
import type { Visitor } from './sessions.ts'
import { lockPassword, updateUser } from './users.ts'

interface NewEmailsInput extends DbWithIds {
  /** The address of the page for browsers, without `/app`: links begin with it. */
  readonly pageUrl: () => string
  /** Sends a letter later, and never throws. */
  readonly post: (letter: Letter, untilMs: number) => void
}

/** The email addresses that users change to: each counts once a link that was sent to it is used. */
export class NewEmails {
  readonly #input: NewEmailsInput

  constructor(input: NewEmailsInput) {
    this.#input = input
  }

  /**
   * Emails a link to an address that a user wants; earlier links of this kind no longer work. The address of another user
   * gets no email, and the answer does not reveal that. Throws Problem `invalid_parameter`, `rate_limited`.
   */
  async ask(
    user: UserRow,
    { email: typed, address }: { readonly email: string } & Pick<Visitor, 'address'>,
  ): Promise<void> {
    const { db, clock, ids, pageUrl, post } = this.#input
    const email = typed.toLowerCase()
    if (email === user.email) {
      throw invalidParameter('email', 'This is your email address already.')
    }
    await countMail({ db, clock }, { address, email, kind: 'new_email', known: null })
    const text = makeLinkText()
    const nowMs = clock.nowMs()
    const expiresAtMs = nowMs + MAILED_LINK_MS
    await removeExpiredLinks(db, nowMs)
    await db.transaction().execute(async (trx) => {
      await lockPassword(trx, user.id)
      await endNewEmailLinks(trx, { userId: user.id, nowMs })
      const row = { ...LINKS.start, id: ids.next('link'), kind: 'new_email', email } as const
      const made = { tokenHash: hashSecret(text), userId: user.id, mailed: true }
      const times = { expiresAtMs, createdAtMs: nowMs }
      await trx
        .insertInto('links')
        .values(LINKS.record({ ...row, ...made, ...times }))
        .execute()
    })
    const url = `${pageUrl()}/app/new-email#${text}`
    if (!(await isTaken(db, email))) post(newEmailLetter({ to: email, url, user }), expiresAtMs)
  }

  /**
   * Gives a user the address that a link was sent to, which is proved by that. Sessions go on; links that were sent to the
   * earlier address no longer work, invitations too, and it gets a notice. Returns the new address. Throws Problem
   * `invalid_link`, also if the link is another user's: whoever has the mailbox must not give it to a stranger's user.
   */
  async confirm(linkText: string, { id: userId }: Pick<UserRow, 'id'>): Promise<string> {
    const { db, clock, ids, post } = this.#input
    const presented = { kind: 'new_email', text: linkText, nowMs: clock.nowMs() } as const
    const { id, userId: askedBy, email } = await readLink(db, presented)
    if (email === null) throw new Problem('invalid_link')
    if (askedBy !== userId) throw new Problem('invalid_link', { message: OTHER_USER })
    const change = db.transaction().execute(async (trx) => {
      const nowMs = clock.nowMs()
      // Removed since the link was sent.
      if ((await lockPassword(trx, userId)) === null) throw new Problem('invalid_link')
      await takeLink(trx, { id, nowMs })
      if (await isTaken(trx, email)) throw new Problem('invalid_link')
      const before = await trx
        .selectFrom('users')
        .select('email')
        .where('id', '=', userId)
        .executeTakeFirstOrThrow()
      // Whoever takes rights from the user later looks for invitations by the new address.
      const everything = { accountId: null, asOperator: false, isAll: true } as const
      await endInvitations(trx, { ...everything, email: before.email, nowMs })
      await updateUser(trx, userId, { email, email_verified: 1 })
      await endOwnLinks(trx, { userId, nowMs })
      await recordAction(trx, {
        by: { id: ids.next('act'), userId, action: 'changeEmail' },
        targetId: userId,
        detail: { email },
        before: { email: before.email },
        nowMs,
      })
      return before.email
    })
    const earlier = await change.catch((error: unknown) => {
      // Another user got the address since it was looked for.
      if (sqlStateOf(error) === UNIQUE_VIOLATION) {
        throw new Problem('invalid_link', { cause: error })
      }
      throw error
    })
    post(emailChangedLetter({ to: earlier, email }), clock.nowMs() + DAY_MS)
    return email
  }
}

const OTHER_USER =
  'This link changes the email address of another user. Sign in as that user, then open it again.'

/** PostgreSQL's SQLSTATE. SQLite has one writer, so that a look before the write is enough. */
const UNIQUE_VIOLATION = '23505'

/** Whether a user has the address, also one who was removed. */
function isTaken(db: Pick<Transaction<Tables>, 'selectFrom'>, email: string) {
  return hasRow(db.selectFrom('users').select('id').where('email', '=', email))
}
