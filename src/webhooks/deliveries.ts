import type { Kysely } from 'kysely'
import { type ListPage, type Page, readPage } from '../store/list-page.ts'
import type { Tables } from '../store/schema.ts'
import {
  WEBHOOK_DELIVERIES,
  type WebhookDeliveryRow,
  type WebhookRow,
} from '../store/webhook-tables.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../vocabulary/clock.ts'
import { firstIdOf, type IdSource } from '../vocabulary/ids.ts'

const SECOND_MS = 1_000

/**
 * The least wait after each failed attempt: ten attempts in about 33 hours. After the last one the message has failed.
 * Each wait is up to a tenth longer by chance, so that a receiver that was away does not get all messages at once.
 */
export const RETRY_WAITS_MS: readonly number[] = [
  5 * SECOND_MS,
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  10 * HOUR_MS,
]

const LONGER_BY_MAX = 0.1

const LONGEST_WAIT_MS = Math.max(...RETRY_WAITS_MS) * (1 + LONGER_BY_MAX)

/** How long a message is kept, delivered or not. */
const KEPT_MS = 30 * DAY_MS

/** How long one process has for an attempt and its record: the deadline of an attempt, and room for a slow store. */
const LEASE_MS = 30 * SECOND_MS

/** Messages that wait for one receiver; more are dropped, so that a receiver that is away fills no disk. */
const WAITING_MAX = 10_000

interface NewMessage {
  readonly ids: IdSource
  readonly nowMs: number
  readonly webhook: Pick<WebhookRow, 'id'>
  readonly event: WebhookDeliveryRow['event']
  /** Fields as the API names them: never a prompt, an answer or a key. */
  readonly fields: Readonly<Record<string, unknown>>
}

/** Adds a message for a webhook. Null if too many wait for it. */
export async function addMessage(
  db: Kysely<Tables>,
  message: NewMessage,
): Promise<WebhookDeliveryRow | null> {
  const [webhook] = await withRoom(db, [message.webhook])
  if (webhook === undefined) return null
  const [row = null] = await addMessages(db, [message])
  return row
}

/** The webhooks among these for which not too many messages wait, each with how many more may wait. */
export async function withRoom<Webhook extends Pick<WebhookRow, 'id'>>(
  db: Kysely<Tables>,
  webhooks: readonly Webhook[],
): Promise<readonly (Webhook & { readonly room: number })[]> {
  if (webhooks.length === 0) return []
  const ids = webhooks.map(({ id }) => id)
  const rows = await db
    .selectFrom('webhook_deliveries')
    .select(({ fn }) => ['webhook_id', fn.countAll().as('messages')])
    .where('webhook_id', 'in', ids)
    .where('state', '=', 'waiting')
    .groupBy('webhook_id')
    .execute()
  const waiting = new Map(rows.map((row) => [row.webhook_id, Number(row.messages)]))
  return webhooks.flatMap((webhook) => {
    const room = WAITING_MAX - (waiting.get(webhook.id) ?? 0)
    return room > 0 ? [{ ...webhook, room }] : []
  })
}

/** Adds messages for webhooks, however many wait for these. */
export async function addMessages(
  db: Kysely<Tables>,
  messages: readonly NewMessage[],
): Promise<readonly WebhookDeliveryRow[]> {
  const rows = messages.map(
    ({ ids, nowMs, webhook, event, fields }): WebhookDeliveryRow => ({
      ...WEBHOOK_DELIVERIES.start,
      id: ids.next('msg'),
      webhookId: webhook.id,
      event,
      body: JSON.stringify({ type: event, timestamp: new Date(nowMs).toISOString(), data: fields }),
      state: 'waiting',
      nextAttemptAtMs: nowMs,
      createdAtMs: nowMs,
    }),
  )
  const records = rows.map((row) => WEBHOOK_DELIVERIES.record(row))
  if (rows.length > 0) await db.insertInto('webhook_deliveries').values(records).execute()
  return rows
}

/** A page of the messages to a webhook, newest first. */
export function listDeliveries(
  db: Kysely<Tables>,
  { webhookId, ...page }: Page & { readonly webhookId: string },
): Promise<ListPage<WebhookDeliveryRow>> {
  const query = db.selectFrom('webhook_deliveries').selectAll().where('webhook_id', '=', webhookId)
  return readPage(query, { ...page, read: WEBHOOK_DELIVERIES.read })
}

/** Since when messages to a webhook fail, and why the latest attempt at the newest of them did. */
export interface Failing {
  /** When the oldest message was created that was tried in vain since the newest delivered one. */
  readonly sinceMs: number
  readonly failure: string
}

/** Null: the newest message that was tried is delivered, or none was tried. */
export async function failingOf(db: Kysely<Tables>, webhookId: string): Promise<Failing | null> {
  const tried = db
    .selectFrom('webhook_deliveries')
    .select(['id', 'state', 'failure', 'created_at_ms'])
    .where('webhook_id', '=', webhookId)
    .where('attempts', '>', 0)
    .limit(1)
  const newest = await tried.orderBy('id', 'desc').executeTakeFirst()
  if (newest === undefined || newest.state === 'delivered') return null
  const delivered = await tried
    .where('state', '=', 'delivered')
    .orderBy('id', 'desc')
    .executeTakeFirst()
  const first = await tried
    .where('id', '>', delivered?.id ?? '')
    .orderBy('id')
    .executeTakeFirst()
  const { created_at_ms: sinceMs } = first ?? newest
  return { sinceMs, failure: newest.failure ?? 'not delivered' }
}

