import type { EndedRequest, Inference } from '../http/inference.ts'
import { CLIENT_LEFT } from '../journey/client-answer.ts'
import { Authenticator } from '../journey/gate/authenticator.ts'
import { createByteBudget } from '../journey/gate/byte-budget.ts'
import { ClientAddresses } from '../journey/gate/client-address.ts'
import { Gate } from '../journey/gate/gate.ts'
import { ThreadShare } from '../journey/gate/thread-share.ts'
import { UnknownCallers } from '../journey/gate/unknown-callers.ts'
import type { JourneyParts } from '../journey/journey-parts.ts'
import { type HeldSettle, Settler } from '../journey/settle/settler.ts'
import { TokenFactors } from '../journey/settle/usage-charge.ts'
import { openAccountTagger } from '../ledger/accounts.ts'
import { hasPostedCredit } from '../ledger/activity/balance.ts'
import { ForgottenHolds } from '../ledger/instances/forgotten-holds.ts'
import { whileAlive } from '../ledger/instances/open-instance.ts'
import type { Settled } from '../ledger/ledger.ts'
import type { BilledLate } from '../reconcile/reconciler.ts'
import { unsettledAfter } from '../reconcile/schedule.ts'
import { Passes } from '../store/passes.ts'
import { sqlStateOf } from '../store/postgres/postgres-failure.ts'
import { CommandImpossible } from '../store/store-failure.ts'
import { RefusalCounter } from '../usage/refusals.ts'
import type { Arrival } from '../vocabulary/call.ts'
import { formatDecimal } from '../vocabulary/money.ts'
import { openHttp } from './open-http.ts'
import { BILLED_LATE, type Reconcilers } from './open-reconcilers.ts'
import type { ServedStore } from './open-served-store.ts'
import { showGauges } from './open-telemetry.ts'
import type { ServingParts } from './serving-parts.ts'
import { publicNamesOf } from './settings/name-settings.ts'
import { running, type Wiring, warning } from './wiring.ts'

/** Opens everything between a client's socket and the ledger, and listens. */
export async function openServing(wiring: Wiring, served: ServingParts) {
  const { config, clock } = wiring
  const { catalog, upstreams, verification, reconcilers } = served
  let stoppingSinceMs = 0
  const leftToDrainMs = (): number =>
    config.TOLLGATE_DRAIN_TIMEOUT_MS - (performance.now() - stoppingSinceMs)
  const settler = openSettler(wiring, { ...served, leftToDrainMs })
  const addressOf = openAddresses(wiring)
  const unknownCallers = new UnknownCallers({
    clock,
    addressOf,
    requestsPerMinuteMax: config.TOLLGATE_UNKNOWN_KEYS_PER_MINUTE,
  })
  const authenticator = openAuthenticator(wiring, { ...served, unknownCallers })
  const journeyParts: JourneyParts = {
    ...(await openCallers(wiring, served)),
    formats: wiring.formats,
    authenticate: (arrival) => authenticator.authenticate(arrival),
    hasPostedCredit: (accountId) =>
      hasPostedCredit(served.store.db, { accountId, nowMs: served.storeClock.nowMs() }),
    offerFor: (...named) => catalog.offerFor(...named),
    holdOffer: (offer) => upstreams.get(offer.upstream)?.endpoints?.holdOffer(offer) ?? offer,
    ledger: whileAlive(served.ledger, served.isAlive),
    takeVerdicts: () => served.ledger.takeVerdicts(),
    settler,
    tokenFactors: new TokenFactors(),
    costStands: (claim) => verification.policy.stands(claim),
    fieldRefused: noteRefusedFields(wiring),
    ownCapRefused: noteRefusedCaps(wiring),
    upstreams: new Map([...upstreams].map(([name, { upstream }]) => [name, upstream])),
    clock,
    publicNames: publicNamesOf(config),
    instanceId: served.instanceId,
    answerBytesMax: config.TOLLGATE_ANSWER_BYTES_MAX,
    eventBytesMax: config.TOLLGATE_EVENT_BYTES_MAX,
  }
  // Opened first, and closed last: then all requests have been answered.
  const refusals = openRefusals(wiring, served)
  const { address, inference, checks } = await openHttp(wiring, {
    ...served,
    journeyParts,
    refusals,
    authenticator,
    unknownCallers,
    addressOf,
  })
  const forgottenHolds = openForgottenHolds(wiring, { ...served, settler, inference, reconcilers })
  // The part that is opened last is closed first.
  wiring.closing.defer(() => {
    stoppingSinceMs = performance.now()
  })
  showGauges(wiring, { ...served, inference, byteBudget: journeyParts.byteBudget, checks })
  return {
    address,
    forgottenHolds,
    refusals,
    /** Resolves when no request is in flight and no settle is running. */
    async settled(): Promise<void> {
      await inference.idle()
      await settler.drained()
    },
  }
}

