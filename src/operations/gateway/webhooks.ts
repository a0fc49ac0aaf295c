import { z } from 'zod'
import { recordAction } from '../../ledger/operator-actions.ts'
import type { WebhookDeliveryRow, WebhookRow } from '../../store/webhook-tables.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { TEXT_CHARS_MAX } from '../../vocabulary/text-chars.ts'
import { WEBHOOK_EVENTS } from '../../vocabulary/webhook-event.ts'
import { addMessage, type Failing, failingOf, listDeliveries } from '../../webhooks/deliveries.ts'
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  eventsOf,
  getWebhook,
  keepWebhooks,
  listWebhooks,
} from '../../webhooks/registry.ts'
import { AddressRules, urlFault } from '../../webhooks/target.ts'
import { noteConditions } from '../../webhooks/watcher.ts'
import { hasOnly } from '../check-input.ts'
import {
  idCursor,
  idField,
  listAnswer,
  listShape,
  pageQuery,
  timeAnswer,
  timeField,
  timeOrNull,
} from '../fields.ts'
import { notFound } from '../not-found.ts'
import { operation, readsFor } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { staffPaths } from '../paths.ts'

/** Addresses that events are sent to. */
export function webhookOperations(parts: OperationParts) {
  return [create(parts), list(parts), change(parts), remove(parts), test(parts), deliveries(parts)]
}

function urlField({ webhookNetworks }: Pick<OperationParts, 'webhookNetworks'>) {
  return z
    .string()
    .max(TEXT_CHARS_MAX.webhookUrl, `must be at most ${TEXT_CHARS_MAX.webhookUrl} characters`)
    .transform((text, checked) => {
      const fault = urlFault(text, new AddressRules(webhookNetworks))
      if (fault === null) return new URL(text).href
      checked.addIssue({ code: 'custom', message: fault })
      return z.NEVER
    })
    .describe('The address that messages are posted to, `https://…`.')
}

const eventsField = z
  .array(z.enum(WEBHOOK_EVENTS))
  .min(1, 'must name at least one event')
  .max(WEBHOOK_EVENTS.length, 'must name each event once')
  .describe('The events that are sent to the webhook.')

function create(parts: OperationParts) {
  const { store, ids, clock } = parts
  return operation({
    name: 'createWebhook',
    method: 'POST',
    scope: 'everything',
    paths: staffPaths('webhooks'),
    summary:
      'Create a webhook. The secret that signs its messages is returned only in this answer.',
    body: z.strictObject({
      url: urlField(parts),
      events: eventsField
        .default([...WEBHOOK_EVENTS])
        .describe('The events that are sent to the webhook. Default: all.'),
    }),
    example: { url: 'https://example.org/tollgate', events: ['balance.low'] },
    answers: { 201: createdWebhookShape },
    async run({ by, body: { url, events } }) {
      await noteConditions({ db: store.db, ids, clock }, events, null)
      const webhook = await createWebhook({ db: store.db, ids, clock }, { url, events, by })
      return { ...webhookAnswer(webhook, null), secret: webhook.secret }
    },
  })
}

function list({ store }: OperationParts) {
  return operation({
    name: 'listWebhooks',
    method: 'GET',
    // An address may be a secret of its receiver.
    scope: 'everything',
    paths: staffPaths('webhooks'),
    summary: 'All webhooks, oldest first, without their secrets.',
    answers: { 200: listShape(webhookShape) },
    async run({ reader, caller }) {
      const db = readsFor({ caller, reader }, store)
      const answers: z.infer<typeof webhookShape>[] = []
      for (const webhook of await listWebhooks(db)) {
        answers.push(webhookAnswer(webhook, await failingOf(db, webhook.id)))
      }
      return listAnswer(answers, null)
    },
  })
}

function change(parts: OperationParts) {
  const { store, ids, clock } = parts
  return operation({
    name: 'changeWebhook',
    method: 'PATCH',
    scope: 'everything',
    paths: staffPaths('webhooks/{webhook_id}'),
    summary: 'Change the given fields of a webhook. A disabled webhook gets no messages.',
    body: z.strictObject({
      url: urlField(parts).optional(),
      events: eventsField.optional(),
      disabled: z
        .boolean()
        .optional()
        .describe('Whether the webhook gets no messages until it is enabled again.'),
    }),
    example: { disabled: false },
    isHarmless: ({ disabled, ...rest }) => disabled !== false && hasOnly(rest, []),
    answers: { 200: webhookShape },
    problems: ['not_found'],
    takesAccess: true,
    async run({ by, param, body }) {
      const webhookId = param('webhook_id')
      // Conditions that began while the webhook was off, or did not have these events, are not sent.
      const webhook = await getWebhook(store.db, webhookId)
      if (webhook === null) throw notFound('webhook', webhookId)
      const begins = body.events ?? (body.disabled === false ? eventsOf(webhook) : [])
      await noteConditions({ db: store.db, ids, clock }, begins, webhook)
      const changed = await changeWebhook({ db: store.db, clock }, { webhookId, ...body, by })
      if (changed === null) throw notFound('webhook', webhookId)
      return webhookAnswer(changed, await failingOf(store.db, webhookId))
    },
  })
}

function remove({ store, clock }: OperationParts) {
  return operation({
    name: 'deleteWebhook',
    method: 'DELETE',
    scope: 'everything',
    paths: staffPaths('webhooks/{webhook_id}'),
    summary: 'Delete a webhook and all its messages, sent or not.',
    isHarmless: true,
    answers: { 200: deletedWebhookShape },
    problems: ['not_found'],
    takesAccess: true,
    async run({ by, param }) {
      const webhookId = param('webhook_id')
      const url = await deleteWebhook({ db: store.db, clock }, { webhookId, by })
      if (url === null) throw notFound('webhook', webhookId)
      return { id: webhookId, object: 'webhook', url, deleted: true }
    },
  })
}

