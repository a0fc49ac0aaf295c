import { sql } from 'kysely'
import type { DbWithClock } from '../store/store.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../vocabulary/clock.ts'
import { tooSoon, waitWords } from './attempts.ts'
import { hashSecret } from './links.ts'

/** The sender and the recipient of a requested email. */
interface Asked {
  /** The client address; an IPv6 address counts as its network. */
  readonly address: string
  readonly email: string
  readonly kind: 'sign_in' | 'reset' | 'new_email'
  /** The mark of a browser in which the user of the address signed in before; null: there is none. */
  readonly known: string | null
}

/** A count of emails, and the most of it. */
interface Limit {
  readonly subject: string
  readonly mailsMax: number
  readonly windowMs: number
  /** The words of the refusal. `wait`: the time until the next one may be sent. */
  readonly words: (wait: string) => string
}

const FROM_NETWORK: Limit['words'] = (wait) =>
  `Too many emails were requested from your network. Try again in ${wait}.`
const FROM_BROWSER: Limit['words'] = (wait) =>
  `Too many emails were requested from this browser. Use the newest one, or try again in ${wait}.`
const INVITATIONS_OF: Limit['words'] = (wait) =>
  `This account sent 40 invitations within 24 hours. Send the next ones in ${wait}.`
const INVITATIONS_TO: Limit['words'] = (wait) =>
  `Five invitations were sent to this address within 24 hours. Ask the person to look for them, or try again in ${wait}.`
const SIGN_UPS: Limit['words'] = (wait) =>
  `Too many people signed up from your network within 24 hours. Try again in ${wait}, or ask the operator for an invitation.`

/** So many emails of a kind go to an address at once, then one in each of these times. */
const AT_ONCE_MAX = 5
const ONE_EACH_MS = HOUR_MS / 2

/**
 * Counts an email that is asked for, whether or not a user has the address. Throws Problem `rate_limited`. A known
 * browser has its own count, which strangers can't use up. The link of an email outlasts the wait for the next one,
 * so that a person whose address strangers flood always has one that works.
 */
export async function countMail(
  parts: DbWithClock,
  { address, email, kind, known }: Asked,
): Promise<void> {
  if (known !== null) {
    return countAll(parts, [
      { subject: `known hour ${known}`, mailsMax: 5, windowMs: HOUR_MS, words: FROM_BROWSER },
      { subject: `known day ${known}`, mailsMax: 10, windowMs: DAY_MS, words: FROM_BROWSER },
    ])
  }
  await countAll(parts, [
    { subject: `from ${address}`, mailsMax: 20, windowMs: HOUR_MS, words: FROM_NETWORK },
  ])
  await countTo(parts, { kind, email })
}

/** Counts an email to an address. */
async function countTo(
  { db, clock }: DbWithClock,
  { kind, email }: Pick<Asked, 'kind' | 'email'>,
): Promise<void> {
  const nowMs = clock.nowMs()
  const subject_hash = hashSecret(`${kind} to ${email.toLowerCase()}`)
  const endsBeforeMs = nowMs + (AT_ONCE_MAX - 1) * ONE_EACH_MS
  const row = { subject_hash, mails: 1, ends_at_ms: nowMs + ONE_EACH_MS, last_at_ms: nowMs }
  const counted = await db
    .insertInto('mail_rates')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .column('subject_hash')
        .doUpdateSet({
          ends_at_ms: sql<number>`${sql.ref('mail_rates.ends_at_ms')} + ${ONE_EACH_MS}`,
          last_at_ms: nowMs,
        })
        .where('mail_rates.ends_at_ms', '<=', endsBeforeMs),
    )
    .returning('subject_hash')
    .executeTakeFirst()
  if (counted !== undefined) return
  const full = await db
    .selectFrom('mail_rates')
    .select(['ends_at_ms', 'last_at_ms'])
    .where('subject_hash', '=', subject_hash)
    .executeTakeFirstOrThrow()
  const waitMs = Number(full.ends_at_ms) - endsBeforeMs
  const agoMs = nowMs - Number(full.last_at_ms)
  const ago = agoMs < MINUTE_MS ? 'less than a minute' : waitWords(agoMs - (agoMs % MINUTE_MS))
  // A user asks for a link to an address that may be another's, and a newer link replaces it.
  const sent =
    kind === 'new_email'
      ? `A link to this address was asked for ${ago} ago.`
      : `An email was sent to this address ${ago} ago, and its link still works.`
  throw tooSoon(waitMs, (wait) => `${sent} You can ask for another in ${wait}.`)
}

/** Counts a person who signs up from a client address. Throws Problem `rate_limited` from the sixth in a day on. */
export function countSignUp(parts: DbWithClock, address: string): Promise<void> {
  const subject = `sign-up ${address}`
  const limit = { subject, mailsMax: 5, windowMs: DAY_MS, words: SIGN_UPS }
  return countAll(parts, [limit])
}

/**
 * Counts an email by which an account invites a person. Throws Problem `rate_limited` from the sixth email to an
 * address, and from the forty-first of an account, in a day.
 */
export function countInvitation(
  parts: DbWithClock,
  { email, accountId }: { readonly email: string; readonly accountId: string },
): Promise<void> {
  const windowMs = DAY_MS
  return countAll(parts, [
    { subject: `invitations of ${accountId}`, mailsMax: 40, windowMs, words: INVITATIONS_OF },
    {
      subject: `invitations to ${email.toLowerCase()}`,
      mailsMax: 5,
      windowMs,
      words: INVITATIONS_TO,
    },
  ])
}

async function countAll({ db, clock }: DbWithClock, limits: readonly Limit[]): Promise<void> {
  const nowMs = clock.nowMs()
  await db
    .deleteFrom('mail_rates')
    .where((rate) =>
      rate.or([
        rate('ends_at_ms', '<=', nowMs),
        // No count lasts longer than a day: it is from a time when the clock was far ahead.
        rate('ends_at_ms', '>', nowMs + 2 * DAY_MS),
      ]),
    )
    .execute()
  for (const { subject, mailsMax, windowMs, words } of limits) {
    const { mails, endsAtMs } = await db
      .insertInto('mail_rates')
      .values({ subject_hash: hashSecret(subject), mails: 1, ends_at_ms: nowMs + windowMs })
      .onConflict((conflict) =>
        conflict
          .column('subject_hash')
          .doUpdateSet({ mails: sql<number>`${sql.ref('mail_rates.mails')} + 1` }),
      )
      .returning(['mails', 'ends_at_ms as endsAtMs'])
      .executeTakeFirstOrThrow()
    if (mails > mailsMax) throw tooSoon(endsAtMs - nowMs, words)
  }
}