const REFUSED_FIELDS_MAX = 100

/** Logs the first refusal of each field at each upstream since the start, with the setting that lets it pass. */
function noteRefusedFields({ log }: Wiring): JourneyParts['fieldRefused'] {
  const noted = new Set<string>()
  return (upstream, { name, canBeVouched }) => {
    const refusal = `${upstream} ${name}`
    if (name === null || noted.has(refusal) || noted.size >= REFUSED_FIELDS_MAX) return
    noted.add(refusal)
    const advice = canBeVouched
      ? { advice: `\`allow_fields: [${name}]\` of the upstream lets it pass.` }
      : {}
    log.warn({ upstream, field: name, ...advice }, 'field refused')
  }
}

const REFUSED_CAPS_MAX = 100

/** Warns, once for each model, that its longest answer is listed too large. */
function noteRefusedCaps({ log }: Wiring): JourneyParts['ownCapRefused'] {
  const noted = new Set<string>()
  return ({ upstream, modelId, tokens }) => {
    if (noted.has(modelId) || noted.size >= REFUSED_CAPS_MAX) return
    noted.add(modelId)
    const advice =
      'Either `max_output` of the model is too large, as listed or as written for the upstream: write a lower one. Or the model takes its cap in another field: name that field in `parameters` (docs/upstreams.md).'
    log.warn(
      { upstream, modelId, tokens, advice },
      'a provider refused the output cap that the gateway set',
    )
  }
}

/**
 * Counts the requests of known API keys that are refused before their holds open. The counts are written to the store
 * every few seconds and when the part is closed.
 */
function openRefusals({ log, closing }: Wiring, { store, storeClock: clock }: ServedStore) {
  const counter = new RefusalCounter({
    db: store.db,
    clock,
    onUncounted: (requests) =>
      log.warn({ requests }, 'requests of too many API keys were refused: some are not counted'),
    onFailure: warning(log, 'refused requests could not be counted in the store'),
  })
  running({ closing }, counter)
  return {
    requestEnded({ problem, record: { accountId, apiKeyId, holdMicros } }: EndedRequest): void {
      // A client that has left was not answered.
      if (problem === null || holdMicros !== null || problem.httpStatus === CLIENT_LEFT) return
      // Without a known key, the request is of no account.
      if (accountId === null || apiKeyId === null) return
      counter.count({ accountId, apiKeyId, code: problem.code })
    },
    /** Adds the counts to the store now. Rejects if the store fails. */
    write: () => counter.write(),
  }
}

const READ_CHANGES_MS = 1_000

function openAuthenticator(
  { config, log, closing }: Wiring,
  { store, storeClock, unknownCallers }: ServedStore & { readonly unknownCallers: UnknownCallers },
): Authenticator {
  const authenticator = new Authenticator({
    db: store.db,
    // It is the ledger's clock, so that a key expires at once for both, on all gateways.
    clock: storeClock,
    unknownCallers,
    keyTag: config.TOLLGATE_KEY_TAG,
  })
  const readings = new Passes({
    intervalMs: READ_CHANGES_MS,
    pass: () => authenticator.readChanges(),
    onFailure: warning(
      log,
      'changes of keys could not be read from the store and will be read again',
    ),
  })
  running({ closing }, readings)
  return authenticator
}

// Charges of answers that were cut off at the end of the drain timeout get this time as well. A supervisor kills the
// process a minute after that timeout.
const SETTLES_WAIT_MS_MIN = 30_000

