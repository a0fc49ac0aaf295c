import { AlertPost } from '../alerts/alert-post.ts'
import { Alerts } from '../alerts/alerts.ts'
import { ActivityPruner } from '../ledger/activity/activity-pruner.ts'
import { LapsedCredit } from '../ledger/lapsed-credit.ts'
import { MailServer } from '../mail/mail-server.ts'
import { type IdHours, UsageRoller } from '../usage/usage-roller.ts'
import { Deliverer } from '../webhooks/deliverer.ts'
import { AddressRules, resolveByDns } from '../webhooks/target.ts'
import { Watcher } from '../webhooks/watcher.ts'
import { pageUrlOf } from './config.ts'
import type { ServedStore } from './open-served-store.ts'
import { chainSettingsOf } from './settings/chain-settings.ts'
import { mailSettingsOf } from './settings/mail-settings.ts'
import { running, type Wiring, warning } from './wiring.ts'

interface UpkeepInput extends ServedStore {
  /** The clock of the ids of requests. */
  readonly idHours: IdHours
}

/** Rolls requests up, posts the expiry of free credit and, where the operator says how old, removes old requests from Activity. */
export function openUpkeep(wiring: Wiring, input: UpkeepInput): void {
  const pruner = openActivityPruner(wiring, input)
  openUsageRoller(wiring, { ...input, onRolled: () => pruner?.wake() })
  const { store, ledger, storeClock: clock } = input
  const onFailure = warning(
    wiring.log,
    'the expiry of free credit could not be posted and will be tried again',
  )
  running(wiring, new LapsedCredit({ store, ledger, clock, onFailure }))
}

function openUsageRoller(
  { log, closing }: Wiring,
  { store, storeClock: clock, idHours, onRolled }: UpkeepInput & { readonly onRolled: () => void },
): void {
  const roller = new UsageRoller({
    store,
    clock,
    takeIdHours: () => idHours.take(),
    readBusyShare: createBusyShare(),
    onRolled: (hours) => {
      log.debug({ hours }, 'requests rolled up for charts')
      onRolled()
    },
    onLate: (hour) =>
      log.warn({ hour }, 'a clock was set back: an hour that was rolled up is rolled up again'),
    onFailure: warning(log, 'requests could not be rolled up and will be tried again'),
  })
  running({ closing }, roller)
}

/** Reads in which share of the time since the last call the main thread was busy. */
function createBusyShare(): () => number {
  let last = performance.eventLoopUtilization()
  return () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    return utilization
  }
}

/** Null: requests are kept for ever. */
function openActivityPruner(
  { config, log, closing }: Wiring,
  { store, storeClock: clock }: ServedStore,
): ActivityPruner | null {
  const keepDays = config.TOLLGATE_ACTIVITY_DAYS
  if (keepDays === null) return null
  const pruner = new ActivityPruner({
    store,
    clock,
    keepDays,
    onPruned: (requests) => log.info({ requests, keepDays }, 'requests pruned from Activity'),
    onFailure: warning(log, 'Activity could not be pruned and will be tried again'),
  })
  return running({ closing }, pruner)
}

/** An upstream that has listed no models for so many refreshes is away. */
const REFRESHES_MISSED = 3

/** Finds events for webhooks and alerts for owners of accounts, and sends them. */
export function openWebhooks(
  { config, configured, log, ids, telemetry, closing }: Wiring,
  { store, storeClock: clock }: ServedStore,
): Pick<Watcher, 'noticed'> {
  const { db } = store
  const settings = mailSettingsOf(config)
  const hasPage = config.TOLLGATE_PAGE === 'on'
  const tokens = chainSettingsOf(config)?.chain.tokens ?? []
  const tokenDecimals = new Map(tokens.map(({ method, decimals }) => [method, decimals]))
  const alerts = new Alerts({ db, ids, clock, mails: settings !== null, tokenDecimals })
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
