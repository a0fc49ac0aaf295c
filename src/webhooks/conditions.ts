import type { Kysely } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { WEBHOOK_CONDITIONS } from '../store/webhook-tables.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import type { WebhookEvent } from '../vocabulary/webhook-event.ts'
import { addMessage } from './deliveries.ts'
import { eventsOf, listWebhooks } from './registry.ts'

/** Something that holds from now on, until it is ended. */
export interface Raised {
  readonly event: WebhookEvent
  readonly subjectId: string
  /**
   * Stored with the time at which the condition was reported: conditions with the same mark are reported an hour apart,
   * because customers can make them begin as often as they like. Absent: each is reported when it begins.
   */
  readonly mark?: string
  /** The latest time at which the condition began: webhooks that were made later are sent nothing. */
  readonly sinceMs: number
  /** Fields as the API names them: never a prompt, an answer or a key. */
  readonly fields: Readonly<Record<string, unknown>>
}

/** More would keep requests from writing for long. */
const RAISED_AT_ONCE = 50

/**
 * Sends webhooks conditions, each once for as long as it holds, also where several processes see it: the messages
 * are made in the transaction that notes the condition. A repeat does nothing.
 */
export async function raiseConditions(
  {
    db,
    ids,
    nowMs,
  }: { readonly db: Kysely<Tables>; readonly ids: IdSource; readonly nowMs: number },
  raised: readonly Raised[],
): Promise<void> {
  // In one order: processes that raise the same wait for each other's rows.
  const inOrder = raised.toSorted((a, b) => (a.subjectId < b.subjectId ? -1 : 1))
  for (let from = 0; from < inOrder.length; from += RAISED_AT_ONCE) {
    const some = inOrder.slice(from, from + RAISED_AT_ONCE)
    await db.transaction().execute(async (trx) => {
      const noted = await trx
        .insertInto('webhook_conditions')
        .values(
          some.map(({ event, subjectId, sinceMs }) =>
            WEBHOOK_CONDITIONS.record({ event, subjectId, sinceMs }),
          ),
        )
        .onConflict((conflict) => conflict.columns(['event', 'subject_id']).doNothing())
        .returning('subject_id as subjectId')
        .execute()
      if (noted.length === 0) return
      const notedIds = new Set(noted.map(({ subjectId }) => subjectId))
      for (const { event, subjectId, mark } of some) {
        if (mark === undefined || !notedIds.has(subjectId)) continue
        const marked = WEBHOOK_CONDITIONS.record({ event, subjectId: mark, sinceMs: nowMs })
        await trx
          .insertInto('webhook_conditions')
          .values(marked)
          .onConflict((conflict) =>
            conflict.columns(['event', 'subject_id']).doUpdateSet({ since_ms: nowMs }),
          )
          .execute()
      }
      const webhooks = (await listWebhooks(trx)).filter(({ disabled }) => !disabled)
      for (const { event, subjectId, sinceMs, fields } of some) {
        if (!notedIds.has(subjectId)) continue
        for (const webhook of webhooks) {
          const isSubscribed = webhook.createdAtMs <= sinceMs && eventsOf(webhook).includes(event)
          if (isSubscribed) await addMessage(trx, { ids, nowMs, webhook, event, fields })
        }
      }
    })
  }
}

/** Ends conditions: they are sent again once they hold again. */
export async function endConditions(
  db: Kysely<Tables>,
  { event, subjectIds }: { readonly event: WebhookEvent; readonly subjectIds: readonly string[] },
): Promise<void> {
  if (subjectIds.length === 0) return
  await db
    .deleteFrom('webhook_conditions')
    .where('event', '=', event)
    .where('subject_id', 'in', subjectIds)
    .execute()
}

/** The subjects among these that have a condition, or are marks, with the time of each. */
export async function heldOf(
  db: Kysely<Tables>,
  { event, subjectIds }: { readonly event: WebhookEvent; readonly subjectIds: readonly string[] },
): Promise<ReadonlyMap<string, number>> {
  if (subjectIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('webhook_conditions')
    .select(['subject_id', 'since_ms'])
    .where('event', '=', event)
    .where('subject_id', 'in', subjectIds)
    .execute()
  return new Map(rows.map((row) => [row.subject_id, Number(row.since_ms)]))
}

/** A page of the subjects of an event's conditions, in the order of their ids, behind `after`. */
export async function subjectsOf(
  db: Kysely<Tables>,
  {
    event,
    after,
    limit,
  }: { readonly event: WebhookEvent; readonly after: string; readonly limit: number },
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('webhook_conditions')
    .select('subject_id')
    .where('event', '=', event)
    .where('subject_id', '>', after)
    .orderBy('subject_id')
    .limit(limit)
    .execute()
  return rows.map((row) => row.subject_id)
}