/** More than this process sends to one webhook at the same time, so that another process leaves it something. */
const CANDIDATES = 8

/**
 * Takes the most overdue message of a webhook, for the time of the lease: no other
 * process sends it meanwhile. Null: none is due.
 */
export async function takeMessage(
  db: Kysely<Tables>,
  { webhookId, nowMs }: { readonly webhookId: string; readonly nowMs: number },
): Promise<WebhookDeliveryRow | null> {
  const due = await db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('webhook_id', '=', webhookId)
    .where('state', '=', 'waiting')
    .where('next_attempt_at_ms', '<=', nowMs)
    .where('leased_until_ms', '<=', nowMs)
    .orderBy('next_attempt_at_ms')
    .limit(CANDIDATES)
    .execute()
  for (const { id } of due) {
    const taken = await db
      .updateTable('webhook_deliveries')
      .set({ leased_until_ms: nowMs + LEASE_MS })
      .where('id', '=', id)
      .where('state', '=', 'waiting')
      .where('next_attempt_at_ms', '<=', nowMs)
      .where('leased_until_ms', '<=', nowMs)
      .returningAll()
      .executeTakeFirst()
    if (taken !== undefined) return WEBHOOK_DELIVERIES.read(taken)
  }
  return null
}

/** How an attempt ended. */
export type AttemptEnd =
  | { readonly kind: 'answered'; readonly httpStatus: number }
  | { readonly kind: 'failed'; readonly failure: string }

/** Whether a message was delivered, is tried again or has failed. */
export type DeliveryOutcome = 'delivered' | 'retried' | 'failed'

/** Records the end of an attempt, unless another process has taken the message since. */
export async function recordAttempt(
  db: Kysely<Tables>,
  {
    message,
    end,
    nowMs,
    chance,
  }: {
    readonly message: WebhookDeliveryRow
    readonly end: AttemptEnd
    readonly nowMs: number
    /** From 0 to below 1: how much longer than the least wait the next attempt waits. */
    readonly chance: number
  },
): Promise<DeliveryOutcome> {
  const attempts = message.attempts + 1
  const httpStatus = end.kind === 'answered' ? end.httpStatus : null
  const isDelivered = httpStatus !== null && httpStatus >= 200 && httpStatus < 300
  // 410: the receiver wants no further messages.
  const waitMs = isDelivered || httpStatus === 410 ? undefined : RETRY_WAITS_MS[attempts - 1]
  const outcome = isDelivered ? 'delivered' : waitMs === undefined ? 'failed' : 'retried'
  const failure =
    end.kind === 'failed' ? end.failure : isDelivered ? null : `answered with ${end.httpStatus}`
  await db
    .updateTable('webhook_deliveries')
    .set({
      attempts,
      state: outcome === 'retried' ? 'waiting' : outcome,
      next_attempt_at_ms: nowMs + Math.floor((waitMs ?? 0) * (1 + LONGER_BY_MAX * chance)),
      leased_until_ms: 0,
      http_status: httpStatus,
      failure,
      ended_at_ms: outcome === 'retried' ? null : nowMs,
    })
    .where('id', '=', message.id)
    .where('leased_until_ms', '=', message.leasedUntilMs)
    .execute()
  if (httpStatus === 410) {
    await db
      .updateTable('webhooks')
      .set({ disabled: 1 })
      .where('id', '=', message.webhookId)
      .execute()
  }
  return outcome
}

/** Gives back a message that was taken and not sent. */
export async function giveBack(db: Kysely<Tables>, message: WebhookDeliveryRow): Promise<void> {
  await db
    .updateTable('webhook_deliveries')
    .set({ leased_until_ms: 0 })
    .where('id', '=', message.id)
    .where('leased_until_ms', '=', message.leasedUntilMs)
    .execute()
}

/** Makes messages due that wait longer than any retry does: their times are of a clock that was far ahead. */
export async function endWaitsOfWrongClock(db: Kysely<Tables>, nowMs: number): Promise<void> {
  await db
    .updateTable('webhook_deliveries')
    .set({ next_attempt_at_ms: nowMs, leased_until_ms: 0 })
    .where('webhook_id', 'in', ({ selectFrom }) => selectFrom('webhooks').select('id'))
    .where('state', '=', 'waiting')
    .where('next_attempt_at_ms', '>', nowMs + LONGEST_WAIT_MS)
    .execute()
}

const PRUNED_MAX = 500

/** Removes a number of messages that are too old to be kept; ids sort by their age. */
export async function pruneDeliveries(db: Kysely<Tables>, nowMs: number): Promise<void> {
  await db
    .deleteFrom('webhook_deliveries')
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom('webhook_deliveries')
        .select('id')
        .where('id', '<', firstIdOf({ prefix: 'msg', timeMs: nowMs - KEPT_MS }))
        .orderBy('id')
        .limit(PRUNED_MAX),
    )
    .execute()
}
