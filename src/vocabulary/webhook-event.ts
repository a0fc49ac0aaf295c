/** Something that a webhook can report. */
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

/** Every event that a webhook can be for. */
export const WEBHOOK_EVENTS = [
  'balance.low',
  'key.limit_near',
  'request.unresolved',
  'purchase.reversed',
  'upstream.away',
  'audit.difference',
  'store.went_back',
] as const
