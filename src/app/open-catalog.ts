import type { Logger } from 'pino'
import { Catalog } from '../catalog/catalog.ts'
import { CatalogRefresher, type RefreshOutcome } from '../catalog/catalog-refresher.ts'
import { createCatalogStore } from '../catalog/catalog-store.ts'
import { EndpointPrices, type EndpointRead } from '../catalog/endpoint-prices.ts'
import type { Store } from '../store/open-store.ts'
import { Upstream } from '../upstreams/upstream.ts'
import { catalogSettingsOf } from './config.ts'
import { sourceOf, type Wiring } from './wiring.ts'

/** The connections of this process to the provider. */
export function openUpstream({ config, dialect, address, closing }: Wiring): Upstream {
  const upstream = new Upstream({
    dialect,
    baseUrl: address.baseUrl,
    apiKey: address.apiKey,
    connectTimeoutMs: config.TOLLGATE_CONNECT_TIMEOUT_MS,
  })
  closing.defer(() => upstream.destroy())
  return upstream
}

/** What models cost at any of their providers. By position: the wiring, and the connections to read it over. */
export function openEndpointPrices(
  { config, clock, log, telemetry, closing }: Wiring,
  upstream: Upstream,
): EndpointPrices {
  const endpoints = new EndpointPrices({
    clock,
    firstReadTimeoutMs: config.TOLLGATE_ENDPOINTS_TIMEOUT_MS,
    fetchDearestTerms: (modelId, bounds) =>
      upstream.dialect.fetchDearestTerms(upstream, modelId, bounds),
    onRead: (read) => {
      logRead(log, read)
      telemetry.endpointsRead(read)
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

interface CatalogParts {
  readonly store: Store
  readonly upstream: Upstream
  readonly endpoints: EndpointPrices
}

/** The catalog of the store, refreshed once, and what refreshes it from then on. */
export async function openCatalog(
  { config, address, log, clock, telemetry, closing }: Wiring,
  { store, upstream, endpoints }: CatalogParts,
): Promise<{ readonly catalog: Catalog; readonly refresher: CatalogRefresher }> {
  const settings = catalogSettingsOf(config)
  const catalog = new Catalog({ clock, settings })
  const refresher = new CatalogRefresher({
    catalog,
    store: createCatalogStore(store.db),
    source: sourceOf(address),
    clock,
    settings,
    fetchModels: (listing) => upstream.dialect.fetchModels(upstream, listing),
    fetchFlatImagePrice: (modelId) => upstream.dialect.fetchFlatImagePrice(upstream, modelId),
    endpoints,
    onRefreshed: (outcome) => {
      logRefresh(log, outcome)
      telemetry.catalogRefreshed(outcome)
      if (outcome.kind !== 'refreshed') return
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

function logRefresh(log: Logger, outcome: RefreshOutcome): void {
  if (outcome.kind === 'failed') {
    log.error(
      { cause: String(outcome.cause) },
      'the catalog could not be refreshed and will be tried again: check that UPSTREAM_BASE_URL can be reached and lists models',
    )
    return
  }
  const { models, skipped, doubtedIds, storeFailure } = outcome
  log.info({ models, skipped: skipped.length, doubtedIds }, 'catalog refreshed')
  if (storeFailure !== null) {
    log.error({ cause: String(storeFailure) }, 'the refreshed catalog could not be stored')
  }
}