function test({ store, ids, clock }: OperationParts) {
  return operation({
    name: 'testWebhook',
    method: 'POST',
    scope: 'everything',
    paths: staffPaths('webhooks/{webhook_id}/test'),
    summary:
      'Send the message `webhook.test` to a webhook. A running server delivers it like any other message.',
    isHarmless: true,
    answers: { 202: deliveryShape },
    problems: ['not_found', 'service_unavailable'],
    async run({ by, param }) {
      const webhookId = param('webhook_id')
      const nowMs = clock.nowMs()
      const fields = { webhook_id: webhookId }
      const added = await store.db.transaction().execute(async (trx) => {
        await keepWebhooks(trx)
        const webhook = await getWebhook(trx, webhookId)
        if (webhook === null) throw notFound('webhook', webhookId)
        const message = { ids, nowMs, webhook, event: 'webhook.test', fields } as const
        await recordAction(trx, { by, targetId: webhookId, detail: {}, nowMs })
        return addMessage(trx, message)
      })
      if (added === null) {
        throw new Problem('service_unavailable', {
          message:
            'Too many messages are waiting for this webhook. Try again once some of them have been delivered.',
        })
      }
      return deliveryAnswer(added)
    },
  })
}

function deliveries({ store }: OperationParts) {
  return operation({
    name: 'listDeliveries',
    method: 'GET',
    scope: 'read',
    paths: staffPaths('webhooks/{webhook_id}/deliveries'),
    summary: 'The messages to a webhook in the last 30 days, newest first.',
    query: pageQuery('deliveries', {}),
    answers: { 200: listShape(deliveryShape) },
    problems: ['not_found'],
    async run({ reader, caller, param, query: { limit, cursor } }) {
      const webhookId = param('webhook_id')
      const db = readsFor({ caller, reader }, store)
      if ((await getWebhook(db, webhookId)) === null) throw notFound('webhook', webhookId)
      const page = await listDeliveries(db, { webhookId, limit, cursor })
      return listAnswer(page.rows.map(deliveryAnswer), idCursor('deliveries', page.nextCursor))
    },
  })
}

/** A webhook, never with its secret. */
export const webhookShape = z
  .object({
    id: idField('hook'),
    object: z.literal('webhook'),
    url: z.string(),
    events: z.array(z.enum(WEBHOOK_EVENTS)),
    disabled: z
      .boolean()
      .describe(
        'Whether the webhook gets no messages, because an admin disabled it or it answered 410.',
      ),
    failing: z
      .object({
        since: timeField.describe(
          'When the oldest message was created that could not be delivered since the last delivery.',
        ),
        failure: z.string().describe('Why the latest attempt at the newest of them failed.'),
      })
      .nullable()
      .describe(
        'The failure of its messages; null: the newest message that was tried is delivered, or none was tried.',
      ),
    created_at: timeField,
  })
  .meta({ id: 'Webhook' })

/** A webhook that has just been made: the only answer with its secret. */
export const createdWebhookShape = webhookShape
  .extend({
    secret: z
      .string()
      .describe('The secret that signs its messages, `whsec_…`. It is not returned again.'),
  })
  .meta({ id: 'CreatedWebhook' })

/** A webhook that was deleted. */
export const deletedWebhookShape = z.object({
  id: idField('hook'),
  object: z.literal('webhook'),
  url: z.string().describe('The address that it had.'),
  deleted: z.literal(true),
})

/** A message to a webhook. */
export const deliveryShape = z
  .object({
    id: z.string().describe('The `webhook-id` of the message, `msg_…`.'),
    object: z.literal('webhook_delivery'),
    event: z.string(),
    state: z
      .enum(['waiting', 'delivered', 'failed'])
      .describe(
        '`waiting`: it is sent at `next_attempt_at`. `delivered`: the address answered 2xx. `failed`: there is no further attempt.',
      ),
    attempts: z.int().describe('The number of attempts so far.'),
    http_status: z
      .int()
      .nullable()
      .describe('The HTTP status of the answer to the latest attempt; null: there was no answer.'),
    failure: z
      .string()
      .nullable()
      .describe('Why the latest attempt failed; null: it did not, or there was none.'),
    created_at: timeField,
    next_attempt_at: timeField
      .nullable()
      .describe('When the next attempt is due; null: there is none.'),
    ended_at: timeField
      .nullable()
      .describe('When the message was delivered or failed; null: it is waiting.'),
  })
  .meta({ id: 'WebhookDelivery' })

function webhookAnswer(row: WebhookRow, failing: Failing | null): z.infer<typeof webhookShape> {
  return {
    id: row.id,
    object: 'webhook',
    url: row.url,
    events: [...eventsOf(row)],
    disabled: row.disabled,
    failing: failing && { since: timeAnswer(failing.sinceMs), failure: failing.failure },
    created_at: timeAnswer(row.createdAtMs),
  }
}

function deliveryAnswer(row: WebhookDeliveryRow): z.infer<typeof deliveryShape> {
  return {
    id: row.id,
    object: 'webhook_delivery',
    event: row.event,
    state: row.state,
    attempts: row.attempts,
    http_status: row.httpStatus,
    failure: row.failure,
    created_at: timeAnswer(row.createdAtMs),
    next_attempt_at: row.state === 'waiting' ? timeAnswer(row.nextAttemptAtMs) : null,
    ended_at: timeOrNull(row.endedAtMs),
  }
}
