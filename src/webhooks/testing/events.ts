import type { Kysely } from 'kysely'
import type { Tables } from '../../store/schema.ts'

/** The messages so far, of one webhook or all, oldest first: events with their data. */
export async function eventsSoFar(db: Kysely<Tables>, webhookId?: string) {
  const rows = await db
    .selectFrom('webhook_deliveries')
    .select(['event', 'body'])
    .$if(webhookId !== undefined, (query) => query.where('webhook_id', '=', webhookId ?? ''))
    .orderBy('id')
    .execute()
  return rows.map(({ event, body }) => [event, JSON.parse(body).data])
}
