import { randomBytes } from 'node:crypto'
import { type Kysely, sql, type Transaction } from 'kysely'
import { type OperatorAction, recordAction } from '../ledger/operator-actions.ts'
import { isPostgres } from '../store/is-postgres.ts'
import type { Tables } from '../store/schema.ts'
import type { DbWithClock, DbWithIds } from '../store/store.ts'
import { WEBHOOKS, type WebhookRow } from '../store/webhook-tables.ts'
import { Problem } from '../vocabulary/problem.ts'
import { WEBHOOK_EVENTS, type WebhookEvent } from '../vocabulary/webhook-event.ts'

/** More than an operator has receivers. Each has connections of its own. */
const WEBHOOKS_MAX = 20

const SECRET_BYTES = 32

/** Makes a webhook, with a secret of its own. Throws Problem `invalid_parameter` if there are too many. */
export function createWebhook(
  { db, ids, clock }: DbWithIds,
  {
    url,
    events,
    by,
  }: {
    readonly url: string
    readonly events: readonly WebhookEvent[]
    readonly by: OperatorAction | null
  },
): Promise<WebhookRow> {
  const nowMs = clock.nowMs()
  const webhook: WebhookRow = {
    ...WEBHOOKS.start,
    id: ids.next('hook'),
    url,
    events: namesOf(events),
    secret: `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`,
    createdAtMs: nowMs,
  }
  return db.transaction().execute(async (trx) => {
    const known = await trx.selectFrom('webhooks').select('id').limit(WEBHOOKS_MAX).execute()
    if (known.length === WEBHOOKS_MAX) {
      const message = `There are ${WEBHOOKS_MAX} webhooks already. Delete one first.`
      throw new Problem('invalid_parameter', { message })
    }
    await trx.insertInto('webhooks').values(WEBHOOKS.record(webhook)).execute()
    const detail = { host: new URL(url).host, events: webhook.events }
    await recordAction(trx, { by, targetId: webhook.id, detail, nowMs })
    return webhook
  })
}

/** Every webhook, the oldest first. */
export async function listWebhooks(db: Kysely<Tables>): Promise<readonly WebhookRow[]> {
  return WEBHOOKS.readAll(db.selectFrom('webhooks').selectAll().orderBy('id'))
}

/** Null if there is no such webhook. */
export async function getWebhook(
  db: Kysely<Tables>,
  webhookId: string,
): Promise<WebhookRow | null> {
  return WEBHOOKS.readOne(db.selectFrom('webhooks').selectAll().where('id', '=', webhookId))
}

interface WebhookChange {
  readonly webhookId: string
  readonly url?: string | undefined
  readonly events?: readonly WebhookEvent[] | undefined
  readonly disabled?: boolean | undefined
  readonly by: OperatorAction | null
}

/** Changes the given fields. Null if there is no such webhook. */
export function changeWebhook(
  { db, clock }: DbWithClock,
  { webhookId, url, events, disabled, by }: WebhookChange,
): Promise<WebhookRow | null> {
  return db.transaction().execute(async (trx) => {
    const row = await trx
      .updateTable('webhooks')
      .set(({ ref }) => ({
        url: url ?? ref('url'),
        events: events === undefined ? ref('events') : namesOf(events),
        disabled: disabled === undefined ? ref('disabled') : Number(disabled),
      }))
      .where('id', '=', webhookId)
      .returningAll()
      .executeTakeFirst()
    if (row === undefined) return null
    const detail = {
      ...(url === undefined ? {} : { host: new URL(url).host }),
      ...(events === undefined ? {} : { events: namesOf(events) }),
      ...(disabled === undefined ? {} : { disabled }),
    }
    await recordAction(trx, { by, targetId: webhookId, detail, nowMs: clock.nowMs() })
    return WEBHOOKS.read(row)
  })
}

/** Deletes a webhook and all messages to it, sent or not, and returns its address. Null if there is no such webhook. */
export function deleteWebhook(
  { db, clock }: DbWithClock,
  { webhookId, by }: Pick<WebhookChange, 'webhookId' | 'by'>,
): Promise<string | null> {
  return db.transaction().execute(async (trx) => {
    if (isPostgres(trx)) {
      // Messages that are being made now are waited for, and no others follow.
      await sql`select id from webhooks where id = ${webhookId} for update`.execute(trx)
    }
    await trx.deleteFrom('webhook_deliveries').where('webhook_id', '=', webhookId).execute()
    const deleted = await trx
      .deleteFrom('webhooks')
      .where('id', '=', webhookId)
      .returning('url')
      .executeTakeFirst()
    if (deleted === undefined) return null
    await recordAction(trx, { by, targetId: webhookId, detail: {}, nowMs: clock.nowMs() })
    return deleted.url
  })
}

/**
 * Until this transaction ends, no webhook is deleted; deletions that have begun are waited for. SQLite runs one transaction
 * at a time.
 */
export async function keepWebhooks(trx: Transaction<Tables>): Promise<void> {
  if (isPostgres(trx)) await sql`select id from webhooks for key share`.execute(trx)
}

/** The events that a webhook is for. */
export function eventsOf({ events }: Pick<WebhookRow, 'events'>): readonly WebhookEvent[] {
  const names = events.split(',')
  return WEBHOOK_EVENTS.filter((event) => names.includes(event))
}

function namesOf(events: readonly WebhookEvent[]): string {
  return WEBHOOK_EVENTS.filter((event) => events.includes(event)).join()
}
