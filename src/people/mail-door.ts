import { randomInt } from 'node:crypto'
import type { Kysely } from 'kysely'
import { type Letter, resetLetter, signInLetter, signUpLetter } from '../mail/letter.ts'
import { LINKS, type LinkRow } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import type { DbWithIds } from '../store/store.ts'
import { MINUTE_MS } from '../vocabulary/clock.ts'
import { Problem } from '../vocabulary/problem.ts'
import type { KnownBrowsers } from './known-browsers.ts'
import { hashSecret, MAILED_LINK_MS, makeLinkText, removeExpiredLinks } from './links.ts'
import { countMail } from './mail-rates.ts'
import type { Visitor } from './sessions.ts'
import type { SignUp } from './sign-up.ts'
import { findUser, lockPassword } from './users.ts'

/** How long emailed codes work: letters say so. */
const CODE_MS = 15 * MINUTE_MS

const CODES = 1_000_000

/** The number of tries, right or wrong, after which a code no longer works. */
const TRIES_MAX = 5

interface MailDoorInput extends DbWithIds {
  /** The address of the page for browsers, without `/app`: links begin with it. */
  readonly pageUrl: () => string
  /** How people become users without an invitation; null: they do not. */
  readonly signUp: Pick<SignUp, 'isOpen'> | null
  readonly knownBrowsers: Pick<KnownBrowsers, 'isOf'>
  /** Sends a letter later, and never throws. */
  readonly post: (letter: Letter, untilMs: number) => void
}

/** A request for an email: the address that it goes to, and who asks. */
interface Asking extends Pick<Visitor, 'address' | 'known'> {
  readonly email: string
}

/** A link of one email: the only place that has its texts. */
interface MailedLink {
  readonly text: string
  readonly code: string
  readonly ticket: string
  readonly expiresAtMs: number
}

/**
 * Emails by which users sign in or choose another password. An address without a user gets the same answer, after the same
 * work: a link is made for it too, which is emailed to no one, or where people may sign up makes a user.
 */
export class MailDoor {
  readonly #input: MailDoorInput

  constructor(input: MailDoorInput) {
    this.#input = input
  }

  /**
   * Emails a link and a code. Returns the ticket, which the browser that asked needs for the code: others can guess
   * only at codes of their own tickets. Throws Problem `rate_limited`.
   */
  async askSignIn(asking: Asking): Promise<string> {
    const { user, link, isNewcomer } = await this.#makeLink(asking, 'sign_in')
    const url = `${this.#input.pageUrl()}/app/sign-in-link#${link.text}`
    const endsPassword = user !== null && !user.emailVerified
    const endsFactors = endsPassword && !user.vouched
    const { code } = link
    const letter = signInLetter({ to: asking.email, url, code, endsPassword, endsFactors })
    const { email: to } = asking
    if (user !== null) this.#input.post(letter, link.expiresAtMs)
    else if (isNewcomer)
      this.#input.post(signUpLetter({ to, url, code: link.code }), link.expiresAtMs)
    return link.ticket
  }

  /** Emails a link that sets another password. Throws Problem `rate_limited`. */
  async askReset(asking: Asking): Promise<void> {
    const { user, link } = await this.#makeLink(asking, 'reset')
    const letter = resetLetter({
      to: asking.email,
      url: `${this.#input.pageUrl()}/app/reset#${link.text}`,
      endsFactors: user !== null && !user.emailVerified && !user.vouched,
    })
    if (user !== null) this.#input.post(letter, link.expiresAtMs)
  }

  async #makeLink({ email, address, known }: Asking, kind: 'sign_in' | 'reset') {
    const { db, clock, ids } = this.#input
    const found = await findUser(db, email)
    const isKnown = found !== null && (await this.#input.knownBrowsers.isOf(known, found))
    await countMail({ db, clock }, { address, email, kind, known: isKnown ? known : null })
    const canSignUp = kind === 'sign_in' && (await this.#input.signUp?.isOpen()) === true
    const isNewcomer = canSignUp && found === null
    const nowMs = clock.nowMs()
    const link: MailedLink = {
      text: makeLinkText(),
      code: String(randomInt(CODES)).padStart(6, '0'),
      ticket: makeLinkText(),
      expiresAtMs: nowMs + MAILED_LINK_MS,
    }
    await removeExpiredLinks(db, nowMs)
    const user = await db.transaction().execute(async (trx) => {
      // The user may have changed to another address since, or be removed: no link may be made after the earlier ones were ended.
      await lockPassword(trx, found?.id ?? '')
      const still = await findUser(trx, email)
      const userId = still !== null && still.id === found?.id ? still.id : null
      const row: LinkRow = {
        ...LINKS.start,
        id: ids.next('link'),
        kind,
        tokenHash: hashSecret(link.text),
        email: isNewcomer ? email.toLowerCase() : null,
        userId,
        mailed: true,
        ticketHash: hashSecret(link.ticket),
        codeHash: codeHash(link),
        expiresAtMs: link.expiresAtMs,
        createdAtMs: nowMs,
      }
      await trx.insertInto('links').values(LINKS.record(row)).execute()
      return userId === null ? null : still
    })
    return { user, link, isNewcomer }
  }
}

/** A code has few values: its hash has the ticket in it, which no store has, so that no copy of a store gives it away. */
function codeHash({ ticket, code }: Pick<MailedLink, 'ticket' | 'code'>): string {
  return hashSecret(`${ticket} ${code}`)
}

/**
 * The link of a code that was emailed; it is not taken by this. A try counts before its code is compared, so that
 * a hundred at the same time are five. Throws Problem `invalid_code`, also for a ticket that never was.
 */
export async function tryCode(
  db: Kysely<Tables>,
  { ticket, code, nowMs }: Pick<MailedLink, 'ticket' | 'code'> & { readonly nowMs: number },
): Promise<LinkRow> {
  const row = await db
    .updateTable('links')
    .set(({ eb }) => ({ tries: eb('tries', '+', 1) }))
    .where('ticket_hash', '=', hashSecret(ticket))
    .where('kind', '=', 'sign_in')
    .where('used_at_ms', 'is', null)
    .where('created_at_ms', '>', nowMs - CODE_MS)
    .where('tries', '<', TRIES_MAX)
    .returningAll()
    .executeTakeFirst()
  if (row === undefined || row.code_hash !== codeHash({ ticket, code })) {
    throw new Problem('invalid_code')
  }
  return LINKS.read(row)
}
