import { WEBHOOK_EVENTS } from '../vocabulary/webhook-event.ts'
import { flag, integer, oneOf, orNull, type RowOf, startsAs, Table, text } from './table.ts'

/** Addresses that events are sent to. */
export const WEBHOOKS = new Table('webhooks', {
  key: ['id'],
  fixed: {
    id: text,
    url: text,
    /** Names of {@link WEBHOOK_EVENTS}, comma-separated. */
    events: text,
    /** The secret that signs messages, `whsec_…`: it can't be a hash. */
    secret: text,
    disabled: startsAs(false, flag),
    created_at_ms: integer,
  },
})

/** An address that events are sent to, with its secret. */
export type WebhookRow = RowOf<typeof WEBHOOKS>

/**
 * Conditions that hold now and were reported, or held before the first webhook was made: they are reported again
 * only after they end.
 */
export const WEBHOOK_CONDITIONS = new Table('webhook_conditions', {
  key: ['event', 'subject_id'],
  fixed: {
    event: oneOf(WEBHOOK_EVENTS),
    /**
     * The ID of an account, key or request, the ID of a key with a period, the reference of the entry of a refund or
     * dispute, the name of an upstream, or `store`. With the ending "reported" it is a mark: `since_ms` is when the event
     * was last reported to a webhook. With "waiting" it is a condition that could not be reported at once: `since_ms` is
     * when it began. With "subscribed" it is a webhook: `since_ms` is when the webhook was enabled or given the event.
     */
    subject_id: text,
    since_ms: integer,
  },
})

const DELIVERY_STATES = ['waiting', 'delivered', 'failed'] as const

/** One row for each message to one webhook. */
export const WEBHOOK_DELIVERIES = new Table('webhook_deliveries', {
  key: ['id'],
  fixed: {
    /** The `webhook-id` of the message, the same in each attempt. */
    id: text,
    webhook_id: text,
    event: oneOf([...WEBHOOK_EVENTS, 'webhook.test']),
    /** The bytes that are sent. */
    body: text,
    state: oneOf(DELIVERY_STATES),
    /** The number of attempts that have ended. */
    attempts: startsAs(0, integer),
    next_attempt_at_ms: integer,
    /** While a process sends it: until then no other does. */
    leased_until_ms: startsAs(0, integer),
    /** The status of the latest attempt; null: there was no answer. */
    http_status: orNull(integer),
    /** Why the latest attempt failed; null: it did not. */
    failure: orNull(text),
    created_at_ms: integer,
    /** When it was delivered or given up. */
    ended_at_ms: orNull(integer),
  },
})

/** A message to one webhook. */
export type WebhookDeliveryRow = RowOf<typeof WEBHOOK_DELIVERIES>
