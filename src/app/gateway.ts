import { randomFillSync } from 'node:crypto'
import type { Logger } from 'pino'
import { Catalog } from '../catalog/catalog.ts'
import {
  type CatalogRefresher,
  createCatalogRefresher,
  type RefreshOutcome,
} from '../catalog/catalog-refresher.ts'
import { createCatalogStore } from '../catalog/catalog-store.ts'
import type { EndpointPrices } from '../catalog/endpoint-prices.ts'
import type { WireFormat } from '../formats/format.ts'
import { FORMATS } from '../formats/formats.ts'
import { createByteBudget } from '../journey/gate/byte-budget.ts'
import { ActivityPruner } from '../ledger/activity/activity-pruner.ts'
import { listUnsettled } from '../ledger/activity/list-unsettled.ts'
import type { BatchedLedger } from '../ledger/engines/batched-ledger.ts'
import type { ForgottenHolds } from '../ledger/instances/forgotten-holds.ts'
import { createReconciler, type Reconciler } from '../reconcile/reconciler.ts'
import type { Store } from '../store/open-store.ts'
import { openrouter } from '../upstreams/openrouter/openrouter.ts'
import type { Dialect, Upstream } from '../upstreams/upstream.ts'
import { type Clock, systemClock } from '../vocabulary/clock.ts'
import { createIdSource, type IdSource } from '../vocabulary/ids.ts'
import { formatDecimal } from '../vocabulary/money.ts'
import { type Config, catalogSettingsOf } from './config.ts'
import { openBooks, type ServedBooks } from './open-books.ts'
import { openServing } from './open-serving.ts'
import { type OpenTelemetry, openTelemetry } from './open-telemetry.ts'
import { openEndpointPrices, openUpstream } from './open-upstream.ts'
import { type OpenWorkers, openWorkers } from './open-workers.ts'
import { readinessChecks, showGauges } from './show-gauges.ts'
import { sourceOf, type UpstreamAddress, type Wiring } from './wiring.ts'