function openSettler(
  { config, log, telemetry, closing }: Wiring,
  {
    ledger,
    storeClock,
    reconcilers,
    leftToDrainMs,
  }: ServingParts & { readonly leftToDrainMs: () => number },
): Settler {
  const settler = new Settler({
    ledger,
    waitMs: config.TOLLGATE_SETTLE_WAIT_MS,
    onFailure(requestId, cause) {
      const words =
        cause instanceof CommandImpossible
          ? 'a charge cannot be stored: reconciliation settles its request'
          : 'a charge could not be stored and will be tried again'
      log.error({ requestId, cause: String(cause), sqlState: sqlStateOf(cause) }, words)
    },
    onSettled: (settled, input) => {
      const unsettled = unsettledAfter(settled, { input, nowMs: storeClock.nowMs() })
      if (unsettled !== null) reconcilers.noticed(unsettled, input.upstream)
      const billed = billedLateBy(input, settled)
      if (billed === null) return
      log.warn({ ...billed, costUsd: formatDecimal(billed.costUsd) }, BILLED_LATE)
      telemetry.metrics?.billedLate(billed)
    },
  })
  closing.defer(async () => {
    const requestIds = await settler.stop(Math.max(leftToDrainMs(), SETTLES_WAIT_MS_MIN))
    if (requestIds.length === 0) return
    const words =
      'charges could not be stored before the stop: their requests are unresolved at the next start'
    log.error({ requestIds }, words)
  })
  return settler
}

/**
 * The cost in a settle whose hold was released before it came, as when this process stood still for longer than the
 * others wait; null: there is none, or it is an estimate.
 */
function billedLateBy({ requestId, resolution }: HeldSettle, settled: Settled): BilledLate | null {
  if (settled.settledNow || settled.state !== 'released' || !('costUsd' in resolution)) return null
  const { costUsd } = resolution
  return costUsd === null || costUsd.digits === 0n ? null : { requestId, costUsd }
}

function openForgottenHolds(
  { log, closing }: Wiring,
  {
    store,
    ledger,
    instanceId,
    settler,
    inference,
    reconcilers,
  }: ServedStore & {
    readonly settler: Settler
    readonly inference: Inference
    readonly reconcilers: Pick<Reconcilers, 'scanNow'>
  },
): ForgottenHolds {
  const holds = new ForgottenHolds({
    db: store.db,
    ledger,
    instanceId,
    // A part forgets a hold only after another part has taken it over, or its end is durable.
    isKnown: (requestId) =>
      inference.isUnderWay(requestId) || ledger.isUnsure(requestId) || settler.isPending(requestId),
    onAbandoned: (swept) => {
      log.error({ swept }, 'orphaned holds of this process are unresolved now')
      reconcilers.scanNow()
    },
    onFailure: warning(log, 'open holds could not be checked for orphans'),
  })
  return running({ closing }, holds)
}

/** Finds the address by which a client is counted. */
function openAddresses({ config, log, telemetry }: Wiring): (arrival: Arrival) => string {
  const addresses = new ClientAddresses({
    trustedProxies: config.TOLLGATE_TRUSTED_PROXIES,
    ipv6PrefixBits: config.TOLLGATE_IPV6_PREFIX_BITS,
    onUnnamedProxy(peerAddress) {
      log.warn(
        `${peerAddress} sends x-forwarded-for and is not in TOLLGATE_TRUSTED_PROXIES: all its clients count as one`,
      )
      telemetry.readiness.warnOfProxy()
    },
  })
  return (arrival) => addresses.of(arrival)
}

/** The limits of each caller on this thread. */
async function openCallers(
  { config }: Wiring,
  { store, storeClock }: ServedStore,
): Promise<
  Pick<JourneyParts, 'accountTag' | 'gate' | 'byteBudget' | 'threadShare' | 'inflateShare'>
> {
  const gate = new Gate({
    // It is the ledger's clock, so that both count requests of the same seconds.
    clock: storeClock,
    settings: {
      inFlightMax: config.TOLLGATE_REQUESTS_IN_FLIGHT,
      requestsPerMinuteMax: config.TOLLGATE_REQUESTS_PER_MINUTE,
      unbackedRequestsPerMinuteMax: config.TOLLGATE_REQUESTS_PER_MINUTE_UNBACKED,
    },
  })
  const byteBudget = createByteBudget({ bytesMax: config.TOLLGATE_BUFFER_BYTES_MAX })
  const threadShare = new ThreadShare()
  const inflateShare = new ThreadShare()
  const accountTag = await openAccountTagger(store.db)
  return { accountTag, gate, byteBudget, threadShare, inflateShare }
}
