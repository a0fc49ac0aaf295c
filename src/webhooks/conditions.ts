import type { ExpressionBuilder, Kysely, Transaction } from 'kysely'
import { isPostgres } from '../store/is-postgres.ts'
import type { Tables } from '../store/schema.ts'
import { WEBHOOK_CONDITIONS } from '../store/webhook-tables.ts'
import { HOUR_MS } from '../vocabulary/clock.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import { slicesOf } from '../vocabulary/slices.ts'
import type { WebhookEvent } from '../vocabulary/webhook-event.ts'
import { addMessages, withRoom } from './deliveries.ts'
import { eventsOf, keepWebhooks, listWebhooks } from './registry.ts'
import { subscribedMark } from './subjects.ts'

/** The condition of an event: something that holds from now on, until it is ended. */
export interface Raised {
  readonly subjectId: string
  /**
   * Stored with the time at which the condition was reported to a webhook: conditions with the same mark are reported an
   * hour apart, because customers can make them begin as often as they like. Absent: each is reported when it begins.
   */
  readonly mark?: string
  /** The latest time at which the condition began: webhooks that were made later are sent nothing. */
  readonly sinceMs: number
  /** Fields as the API names them: never a prompt, an answer or a key. */
  readonly fields: Readonly<Record<string, unknown>>
}

/** More would keep requests from writing for long. */
const RAISED_AT_ONCE = 50

interface RaiseInput {
  readonly db: Kysely<Tables>
  readonly ids: IdSource
  readonly nowMs: number
}

/**
 * Sends webhooks conditions of one event, each once for as long as it holds, also where several processes see it: the
 * messages are made in the transaction that notes the condition. A repeat does nothing.
 */
export async function raiseConditions(
  { db, ...input }: RaiseInput,
  { event, raised }: { readonly event: WebhookEvent; readonly raised: readonly Raised[] },
): Promise<void> {
  // In one order: processes that raise the same wait for each other's rows.
  const inOrder = raised.toSorted((a, b) => (a.subjectId < b.subjectId ? -1 : 1))
  for (const some of slicesOf(inOrder, RAISED_AT_ONCE)) {
    await db.transaction().execute(async (trx) => {
      const rows = await trx
        .insertInto('webhook_conditions')
        .values(
          some.map(({ subjectId, sinceMs }) =>
            WEBHOOK_CONDITIONS.record({ event, subjectId, sinceMs }),
          ),
        )
        .onConflict((conflict) => conflict.columns(['event', 'subject_id']).doNothing())
        .returning('subject_id as subjectId')
        .execute()
      const notedIds = new Set(rows.map(({ subjectId }) => subjectId))
      const noted = some.filter(({ subjectId }) => notedIds.has(subjectId))
      if (noted.length > 0) await report({ ...input, db: trx }, { event, noted })
    })
  }
}

/**
 * Makes the messages about conditions that were just noted, and writes their marks. Each statement is for all of
 * them: other processes wait for these rows until the end.
 */
async function report(
  { db: trx, ids, nowMs }: RaiseInput & { readonly db: Transaction<Tables> },
  { event, noted }: { readonly event: WebhookEvent; readonly noted: readonly Raised[] },
): Promise<void> {
  await keepWebhooks(trx)
  const subscribed = (await listWebhooks(trx)).filter(
    (webhook) => !webhook.disabled && eventsOf(webhook).includes(event),
  )
  const webhooks = await withRoom(trx, subscribed)
  const marked = await heldOf(trx, {
    event,
    subjectIds: webhooks.map(({ id }) => subscribedMark(id)),
  })
  const due = noted.flatMap((raised) => {
    // A time that is a little ahead is of a webhook that was made or enabled since `nowMs` was read.
    const isEarlier = (atMs: number) => atMs <= raised.sinceMs || isFarAhead({ atMs, nowMs })
    const receivers = webhooks.filter(
      ({ id, createdAtMs }) =>
        isEarlier(createdAtMs) && isEarlier(marked.get(subscribedMark(id)) ?? -Infinity),
    )
    return receivers.length === 0 ? [] : [{ ...raised, receivers }]
  })
  const marks = due.flatMap(({ mark }) => (mark === undefined ? [] : [mark]))
  const taken = await takeMarks(trx, { event, marks, nowMs })
  const reported = due.filter(({ mark }) => mark === undefined || taken.delete(mark))
  // One with the same mark has been reported: these are found again, and wait.
  const others = due.filter((each) => !reported.includes(each))
  await endConditions(trx, { event, subjectIds: others.map(({ subjectId }) => subjectId) })
  const messages = webhooks.flatMap((webhook) =>
    reported
      .filter(({ receivers }) => receivers.includes(webhook))
      .slice(0, webhook.room)
      .map(({ fields }) => ({ ids, nowMs, webhook, event, fields })),
  )
  await addMessages(trx, messages)
}

