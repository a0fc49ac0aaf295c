import { randomFillSync } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import { Catalog } from './catalog/catalog.ts'
import {
  type CatalogRefresher,
  createCatalogRefresher,
  type RefreshOutcome,
} from './catalog/catalog-refresher.ts'
import { createCatalogStore } from './catalog/catalog-store.ts'
import type { CatalogSettings } from './catalog/settings.ts'
import { type Config, storeUrlOf, wordsOf } from './config.ts'
import { createInference } from './http/inference.ts'
import { requestLogger } from './http/request-log.ts'
import { createHttpServer } from './http/server.ts'
import { openAccountTagger } from './identity/account-tag.ts'
import { Authenticator } from './identity/authenticator.ts'
import type { JourneyParts } from './journey/journey.ts'
import {
  heartbeat,
  registerInstance,
  stopInstance,
  sweepEarlierInstances,
} from './ledger/instances.ts'
import { SqliteLedger } from './ledger/sqlite-ledger.ts'
import { createByteBudget } from './limits/byte-budget.ts'
import { createGate } from './limits/gate.ts'
import { Settler } from './settle/settler.ts'
import { parseDatabaseUrl } from './store/database-url.ts'
import { openStore, type Store } from './store/open-store.ts'
import { acquireServeLock } from './store/serve-lock.ts'
import { claimUpstream } from './store/settings.ts'
import { fetchImageEndpoints, fetchModels } from './upstream/catalog-pages.ts'
import { Upstream } from './upstream/upstream.ts'
import { type Clock, systemClock } from './vocabulary/clock.ts'
import { createIdSource, type IdSource } from './vocabulary/ids.ts'
import { FORMATS } from './wire/formats.ts'

const VERSION = '0.1.0'
const HEARTBEAT_INTERVAL_MS = 5_000

/** Which provider the gateway forwards to. */
export interface UpstreamAddress {
  /** Ends in `/v1`. */
  readonly baseUrl: string
  readonly apiKey: string
  /** `simulator`: play money, in a store of its own. */
  readonly mode: 'simulator' | 'live'
}

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
  readonly store: Store
  readonly ledger: SqliteLedger
  readonly ids: IdSource
  readonly refresher: CatalogRefresher
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
  const words = wordsOf(config)

  const url = storeUrlOf(config)
  const store = await openServedStore({ url, clock }, closing)
  await claimUpstream(store.db, address.mode === 'simulator' ? 'simulator' : address.baseUrl)

  const ledger = new SqliteLedger({
    file: store.file,
    clock,
    limits: {
      openHoldsMax: config.TOLLGATE_REQUESTS_IN_FLIGHT,
      keyRequestsPerMinuteMax: config.TOLLGATE_REQUESTS_PER_MINUTE,
      unbackedAccountRequestsPerMinuteMax: config.TOLLGATE_REQUESTS_PER_MINUTE_UNBACKED,
    },
  })
  closing.defer(() => ledger.close())
  const instanceId = await openInstance({ store, ledger, ids, clock, log }, closing)

  const upstream = new Upstream({
    baseUrl: address.baseUrl,
    apiKey: address.apiKey,
    connectTimeoutMs: config.TOLLGATE_CONNECT_TIMEOUT_MS,
  })
  closing.defer(() => upstream.destroy())

  const catalog = new Catalog({ clock, settings: catalogSettings(config) })
  const refresher = createCatalogRefresher({
    catalog,
    store: createCatalogStore(store.db),
    source: address.mode === 'simulator' ? 'simulator' : address.baseUrl,
    clock,
    settings: catalogSettings(config),
    fetchModels: () => fetchModels(upstream),
    fetchImageEndpoints: (modelId) => fetchImageEndpoints(upstream, modelId),
    onRefreshed: (outcome) => logRefresh(log, outcome),
  })
  await refresher.load()
  await refresher.refreshNow()
  refresher.start()
  closing.defer(() => refresher.stop())

  const settler = new Settler({
    ledger,
    waitMs: config.TOLLGATE_SETTLE_WAIT_MS,
    onFailure: (requestId, cause) =>
      log.error({ requestId, cause: String(cause) }, 'a charge could not be stored yet'),
  })
  closing.defer(() => settler.drained())

  const authenticator = new Authenticator({ db: store.db, clock, keyTag: words.keyTag })
  const parts: JourneyParts = {
    authenticate: (headers) => authenticator.authenticate(headers),
    gate: createGate({
      clock,
      settings: {
        inFlightMax: config.TOLLGATE_REQUESTS_IN_FLIGHT,
        requestsPerMinuteMax: config.TOLLGATE_REQUESTS_PER_MINUTE,
        unbackedRequestsPerMinuteMax: config.TOLLGATE_REQUESTS_PER_MINUTE_UNBACKED,
      },
    }),
    byteBudget: createByteBudget({ bytesMax: config.TOLLGATE_BUFFER_BYTES_MAX }),
    offerFor: (modelName) => catalog.offerFor(modelName),
    ledger,
    settler,
    upstream,
    accountTag: await openAccountTagger(store.db),
    clock,
    words,
    instanceId,
    timeouts: {
      headersTimeoutMs: config.TOLLGATE_HEADERS_TIMEOUT_MS,
      stallTimeoutMs: config.TOLLGATE_BODY_STALL_TIMEOUT_MS,
      totalTimeoutMs: config.TOLLGATE_TOTAL_TIMEOUT_MS,
      imageTimeoutMs: config.TOLLGATE_IMAGE_TIMEOUT_MS,
    },
    answerBytesMax: config.TOLLGATE_ANSWER_BYTES_MAX,
    eventBytesMax: config.TOLLGATE_EVENT_BYTES_MAX,
  }
  const inference = createInference({
    parts,
    ids,
    bodyTimeoutMs: config.TOLLGATE_BODY_READ_TIMEOUT_MS,
    onEnded: requestLogger(log),
  })
  const server = createHttpServer({
    ids,
    inference,
    catalog: { listBytes: () => catalog.listBytes(), get: (name) => catalog.get(name) },
    root: {
      version: VERSION,
      mode: address.mode,
      formats: FORMATS.map(({ endpoint, path }) => ({ name: endpoint, path })),
    },
    onFailure: (requestId, problem) =>
      log.error({ requestId, cause: String(problem.cause) }, 'request failed'),
  })
  await server.listen({ host: config.HOST, port: config.PORT })
  closing.defer(() => server.close())
  closing.defer(() => inference.drain(config.TOLLGATE_DRAIN_TIMEOUT_MS))

  return {
    address: addressOf(server.server.address(), config.HOST),
    store,
    ledger,
    ids,
    refresher,
    close: () => closing.disposeAsync(),
  }
}

