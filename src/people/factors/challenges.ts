import type { Kysely } from 'kysely'
import type { Tables } from '../../store/schema.ts'

/** How long a device has to sign what it is asked to. */
const CHALLENGE_MS = 5 * 60_000

interface OfSession {
  readonly sessionId: string
  readonly nowMs: number
}

/** Keeps the challenge that a passkey must sign in a session, in place of an earlier one. */
export async function keepChallenge(
  db: Kysely<Tables>,
  { sessionId, challenge, nowMs }: OfSession & { readonly challenge: string },
): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ challenge, challenge_at_ms: nowMs })
    .where('id', '=', sessionId)
    .execute()
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
