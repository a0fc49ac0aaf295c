import { Catalog } from '../catalog/catalog.ts'
import { CatalogRefresher, type RefreshOutcome } from '../catalog/catalog-refresher.ts'
import { createCatalogStore } from '../catalog/catalog-store.ts'
import { claimUpstream } from '../store/settings.ts'
import { Upstream } from '../upstreams/upstream.ts'
import type { CommandContext, UpstreamSettings } from './command-context.ts'
import { CommandFailure } from './terminal.ts'

/**
 * Fetches models and prices and stores them. `onImageModel` is called with the number of image models whose
 * price has been read. Throws `CommandFailure` where that fails.
 */
export async function refreshCatalog(
  { store, clock }: CommandContext,
  { catalog: settings, loadDialect, ...reached }: UpstreamSettings,
  onImageModel: (done: number) => void,
): Promise<RefreshOutcome> {
  const { baseUrl } = reached
  await claimUpstream(store.db, baseUrl)
  const dialect = await loadDialect()
  const upstream = new Upstream({ dialect, ...reached })
  let imageModels = 0
  const endpoints = new Map<string, string>()
  try {
    const refresher = new CatalogRefresher({
      catalog: new Catalog({ clock, settings }),
      store: createCatalogStore(store.db),
      source: baseUrl,
      clock,
      settings,
      fetchModels: (listing) => dialect.fetchModels(upstream, listing),
      async fetchFlatImagePrice(modelId) {
        const price = await dialect.fetchFlatImagePrice(upstream, modelId)
        onImageModel(++imageModels)
        return price
      },
      // What a server has read of models' endpoints stays as it is.
      endpoints: {
        restore: (modelId, stored) => void endpoints.set(modelId, JSON.stringify(stored ?? null)),
        encode: (modelId) => endpoints.get(modelId) ?? null,
      },
      onRefreshed: () => {},
    })
    // What was believed before says which figures are doubted now.
    await refresher.load()
    const outcome = await refresher.refreshNow()
    if (outcome.kind === 'failed') {
      throw new CommandFailure(
        `the catalog could not be refreshed from ${baseUrl}: ${inWords(outcome.cause)}`,
      )
    }
    if (outcome.storeFailure !== null) {
      throw new CommandFailure(`the catalog could not be stored: ${inWords(outcome.storeFailure)}`)
    }
    return outcome
  } finally {
    await upstream.destroy()
  }
}

function inWords(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