export interface StartGatewayInput {
  readonly config: Config
  /** Default {@link FORMATS}. Worker threads have those in any case. */
  readonly formats?: readonly WireFormat[]
  /** Default {@link openrouter}; worker threads speak that in any case. */
  readonly dialect?: Dialect
  readonly upstream: UpstreamAddress
  readonly log: Logger
  /** Takes whole lines that the logs of worker threads have made. */
  readonly writeLog: (lines: string) => void
  /** Default the system's, by which worker threads go in any case. */
  readonly clock?: Clock
  /** The file that each worker thread runs. Default the program's own. */
  readonly workerEntry?: URL
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
  readonly forgottenHolds: Pick<ForgottenHolds, 'look'>
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

async function open(input: StartGatewayInput, closing: AsyncDisposableStack): Promise<Gateway> {
  const { config, formats = FORMATS, dialect = openrouter, log, clock = systemClock } = input
  const { upstream: address } = input
  const ids = createIdSource({ clock, fillRandom: (bytes) => randomFillSync(bytes) })
  const beside: Beside = { workers: null, reconciler: null }
  const looksOn = await openTelemetry(
    { config, formats, dialect, address, log, clock, ids, closing },
    { thread: 'main', renderAll: (own) => beside.workers?.renderMetrics(own) ?? own.render() },
  )
  const { telemetry, metricsAddress } = looksOn
  const wiring: Wiring = { config, formats, dialect, address, log, clock, ids, telemetry, closing }
  const books = await openBooks(wiring, { onSwept: () => beside.reconciler?.sweepNow() })
  const upstream = openUpstream(wiring)
  const endpoints = openEndpointPrices(wiring, upstream)
  const { catalog, refresher } = await openCatalog(wiring, {
    store: books.store,
    upstream,
    endpoints,
    onReplaced: () => void beside.workers?.catalogRefreshed(),
  })
  openActivityPruner(wiring, books.store)
  const reconciler = openReconciler(wiring, { ...books, upstream })
  beside.reconciler = reconciler
  const parts = { looksOn, books, upstream, catalog, endpoints, refresher, reconciler }
  const served =
    config.WORKERS === 1
      ? await serveHere(wiring, parts)
      : await serveByWorkers(wiring, { ...parts, input, beside })
  const { store, ledger } = books
  return {
    ...served,
    metricsAddress,
    store,
    ledger,
    ids,
    refresher,
    close: () => closing.disposeAsync(),
  }
}

/** What is there only later than those who tell it something. */
interface Beside {
  /** The threads that serve beside this one; null until they do, or where this one serves alone. */
  workers: OpenWorkers | null
  /** Null until it is open: it begins with all that was left before. */
  reconciler: Reconciler | null
}

interface GatewayParts {
  readonly looksOn: OpenTelemetry
  readonly books: ServedBooks
  readonly upstream: Upstream
  readonly catalog: Catalog
  readonly endpoints: EndpointPrices
  readonly refresher: CatalogRefresher
  readonly reconciler: Reconciler
}

type Served = Pick<Gateway, 'address' | 'forgottenHolds' | 'settled'>

/** This thread does all there is to do. */
async function serveHere(wiring: Wiring, parts: GatewayParts): Promise<Served> {
  const { looksOn, books, upstream, catalog, endpoints, refresher, reconciler } = parts
  const byteBudget = createByteBudget({ bytesMax: wiring.config.TOLLGATE_BUFFER_BYTES_MAX })
  const serving = await openServing(wiring, {
    books,
    catalog,
    endpoints,
    upstream,
    byteBudget,
    onUnsettled: (request) => reconciler.noticed(request),
    onSwept: () => reconciler.sweepNow(),
    refreshCatalog: () => refresher.refreshNow(),
    // No other thread has anything to be told.
    onCallersChanged: async () => {},
    onMaintenanceTurned: async () => {},
    metricsRoute: looksOn.metricsRoute,
    readiness: (isDraining) => readinessChecks(looksOn, { books, catalog, isDraining }),
  })
  const { address, inference, forgottenHolds } = serving
  showGauges(wiring, { looksOn, books, catalog, serving: { inference, byteBudget }, reconciler })
  return { address, forgottenHolds, settled: () => serving.settled() }
}

/** Worker threads serve; this one does what is to be done once, and what they ask of it. */
async function serveByWorkers(
  wiring: Wiring,
  {
    input: { writeLog, workerEntry },
    beside,
    ...parts
  }: GatewayParts & { readonly input: StartGatewayInput; readonly beside: Beside },
): Promise<Served> {
  showGauges(wiring, { ...parts, serving: null })
  const workers = await openWorkers(wiring, {
    ...parts,
    writeLog,
    ...(workerEntry === undefined ? {} : { workerEntry }),
  })
  beside.workers = workers
  // What was refreshed while they started.
  await workers.catalogRefreshed()
  return {
    address: workers.address,
    forgottenHolds: { look: () => workers.lookForForgotten() },
    settled: () => workers.settled(),
  }
}

async function openCatalog(
  { config, address, log, clock, telemetry, closing }: Wiring,
  {
    store,
    upstream,
    endpoints,
    onReplaced,
  }: Pick<GatewayParts, 'upstream' | 'endpoints'> & {
    readonly store: Store
    readonly onReplaced: () => void
  },
): Promise<{ readonly catalog: Catalog; readonly refresher: CatalogRefresher }> {
  const settings = catalogSettingsOf(config)
  const catalog = new Catalog({ clock, settings })
  const refresher = createCatalogRefresher({
    catalog,
    store: createCatalogStore(store.db),
    source: sourceOf(address),
    clock,
    settings,
    fetchModels: () => upstream.dialect.fetchModels(upstream),
    fetchImageEndpoints: (modelId) => upstream.dialect.fetchImageEndpoints(upstream, modelId),
    endpoints,
    onRefreshed: (outcome) => {
      logRefresh(log, outcome)
      telemetry.catalogRefreshed(outcome)
      if (outcome.kind !== 'refreshed') return
      onReplaced()
      // Nothing waits for it: a start with many models in use serves at once.
      void endpoints.refresh(catalog.modelIds)
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
    fetchGeneration: (input) => upstream.dialect.fetchGeneration(upstream, input),
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
    onBilledLate: (billed) => {
      const { requestId, costUsd } = billed
      log.info({ requestId, costUsd: formatDecimal(costUsd) }, 'a released request was billed')
      telemetry.billedLate(billed)
    },
    onDoubted: ({ requestId, doubt }) => {
      log.warn({ requestId, doubt }, "the provider's record of a request is not believed")
      telemetry.lookupDoubted(doubt)
    },
  })
  closing.defer(() => reconciler.stop())
  reconciler.start()
  return reconciler
}

function logRefresh(log: Logger, outcome: RefreshOutcome): void {
  if (outcome.kind === 'failed') {
    log.error(
      { cause: String(outcome.cause) },
      'the catalog could not be refreshed: can UPSTREAM_BASE_URL be reached, and its list of models be read? It is tried again',
    )
    return
  }
  const { models, skipped, doubtedIds, storeFailure } = outcome
  log.info({ models, skipped: skipped.length, doubtedIds }, 'catalog refreshed')
  if (storeFailure !== null) {
    log.error({ cause: String(storeFailure) }, 'the refreshed catalog could not be stored')
  }
}
