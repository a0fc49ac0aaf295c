import { randomFillSync } from 'node:crypto'
import type { Logger } from 'pino'
import { Catalog } from './catalog/catalog.ts'
import {
  type CatalogRefresher,
  createCatalogRefresher,
  type RefreshOutcome,
} from './catalog/catalog-refresher.ts'
import { createCatalogStore } from './catalog/catalog-store.ts'
import { type Config, catalogSettingsOf, storeUrlOf, wordsOf } from './config.ts'
import type { Inference } from './http/inference.ts'
import { openAccountTagger } from './identity/account-tag.ts'
import { Authenticator } from './identity/authenticator.ts'
import type { JourneyParts } from './journey/journey.ts'
import { ActivityPruner } from './ledger/activity-pruner.ts'
import type { BatchedLedger } from './ledger/batched-ledger.ts'
import { ForgottenHolds } from './ledger/forgotten-holds.ts'
import { listUnsettled } from './ledger/list-unsettled.ts'
import { openInstance } from './ledger/open-instance.ts'
import { openLedger } from './ledger/open-ledger.ts'
import { whileAlive } from './ledger/while-alive.ts'
import { createByteBudget } from './limits/byte-budget.ts'
import { createGate } from './limits/gate.ts'
import { openHttp } from './open-http.ts'
import { openTelemetry } from './open-telemetry.ts'
import { createReconciler, type Reconciler } from './reconcile/reconciler.ts'
import { unsettledAfter } from './reconcile/unsettled-after.ts'
import { Settler } from './settle/settler.ts'
import { readinessChecks, showGauges } from './show-gauges.ts'
import { parseDatabaseUrl } from './store/database-url.ts'
import { openStore, type Store } from './store/open-store.ts'
import { acquireServeLock } from './store/serve-lock.ts'
import { claimUpstream } from './store/settings.ts'
import { fetchImageEndpoints, fetchModels } from './upstream/catalog-pages.ts'
import { fetchGeneration } from './upstream/generation.ts'
import { Upstream } from './upstream/upstream.ts'
import { type Clock, systemClock } from './vocabulary/clock.ts'
import { createIdSource, type IdSource } from './vocabulary/ids.ts'
import type { UpstreamAddress, Wiring } from './wiring.ts'

export interface StartGatewayInput {
  readonly config: Config
  readonly upstream: UpstreamAddress
  readonly log: Logger
  /** Default the system's. */
  readonly clock?: Clock
}

/** A serving gateway. */
export interface Gateway {
  /** Where clients reach it: `http://127.0.0.1:8787`. */
  readonly address: string
  /** Where metrics are on a port of their own; null: they are not. */
  readonly metricsAddress: string | null
  readonly store: Store
  readonly ledger: BatchedLedger
  readonly ids: IdSource
  readonly refresher: CatalogRefresher
  readonly forgottenHolds: ForgottenHolds
  /** Resolves when no request is in flight and no settle under way. */
  settled(): Promise<void>
  /** Takes no new requests, lets those in flight end within the drain timeout, and closes everything. */
  close(): Promise<void>
}

/**
 * Wires the whole gateway by hand and starts it: each part's opening is followed by its closing, and
 * they close in reverse. Throws what a part throws on opening; what was open by then is closed.
 */
export async function startGateway(input: StartGatewayInput): Promise<Gateway> {
  const closing = new AsyncDisposableStack()
  try {
    return await open(input, closing)
  } catch (error) {
    await closing.disposeAsync()
    throw error
  }
}

async function open(
  { config, upstream: address, log, clock = systemClock }: StartGatewayInput,
  closing: AsyncDisposableStack,
): Promise<Gateway> {
  const ids = createIdSource({ clock, fillRandom: (bytes) => randomFillSync(bytes) })
  const looksOn = await openTelemetry({ config, address, log, clock, ids, closing })
  const { telemetry, metricsAddress } = looksOn
  const wiring: Wiring = { config, address, log, clock, ids, telemetry, closing }
  const books = await openBooks(wiring)
  const upstream = openUpstream(wiring)
  const { catalog, refresher } = await openCatalog(wiring, { store: books.store, upstream })
  openActivityPruner(wiring, books.store)
  const reconciler = openReconciler(wiring, { ...books, upstream })
  const settler = openSettler(wiring, { ...books, reconciler })
  const authenticator = new Authenticator({
    db: books.store.db,
    clock,
    keyTag: config.TOLLGATE_KEY_TAG,
  })
  const parts: JourneyParts = {
    ...(await openCallers(wiring, { ...books, authenticator })),
    offerFor: (modelName) => catalog.offerFor(modelName),
    ledger: whileAlive(books.ledger, books.isAlive),
    settler,
    upstream,
    clock,
    words: wordsOf(config),
    instanceId: books.instanceId,
    timeouts: {
      headersTimeoutMs: config.TOLLGATE_HEADERS_TIMEOUT_MS,
      stallTimeoutMs: config.TOLLGATE_BODY_STALL_TIMEOUT_MS,
      totalTimeoutMs: config.TOLLGATE_TOTAL_TIMEOUT_MS,
      imageTimeoutMs: config.TOLLGATE_IMAGE_TIMEOUT_MS,
    },
    answerBytesMax: config.TOLLGATE_ANSWER_BYTES_MAX,
    eventBytesMax: config.TOLLGATE_EVENT_BYTES_MAX,
  }
  const { address: servedAt, inference } = await openHttp(wiring, {
    ...books,
    parts,
    authenticator,
    catalog,
    refresher,
    upstream,
    metricsRoute: looksOn.metricsRoute,
    readiness: (isDraining) => readinessChecks(looksOn, { books, catalog, isDraining }),
  })
  showGauges(wiring, { looksOn, books, parts, catalog, reconciler, inference })
  const forgottenHolds = openForgottenHolds(wiring, { ...books, settler, inference })
  return {
    address: servedAt,
    metricsAddress,
    store: books.store,
    ledger: books.ledger,
    ids,
    refresher,
    forgottenHolds,
    async settled() {
      await inference.idle()
      await settler.drained()
    },
    close: () => closing.disposeAsync(),
  }
}

