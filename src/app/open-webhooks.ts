import { AlertPost } from '../alerts/alert-post.ts'
import { Alerts } from '../alerts/alerts.ts'
import { MailServer } from '../mail/mail-server.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../vocabulary/clock.ts'
import { Deliverer } from '../webhooks/deliverer.ts'
import { AddressRules, resolveByDns } from '../webhooks/target.ts'
import { Watcher } from '../webhooks/watcher.ts'
import { pageUrlOf } from './config.ts'
import { mailSettingsOf } from './settings/mail-settings.ts'
import { running, type Wiring, warning } from './wiring.ts'

/** An upstream that has listed no models for so many refreshes is away. */
const REFRESHES_MISSED = 3

/**
 * Finds events for webhooks and alerts for owners of accounts, and sends them. `storeClock`: the same for all
 * processes of the store.
 */
export function openWebhooks(
  { config, configured, log, ids, telemetry, closing }: Wiring,
  { store, storeClock: clock }: { readonly store: Store; readonly storeClock: Clock },
): Pick<Watcher, 'noticed'> {
  const { db } = store
  const settings = mailSettingsOf(config)
  const hasPage = config.TOLLGATE_PAGE === 'on'
  const alerts = new Alerts({ db, ids, clock, mails: settings !== null })
  const watcher = new Watcher({
    db,
    ids,
    clock,
    upstreams: configured.upstreams.map(({ name }) => name),
    awayAfterMs: REFRESHES_MISSED * config.TOLLGATE_CATALOG_REFRESH_MS,
    // Only the page has users. Without a mail server alerts are noted too, so that emails begin with later ones.
    onPass: hasPage ? (looked) => alerts.look(looked) : null,
    onFailure: warning(log, 'the conditions of webhooks and alerts could not be checked'),
  })
  if (settings !== null && hasPage) {
    const post = new AlertPost({
      db,
      clock,
      server: new MailServer(settings),
      pageUrl: () => pageUrlOf(config),
      onGivenUp: (reason) => log.warn({ reason }, 'an email of an alert could not be sent'),
      onFailure: warning(log, 'emails of alerts could not be read or recorded'),
    })
    running({ closing }, post)
  }
  const deliverer = new Deliverer({
    db,
    clock,
    rules: new AddressRules(config.TOLLGATE_WEBHOOK_NETWORKS),
    resolve: resolveByDns,
    random: Math.random,
    onAttempt: (event, outcome) => {
      log.debug({ event, outcome }, 'webhook')
      telemetry.metrics?.webhookSent(event, outcome)
    },
    onFailure: warning(log, 'messages to webhooks could not be read or recorded'),
  })
  running({ closing }, deliverer)
  return running({ closing }, watcher)
}
