import type { Kysely } from 'kysely'
import type { Tables } from '../../store/schema.ts'

/** The messages of webhooks so far, oldest first: events with their data. */
export async function toldSoFar(db: Kysely<Tables>) {
  const rows = await db
    .selectFrom('webhook_deliveries')
    .select(['event', 'body'])
    .orderBy('id')
    .execute()
  return rows.map(({ event, body }) => [event, JSON.parse(body).data])
}