interface ServedBooks {
  readonly store: Store
  readonly ledger: BatchedLedger
  readonly instanceId: string
  readonly isAlive: () => boolean
  /** The time that is in the store's rows. */
  readonly storeClock: Clock
}

async function openBooks(wiring: Wiring): Promise<ServedBooks> {
  const { config, address, clock, ids, log, telemetry, closing } = wiring
  const url = storeUrlOf(config)
  // Before anything is migrated or swept: nobody else may be serving from this store.
  const location = parseDatabaseUrl(url)
  if (location.kind === 'sqlite') {
    const lock = acquireServeLock(location.file)
    closing.defer(() => lock.release())
  }
  const store = await openStore({ url, clock, migrateStore: 'always' })
  closing.defer(() => store.close())
  await claimUpstream(store.db, sourceOf(address))
  const ledger = openLedger({
    location,
    clock,
    limits: {
      openHoldsMax: config.TOLLGATE_REQUESTS_IN_FLIGHT,
      keyRequestsPerMinuteMax: config.TOLLGATE_REQUESTS_PER_MINUTE,
      unbackedAccountRequestsPerMinuteMax: config.TOLLGATE_REQUESTS_PER_MINUTE_UNBACKED,
    },
    onCommit: (report) => telemetry.committed(report),
  })
  closing.defer(() => ledger.close())
  const instanceId = ids.next('inst')
  const instance = await openInstance({
    store,
    ledger,
    instanceId,
    clock,
    onSwept: (swept) =>
      log.warn({ swept }, 'requests of a dead process were in flight: unresolved'),
    onBeat: () => telemetry.heartbeatStored(),
    onFailure: (cause) => {
      log.error({ cause: String(cause) }, 'the heartbeat could not be stored')
      telemetry.heartbeatFailed()
    },
  })
  closing.defer(() => instance.close())
  return { store, ledger, instanceId, isAlive: () => instance.isAlive(), storeClock: instance }
}

function openUpstream({ config, address, closing }: Wiring): Upstream {
  const upstream = new Upstream({
    baseUrl: address.baseUrl,
    apiKey: address.apiKey,
    connectTimeoutMs: config.TOLLGATE_CONNECT_TIMEOUT_MS,
  })
  closing.defer(() => upstream.destroy())
  return upstream
}

async function openCatalog(
  { config, address, log, clock, telemetry, closing }: Wiring,
  { store, upstream }: { readonly store: Store; readonly upstream: Upstream },
): Promise<{ readonly catalog: Catalog; readonly refresher: CatalogRefresher }> {
  const settings = catalogSettingsOf(config)
  const catalog = new Catalog({ clock, settings })
  const refresher = createCatalogRefresher({
    catalog,
    store: createCatalogStore(store.db),
    source: sourceOf(address),
    clock,
    settings,
    fetchModels: () => fetchModels(upstream),
    fetchImageEndpoints: (modelId) => fetchImageEndpoints(upstream, modelId),
    onRefreshed: (outcome) => {
      logRefresh(log, outcome)
      telemetry.catalogRefreshed(outcome)
    },
  })
  await refresher.load()
  closing.defer(() => refresher.stop())
  await refresher.refreshNow()
  refresher.start()
  return { catalog, refresher }
}

/** Removes old requests from Activity, where the operator says how old. */
function openActivityPruner({ config, log, clock, closing }: Wiring, store: Store): void {
  const keepDays = config.TOLLGATE_ACTIVITY_DAYS
  if (keepDays === null) return
  const pruner = new ActivityPruner({
    store,
    clock,
    keepDays,
    onPruned: (requests) => log.info({ requests, keepDays }, 'requests pruned from Activity'),
    onFailure: (cause) =>
      log.warn({ cause: String(cause) }, 'Activity could not be pruned; it is tried again'),
  })
  closing.defer(() => pruner.stop())
  pruner.start()
}

