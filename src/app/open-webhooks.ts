import type { Store } from '../store/open-store.ts'
import type { Clock } from '../vocabulary/clock.ts'
import { Deliverer } from '../webhooks/deliverer.ts'
import { AddressRules, resolveByDns } from '../webhooks/target.ts'
import { Watcher } from '../webhooks/watcher.ts'
import type { Wiring } from './wiring.ts'

/** An upstream that has listed no models for so many refreshes is away. */
const REFRESHES_MISSED = 3

/** Looks for what is to be sent to webhooks, and sends it. `storeClock`: the same for all processes of the store. */
export function openWebhooks(
  { config, configured, log, ids, telemetry, closing }: Wiring,
  { store, storeClock: clock }: { readonly store: Store; readonly storeClock: Clock },
): Pick<Watcher, 'noticed'> {
  const { db } = store
  const watcher = new Watcher({
    db,
    ids,
    clock,
    upstreams: configured.upstreams.map(({ name }) => name),
    awayAfterMs: REFRESHES_MISSED * config.TOLLGATE_CATALOG_REFRESH_MS,
    onFailure: (cause) =>
      log.warn({ cause: String(cause) }, 'events for webhooks could not be looked for'),
  })
  const deliverer = new Deliverer({
    db,
    clock,
    rules: new AddressRules(config.TOLLGATE_WEBHOOK_NETWORKS),
    resolve: resolveByDns,
    random: Math.random,
    onAttempt: (event, outcome) => {
      log.debug({ event, outcome }, 'webhook')
      telemetry.webhookSent(event, outcome)
    },
    onFailure: (cause) =>
      log.warn({ cause: String(cause) }, 'messages to webhooks could not be read or recorded'),
  })
  closing.defer(() => deliverer.stop())
  closing.defer(() => watcher.stop())
  watcher.start()
  deliverer.start()
  return watcher
}
