import type { Logger } from 'pino'
import { Catalog } from '../catalog/catalog.ts'
import { CatalogRefresher, type RefreshOutcome } from '../catalog/catalog-refresher.ts'
import { CatalogRefreshers } from '../catalog/catalog-refreshers.ts'
import { createCatalogStore } from '../catalog/catalog-store.ts'
import { EndpointPrices, type EndpointRead } from '../catalog/endpoint-prices.ts'
import type { Store } from '../store/store.ts'
import { loadDialect } from '../upstreams/dialects.ts'
import type { SkippedRow } from '../upstreams/listing/listing.ts'
import { Upstream } from '../upstreams/upstream.ts'
import type { Fees } from '../vocabulary/offer.ts'
import { catalogSettingsOf } from './config.ts'
import type { Wiring } from './wiring.ts'

/** An upstream, and the prices of its models at each of their providers; null: a model has one price. */
export interface OpenUpstream {
  readonly upstream: Upstream
  readonly endpoints: EndpointPrices | null
}

/** The connections of this process to each upstream, by name, in their order. */
export async function openUpstreams(wiring: Wiring): Promise<ReadonlyMap<string, OpenUpstream>> {
  const { configured, dialects, closing } = wiring
  const opened = new Map<string, OpenUpstream>()
  for (const settings of configured.upstreams) {
    const upstream = new Upstream(settings, await loadDialect(settings.dialect, dialects))
    closing.defer(() => upstream.destroy())
    opened.set(settings.name, { upstream, endpoints: openEndpointPrices(wiring, upstream) })
  }
  return opened
}

/** By position: the wiring, and the connections to read them over. */
function openEndpointPrices(
  { config, clock, log, telemetry, closing }: Wiring,
  upstream: Upstream,
): EndpointPrices | null {
  const { fetchHighestTerms } = upstream.dialect
  if (fetchHighestTerms === null) return null
  const { name } = upstream.settings
  const endpoints = new EndpointPrices({
    clock,
    firstReadTimeoutMs: config.TOLLGATE_ENDPOINTS_TIMEOUT_MS,
    fetchHighestTerms: (modelId, bounds) => fetchHighestTerms(upstream, modelId, bounds),
    onRead: (read) => {
      logRead(log.child({ upstream: name }), read)
      telemetry.metrics?.endpointsRead(read)
    },
  })
  closing.defer(() => endpoints.stop())
  return endpoints
}

/** Only where it goes otherwise than before: it is read every few minutes. */
function logRead(log: Logger, { modelId, failure, isChange }: EndpointRead): void {
  if (!isChange) return
  if (failure === null) log.info({ modelId }, "the prices of a model's providers can be read again")
  else {
    log.warn(
      { modelId, cause: String(failure.cause) },
      "the prices of a model's providers could not be read: holds use its listed prices",
    )
  }
}

// How long a start waits for the other upstreams once one has listed its models.
const START_GRACE_MS = 3_000

interface CatalogParts {
  readonly store: Store
  readonly upstreams: ReadonlyMap<string, OpenUpstream>
  /** Called with the name of each upstream whose list was refreshed. Must not throw. */
  readonly onRefreshed: (upstream: string) => void
}

/** The catalog of the store, refreshed once from each upstream, and the parts that refresh it from then on. */
export async function openCatalog(
  wiring: Wiring,
  { store, upstreams, onRefreshed }: CatalogParts,
): Promise<{ readonly catalog: Catalog; readonly refreshers: CatalogRefreshers }> {
  const { config, configured, clock, closing } = wiring
  const settings = { ...catalogSettingsOf(config), aliases: configured.aliases }
  const claimants = [...upstreams.values()].map(({ upstream }) => upstream.claimant)
  const onStale = (upstream: string): void => refreshers.catchUp(upstream)
  const catalog = new Catalog({ clock, settings, upstreams: claimants, onStale })
  const catalogStore = createCatalogStore(store.db)
  await catalogStore.keepOnly([...upstreams.keys()])
  const unlisted = new Set(upstreams.keys())
  const warnOfAliases = aliasWarner(wiring, catalog)
  const each = [...upstreams.values()].map((opened, place) =>
    openRefresher(wiring, {
      ...opened,
      place,
      catalog,
      settings,
      store: catalogStore,
      onRefreshed(upstream) {
        // Once, with the models of all upstreams.
        if (unlisted.delete(upstream) && unlisted.size === 0) warnOfFees(wiring, catalog)
        if (unlisted.size === 0) warnOfAliases()
        onRefreshed(upstream)
      },
    }),
  )
  for (const refresher of each) await refresher.load()
  const refreshers = new CatalogRefreshers(catalog, each)
  closing.defer(async () => {
    // Nothing else needs the connections by now, and a list that hangs would keep the server from closing.
    for (const { upstream } of upstreams.values()) void upstream.destroy()
    await refreshers.stop()
  })
  await refreshers.refreshFirst(START_GRACE_MS)
  refreshers.start()
  return { catalog, refreshers }
}