/** Opened before the settler that tells it of each settle, and so closed after its last. */
function openReconciler(
  { config, log, telemetry, closing }: Wiring,
  { store, ledger, storeClock, upstream }: ServedBooks & { readonly upstream: Upstream },
): Reconciler {
  const reconciler = createReconciler({
    listUnsettled: (page) => listUnsettled(store.reports, page),
    books: ledger,
    fetchGeneration: (input) => fetchGeneration(upstream, input),
    // When an attempt ended is in the store: how long ago that is, is told by the same clock.
    clock: storeClock,
    settings: {
      settleAfterMs: config.TOLLGATE_SETTLE_AFTER_MS,
      settleAfterNoLookupMs: config.TOLLGATE_SETTLE_AFTER_NO_LOOKUP_MS,
      lookupsInFlightMax: config.TOLLGATE_LOOKUPS_IN_FLIGHT,
    },
    onSettled: (settlement) => {
      const { requestId, correction, corrected } = settlement
      log.debug({ requestId, by: correction.kind, ...corrected }, 'request reconciled')
      telemetry.reconciled(settlement)
    },
    onFailure: (failure) => {
      const { of, requestId, cause } = failure
      log.warn({ of, requestId, cause: String(cause) }, 'a request could not be reconciled yet')
      telemetry.reconcileFailed(failure)
    },
  })
  closing.defer(() => reconciler.stop())
  reconciler.start()
  return reconciler
}

function openSettler(
  { config, log, closing }: Wiring,
  { ledger, storeClock, reconciler }: ServedBooks & { readonly reconciler: Reconciler },
): Settler {
  const settler = new Settler({
    ledger,
    waitMs: config.TOLLGATE_SETTLE_WAIT_MS,
    onFailure: (requestId, cause) =>
      log.error({ requestId, cause: String(cause) }, 'a charge could not be stored yet'),
    onSettled: (settled, input) => {
      const unsettled = unsettledAfter(settled, { input, nowMs: storeClock.nowMs() })
      if (unsettled !== null) reconciler.noticed(unsettled)
    },
  })
  closing.defer(() => settler.drained())
  return settler
}

function openForgottenHolds(
  { log, closing }: Wiring,
  {
    store,
    ledger,
    instanceId,
    settler,
    inference,
  }: ServedBooks & { readonly settler: Settler; readonly inference: Inference },
): ForgottenHolds {
  const holds = new ForgottenHolds({
    db: store.db,
    books: ledger,
    instanceId,
    // Whoever has a hold forgets it only once another has it, or its end is durable.
    isKnown: (requestId) =>
      inference.isUnderWay(requestId) || ledger.isUnsure(requestId) || settler.isPending(requestId),
    onSwept: (swept) => log.error({ swept }, 'holds of this process were forgotten: unresolved'),
    onFailure: (cause) => log.warn({ cause: String(cause) }, 'open holds could not be looked at'),
  })
  closing.defer(() => holds.close())
  holds.start()
  return holds
}

/** Who calls, and how much of this process each may take. */
async function openCallers(
  { config }: Wiring,
  { store, storeClock, authenticator }: ServedBooks & { readonly authenticator: Authenticator },
): Promise<Pick<JourneyParts, 'authenticate' | 'accountTag' | 'gate' | 'byteBudget'>> {
  const gate = createGate({
    // Its seconds are then those of the ledger's windows.
    clock: storeClock,
    settings: {
      inFlightMax: config.TOLLGATE_REQUESTS_IN_FLIGHT,
      requestsPerMinuteMax: config.TOLLGATE_REQUESTS_PER_MINUTE,
      unbackedRequestsPerMinuteMax: config.TOLLGATE_REQUESTS_PER_MINUTE_UNBACKED,
    },
  })
  return {
    authenticate: (headers) => authenticator.authenticate(headers),
    accountTag: await openAccountTagger(store.db),
    gate,
    byteBudget: createByteBudget({ bytesMax: config.TOLLGATE_BUFFER_BYTES_MAX }),
  }
}

/** Whose money and whose models: what a store is marked with. */
function sourceOf({ mode, baseUrl }: UpstreamAddress): string {
  return mode === 'simulator' ? 'simulator' : baseUrl
}

function logRefresh(log: Logger, outcome: RefreshOutcome): void {
  if (outcome.kind === 'failed') {
    log.error({ cause: String(outcome.cause) }, 'the catalog could not be refreshed')
    return
  }
  const { models, skipped, doubtedIds, storeFailure } = outcome
  log.info({ models, skipped: skipped.length, doubtedIds }, 'catalog refreshed')
  if (storeFailure !== null) {
    log.error({ cause: String(storeFailure) }, 'the refreshed catalog could not be stored')
  }
}
