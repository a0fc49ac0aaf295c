import type { StoreBench } from '../../ledger/testing/store-bench.ts'
import type { DbWithIds } from '../../store/store.ts'
import type { WebhookRow } from '../../store/webhook-tables.ts'
import { MINUTE_MS } from '../../vocabulary/clock.ts'
import { WEBHOOK_EVENTS, type WebhookEvent } from '../../vocabulary/webhook-event.ts'
import { changeWebhook, createWebhook, eventsOf, getWebhook } from '../registry.ts'
import { noteConditions, Watcher } from '../watcher.ts'

/** How long an upstream may list no models before the watchers of tests find it away. */
export const AWAY_AFTER_MS = 15 * MINUTE_MS

/** The watcher of a process that starts now. What fails in it, its caller throws. */
export function watcherOf(
  { db, ids, clock }: DbWithIds,
  upstreams: readonly string[] = [],
): Watcher {
  const onFailure = (cause: unknown) => {
    throw cause
  }
  const given = { upstreams, awayAfterMs: AWAY_AFTER_MS, onPass: null, onFailure }
  return new Watcher({ db, ids, clock, ...given })
}

/** Creates a webhook, as the operation does. */
export async function makeWebhook(
  bench: StoreBench,
  events: readonly WebhookEvent[] = WEBHOOK_EVENTS,
): Promise<WebhookRow> {
  await noteConditions(bench, events, null)
  return createWebhook(bench, { url: 'https://receiver.example/', events, by: null })
}

/** Changes a webhook, as the operation does. */
export async function change(
  bench: StoreBench,
  webhookId: string,
  changed: { readonly events?: readonly WebhookEvent[]; readonly disabled?: boolean },
): Promise<void> {
  const webhook = await getWebhook(bench.db, webhookId)
  if (webhook === null) throw new Error(`no webhook ${webhookId}`)
  const begins = changed.events ?? (changed.disabled === false ? eventsOf(webhook) : [])
  await noteConditions(bench, begins, webhook)
  await changeWebhook(bench, { webhookId, ...changed, by: null })
}
