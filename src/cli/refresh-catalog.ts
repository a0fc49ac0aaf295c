import { Catalog } from '../catalog/catalog.ts'
import { CatalogRefresher } from '../catalog/catalog-refresher.ts'
import { CatalogRefreshers, type RefreshOfAll } from '../catalog/catalog-refreshers.ts'
import { createCatalogStore } from '../catalog/catalog-store.ts'
import { FORMATS } from '../formats/formats.ts'
import { claimUpstream } from '../store/settings.ts'
import { Upstream } from '../upstreams/upstream.ts'
import { messageOf } from '../vocabulary/message-of.ts'
import type { CommandContext, LiveUpstreams } from './command-context.ts'
import { CommandFailure } from './terminal.ts'

/**
 * Fetches models and prices of all upstreams and stores them. `onImageModel` is called with the number of image
 * models whose price has been read. Throws `CommandFailure` that names each upstream if that fails; the others
 * are still stored.
 */
export async function refreshCatalog(
  { store, clock }: CommandContext,
  { load, loadDialect, catalog: usual }: LiveUpstreams,
  onImageModel: (done: number) => void,
): Promise<RefreshOfAll> {
  const { upstreams: configured, aliases } = await load()
  const [{ baseUrl }] = configured
  await claimUpstream(store.db, baseUrl)
  const settings = { ...usual, aliases }
  const upstreams: Upstream[] = []
  for (const settingsOfOne of configured) {
    upstreams.push(new Upstream(settingsOfOne, await loadDialect(settingsOfOne.dialect)))
  }
  const catalog = new Catalog({
    clock,
    settings,
    upstreams: upstreams.map(({ claimant }) => claimant),
  })
  let imageModels = 0
  const refreshers: CatalogRefresher[] = []
  for (const [place, upstream] of upstreams.entries()) {
    const { dialect, settings: settingsOfOne } = upstream
    const { fetchFlatImagePrice } = dialect
    const endpoints = new Map<string, string>()
    refreshers.push(
      new CatalogRefresher({
        catalog,
        store: createCatalogStore(store.db),
        source: settingsOfOne.baseUrl,
        place,
        clock,
        settings: { ...settings, upstream: settingsOfOne.name },
        narrowing: settingsOfOne,
        written: settingsOfOne.models,
        endpointsOf: (offer) => upstream.endpointsOf(offer, FORMATS),
        fetchModels: (listing) => dialect.fetchModels(upstream, listing),
        fetchFlatImagePrice:
          fetchFlatImagePrice &&
          (async (modelId) => {
            const price = await fetchFlatImagePrice(upstream, modelId)
            onImageModel(++imageModels)
            return price
          }),
        // The prices of models' endpoints that a server has read are unchanged.
        endpoints: {
          restore: (modelId, stored) => void endpoints.set(modelId, JSON.stringify(stored ?? null)),
          encode: (modelId) => endpoints.get(modelId) ?? null,
        },
        // The outcome of all includes the outcome of each.
        onRefreshed() {},
      }),
    )
  }
  try {
    // The figures that were believed before decide which are doubted now.
    for (const refresher of refreshers) await refresher.load()
    const outcome = await new CatalogRefreshers(catalog, refreshers).refreshNow()
    refuseFailure(outcome, configured)
    return outcome
  } finally {
    for (const upstream of upstreams) await upstream.destroy()
  }
}

/** Throws `CommandFailure` that names each upstream that was not refreshed. By position: the outcome, the upstreams. */
function refuseFailure(
  outcome: RefreshOfAll,
  upstreams: readonly { readonly name: string; readonly baseUrl: string }[],
): void {
  if (outcome.failed.length > 0) {
    const others = outcome.kind === 'failed' ? '' : ' (all other upstreams were refreshed)'
    const addresses = new Map(upstreams.map(({ name, baseUrl }) => [name, baseUrl]))
    const failures = outcome.failed.map(
      ({ upstream, why }) => `${upstream} at ${addresses.get(upstream)}: ${why}`,
    )
    throw new CommandFailure(
      `the catalog could not be refreshed from ${failures.join('; nor from ')}${others}`,
    )
  }
  if (outcome.kind === 'refreshed' && outcome.storeFailure !== null) {
    throw new CommandFailure(`the catalog could not be stored: ${messageOf(outcome.storeFailure)}`)
  }
}
