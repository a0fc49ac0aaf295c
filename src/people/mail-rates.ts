import { type Kysely, sql } from 'kysely'
import type { Tables } from '../store/schema.ts'
import type { Clock } from '../vocabulary/clock.ts'
import { Problem } from '../vocabulary/problem.ts'
import { hashSecret } from './link-text.ts'

const HOUR_MS = 60 * 60_000

/** Who asks for a mail to whom. */
interface Asked {
  /** The client address; an IPv6 address counts as its network. */
  readonly address: string
  readonly email: string
  readonly kind: 'sign_in' | 'reset'
}

interface RateParts {
  readonly db: Kysely<Tables>
  readonly clock: Clock
}

/** A count of mails, and the most of it. */
interface Limit {
  readonly subject: string
  readonly mailsMax: number
  readonly windowMs: number
  readonly message: string
}

const FROM_NETWORK = 'Too many mails were asked for from your network. Try again later.'
const TO_ADDRESS =
  'Too many mails were asked for to this address. Use the newest one, or try again later.'
const INVITATIONS_OF = 'This account sent 40 invitations today. Send the next ones tomorrow.'
const INVITATIONS_TO =
  'Five invitations went to this address today. Ask the person to look for them, or try again tomorrow.'
const SIGN_UPS =
  'Too many people signed up from your network today. Try again tomorrow, or ask the operator for an invitation.'

function limitsOf({ address, email, kind }: Asked): readonly Limit[] {
  const to = `${kind} ${email.toLowerCase()}`
  return [
    { subject: `from ${address}`, mailsMax: 20, windowMs: HOUR_MS, message: FROM_NETWORK },
    { subject: `hour ${to}`, mailsMax: 5, windowMs: HOUR_MS, message: TO_ADDRESS },
    { subject: `day ${to}`, mailsMax: 15, windowMs: 24 * HOUR_MS, message: TO_ADDRESS },
  ]
}

/**
 * Counts a mail that is asked for, whether or not a user has the address. Throws Problem `rate_limited`. The counts of
 * an email address keep strangers from flooding it; the mails that they had sent to it are of use to its owner.
 */
export async function countMail({ db, clock }: RateParts, asked: Asked): Promise<void> {
  await countAll({ db, clock }, limitsOf(asked))
}

/** Counts a person who signs up from a client address. Throws Problem `rate_limited` from the sixth in a day on. */
export function countSignUp(parts: RateParts, address: string): Promise<void> {
  const subject = `sign-up ${address}`
  const limit = { subject, mailsMax: 5, windowMs: 24 * HOUR_MS, message: SIGN_UPS }
  return countAll(parts, [limit])
}

/**
 * Counts a mail by which an account invites a person. Throws Problem `rate_limited` from the sixth to an address, and the
 * forty-first of an account, in a day on.
 */
export function countInvitation(
  parts: RateParts,
  { email, accountId }: { readonly email: string; readonly accountId: string },
): Promise<void> {
  const windowMs = 24 * HOUR_MS
  return countAll(parts, [
    { subject: `invitations of ${accountId}`, mailsMax: 40, windowMs, message: INVITATIONS_OF },
    {
      subject: `invitations to ${email.toLowerCase()}`,
      mailsMax: 5,
      windowMs,
      message: INVITATIONS_TO,
    },
  ])
}

async function countAll({ db, clock }: RateParts, limits: readonly Limit[]): Promise<void> {
  const nowMs = clock.nowMs()
  await db.deleteFrom('mail_rates').where('ends_at_ms', '<=', nowMs).execute()
  for (const { subject, mailsMax, windowMs, message } of limits) {
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
    if (mails > mailsMax) {
      const retryAfterSeconds = Math.max(1, Math.ceil((endsAtMs - nowMs) / 1_000))
      throw new Problem('rate_limited', { message, retryAfterSeconds })
    }
  }
}