/** Logs each alias that leads to no model, once. By position: the wiring, and the catalog with the models of all upstreams. */
function aliasWarner({ configured, log }: Wiring, catalog: Catalog): () => void {
  const noted = new Set<string>()
  return () => {
    for (const [alias, model] of configured.aliases) {
      if (catalog.modelIds.has(model) || noted.has(alias)) continue
      noted.add(alias)
      log.warn({ alias, model }, 'an alias has no model: no upstream offers it')
    }
  }
}

/** By position: the wiring, and the catalog with the models of all upstreams. */
function warnOfFees({ config, log }: Wiring, catalog: Catalog): void {
  const { fees } = catalogSettingsOf(config)
  const names = feesWithoutModel(fees, catalog.modelIds)
  if (names.length === 0) return
  log.warn(
    { fees: names.length, first: names.slice(0, SHOWN_IDS_MAX) },
    'TOLLGATE_MODEL_FEES_BPS names models that are not in the catalog: if an ID is mistyped, its model has another fee',
  )
}

function openRefresher(
  wiring: Wiring,
  parts: OpenUpstream &
    Pick<CatalogParts, 'onRefreshed'> & {
      readonly place: number
      readonly catalog: Catalog
      readonly settings: ReturnType<typeof catalogSettingsOf>
      readonly store: ReturnType<typeof createCatalogStore>
    },
): CatalogRefresher {
  const { clock, log, telemetry } = wiring
  const { upstream, endpoints, place, catalog, settings, store } = parts
  const { name, baseUrl } = upstream.settings
  const { dialect } = upstream
  const { fetchFlatImagePrice } = dialect
  let shadowedBefore = ''
  const logShadowed = (ids: readonly string[]): void => {
    const shadowed = [...ids].sort().join()
    if (shadowed === shadowedBefore) return
    shadowedBefore = shadowed
    log.warn(
      { upstream: name, shadowed: ids.length, first: ids.slice(0, SHOWN_IDS_MAX) },
      'models of an upstream are shadowed: another upstream has their IDs',
    )
  }
  const logSkipped = skippedLogger(log.child({ upstream: name }))
  return new CatalogRefresher({
    catalog,
    store,
    source: wiring.configured.mode === 'simulator' ? 'simulator' : baseUrl,
    place,
    clock,
    settings: { ...settings, upstream: name },
    narrowing: upstream.settings,
    written: upstream.settings.models,
    endpointsOf: (offer) => upstream.endpointsOf(offer, wiring.formats),
    fetchModels: (listing) => dialect.fetchModels(upstream, listing),
    fetchFlatImagePrice:
      fetchFlatImagePrice && ((modelId) => fetchFlatImagePrice(upstream, modelId)),
    endpoints,
    onRefreshed: (outcome) => {
      logRefresh(log.child({ upstream: name }), outcome)
      if (outcome.kind === 'refreshed') {
        logShadowed(catalog.shadowedOf(name))
        logSkipped(outcome.skipped)
      }
      telemetry.catalogRefreshed(outcome, name)
      if (outcome.kind !== 'refreshed') return
      // Nothing waits for it: a start with many models in use serves at once.
      void endpoints?.refresh(new Set(catalog.rowsOf(name).map(({ offer }) => offer.modelId)))
      parts.onRefreshed(name)
    },
  })
}

// The log shows no more rows than this; `tollgate upstream check` shows all.
const SKIPPED_LOGGED_MAX = 200

/** Logs each model that is not offered once for each reason. */
function skippedLogger(log: Logger): (skipped: readonly SkippedRow[]) => void {
  const noted = new Set<string>()
  return (skipped) => {
    for (const { modelId, why } of skipped) {
      const reason = `${modelId} ${why}`
      if (noted.has(reason) || noted.size >= SKIPPED_LOGGED_MAX) continue
      noted.add(reason)
      log.info({ model: modelId, why }, 'model not offered')
    }
  }
}

// There can be hundreds, such as the models of an upstream that another one has too.
const SHOWN_IDS_MAX = 5

function logRefresh(log: Logger, outcome: RefreshOutcome): void {
  if (outcome.kind === 'failed') {
    log.error(
      { cause: String(outcome.cause) },
      'the models of an upstream could not be refreshed and will be tried again: `tollgate upstream check` says what is wrong',
    )
    return
  }
  const { models, skipped, doubts, storeFailure } = outcome
  const doubtedIds = doubts.map(({ modelId }) => modelId)
  log.info({ models, skipped: skipped.length, doubtedIds }, 'catalog refreshed')
  if (storeFailure !== null) {
    log.error({ cause: String(storeFailure) }, 'the refreshed catalog could not be stored')
  }
}

/** The names of fees that none of these models has. */
function feesWithoutModel({ models }: Fees, modelIds: Iterable<string>): readonly string[] {
  const names = new Set<string>()
  for (const modelId of modelIds) {
    const name = modelId.toLowerCase()
    names.add(name).add(`${name.slice(0, name.indexOf('/'))}/*`)
  }
  return [...models.keys()].filter((name) => !names.has(name))
}