async function openServedStore(
  { url, clock }: { readonly url: string; readonly clock: Clock },
  closing: AsyncDisposableStack,
): Promise<Store> {
  // Before anything is migrated or swept: nobody else may be serving from this store.
  const lock = acquireServeLock(parseDatabaseUrl(url).file)
  closing.defer(() => lock.release())
  const store = await openStore({ url, clock, migrateStore: 'always' })
  closing.defer(() => store.close())
  return store
}

interface OpenInstanceInput {
  readonly store: Store
  readonly ledger: SqliteLedger
  readonly ids: IdSource
  readonly clock: Clock
  readonly log: Logger
}

/** Registers this process, ends what earlier ones left open, and keeps saying that it lives. */
async function openInstance(
  { store, ledger, ids, clock, log }: OpenInstanceInput,
  closing: AsyncDisposableStack,
): Promise<string> {
  const id = ids.next('inst')
  await registerInstance(store.db, { id, nowMs: clock.nowMs() })
  const swept = await sweepEarlierInstances({ db: store.db, books: ledger, instanceId: id })
  if (swept > 0)
    log.warn({ swept }, 'requests of an earlier process were in flight: now unresolved')
  const timer = setInterval(() => {
    heartbeat(store.db, { id, nowMs: clock.nowMs() }).catch((cause: unknown) =>
      log.error({ cause: String(cause) }, 'the heartbeat could not be stored'),
    )
  }, HEARTBEAT_INTERVAL_MS)
  timer.unref()
  closing.defer(async () => {
    clearInterval(timer)
    await stopInstance(store.db, { id, nowMs: clock.nowMs() })
  })
  return id
}

function catalogSettings(config: Config): CatalogSettings {
  return {
    catalogRefreshMs: config.TOLLGATE_CATALOG_REFRESH_MS,
    pricesStaleAfterMs: config.TOLLGATE_PRICES_STALE_AFTER_MS,
    aliases: new Map(),
    perSearchIdsAdded: new Set(config.TOLLGATE_PER_SEARCH_MODELS),
    perSearchIdsRemoved: new Set(config.TOLLGATE_NOT_PER_SEARCH_MODELS),
  }
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

function addressOf(bound: AddressInfo | string | null, host: string): string {
  if (bound === null || typeof bound === 'string') return `http://${host}`
  const shown = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address
  return `http://${shown}:${bound.port}`
}