/** How long after a report the next one with the same mark waits. */
const APART_MS = HOUR_MS

/** Whether a time is of a clock that was wrong: it may be years until that time has come. */
export function isFarAhead({ atMs, nowMs }: Readonly<Record<'atMs' | 'nowMs', number>>): boolean {
  return atMs >= nowMs + APART_MS
}

/** Whether a mark of this time keeps conditions waiting. One that is far ahead is of a clock that was wrong. */
export function isRecentMark({
  reportedAtMs,
  nowMs,
}: Readonly<Record<'reportedAtMs' | 'nowMs', number>>): boolean {
  return Math.abs(nowMs - reportedAtMs) < APART_MS
}

/** Selects the rows whose mark is so old that it keeps nothing waiting any more. */
function isOldMark(nowMs: number) {
  return ({ eb, or }: ExpressionBuilder<Tables, 'webhook_conditions'>) =>
    or([
      eb('webhook_conditions.since_ms', '<=', nowMs - APART_MS),
      eb('webhook_conditions.since_ms', '>=', nowMs + APART_MS),
    ])
}

/** Writes a mark, whether there is one or not. */
export async function noteMark(
  db: Kysely<Tables>,
  {
    event,
    mark,
    nowMs,
  }: { readonly event: WebhookEvent; readonly mark: string; readonly nowMs: number },
): Promise<void> {
  await db
    .insertInto('webhook_conditions')
    .values(WEBHOOK_CONDITIONS.record({ event, subjectId: mark, sinceMs: nowMs }))
    .onConflict((conflict) =>
      conflict.columns(['event', 'subject_id']).doUpdateSet({ since_ms: nowMs }),
    )
    .execute()
}

interface Marks {
  readonly event: WebhookEvent
  readonly marks: readonly string[]
  readonly nowMs: number
}

/** Writes marks, and returns those that were written: the others keep conditions waiting. */
async function takeMarks(
  trx: Transaction<Tables>,
  { event, marks, nowMs }: Marks,
): Promise<Set<string>> {
  if (marks.length === 0) return new Set()
  // In one order, as above.
  const rows = [...new Set(marks)]
    .sort()
    .map((subjectId) => WEBHOOK_CONDITIONS.record({ event, subjectId, sinceMs: nowMs }))
  const taken = await trx
    .insertInto('webhook_conditions')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(['event', 'subject_id'])
        .doUpdateSet({ since_ms: nowMs })
        .where(isOldMark(nowMs)),
    )
    .returning('subject_id as mark')
    .execute()
  return new Set(taken.map(({ mark }) => mark))
}

/** Removes the marks among these that keep nothing waiting any more, but none that another process writes just now. */
export async function endMarks(db: Kysely<Tables>, { event, marks, nowMs }: Marks): Promise<void> {
  if (marks.length === 0) return
  await db
    .deleteFrom('webhook_conditions')
    .where('event', '=', event)
    .where('subject_id', 'in', unlockedOf(db, { event, subjectIds: marks }))
    .where(isOldMark(nowMs))
    .execute()
}

/**
 * Selects the ids among these whose rows no other process writes just now: two processes that delete and write the same rows, each
 * in another order, would wait for each other.
 */
function unlockedOf(
  db: Kysely<Tables>,
  { event, subjectIds }: { readonly event: WebhookEvent; readonly subjectIds: readonly string[] },
) {
  return ({ selectFrom }: ExpressionBuilder<Tables, 'webhook_conditions'>) =>
    selectFrom('webhook_conditions')
      .select('subject_id')
      .where('event', '=', event)
      .where('subject_id', 'in', subjectIds)
      .$if(isPostgres(db), (query) => query.forUpdate().skipLocked())
}

/** Notes since when conditions wait to be reported. A repeat does nothing. */
export async function noteWaits(
  db: Kysely<Tables>,
  {
    event,
    subjectIds,
    sinceMs,
  }: {
    readonly event: WebhookEvent
    readonly subjectIds: readonly string[]
    readonly sinceMs: number
  },
): Promise<void> {
  if (subjectIds.length === 0) return
  // In one order, as above.
  const rows = subjectIds
    .toSorted()
    .map((subjectId) => WEBHOOK_CONDITIONS.record({ event, subjectId, sinceMs }))
  await db
    .insertInto('webhook_conditions')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['event', 'subject_id']).doNothing())
    .execute()
}

/** Ends conditions: they are sent again once they hold again. One that another process writes just now is left. */
export async function endConditions(
  db: Kysely<Tables>,
  { event, subjectIds }: { readonly event: WebhookEvent; readonly subjectIds: readonly string[] },
): Promise<void> {
  if (subjectIds.length === 0) return
  await db
    .deleteFrom('webhook_conditions')
    .where('event', '=', event)
    .where('subject_id', 'in', unlockedOf(db, { event, subjectIds }))
    .execute()
}

/** The subjects among these that have a condition, a wait or a mark, with the time of each. */
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
