import { Catalog } from '../catalog/catalog.ts'
import { createCatalogRefresher } from '../catalog/catalog-refresher.ts'
import { createCatalogStore } from '../catalog/catalog-store.ts'
import { catalogRefreshAnswer } from '../operations/answers/catalog-refresh.ts'
import { claimUpstream } from '../store/settings.ts'
import { Upstream } from '../upstreams/upstream.ts'
import type { Books, UpstreamSettings } from './books.ts'
import { counted, listed } from './counted.ts'
import { showProgress } from './progress.ts'
import { CommandFailure } from './terminal.ts'

interface RefreshCatalogInput {
  readonly upstream: UpstreamSettings
  readonly json: boolean
}

/** Fetches models and prices and stores them. Throws `CommandFailure` where that fails. */
export async function refreshCatalog(
  { store, clock, terminal }: Books,
  { upstream: { catalog: settings, loadDialect, ...reached }, json }: RefreshCatalogInput,
): Promise<void> {
  const { baseUrl } = reached
  await claimUpstream(store.db, baseUrl)
  const dialect = await loadDialect()
  const upstream = new Upstream({ dialect, ...reached })
  const show = showProgress({
    terminal,
    say: (models) => `fetched the prices of ${counted(models, 'imageModel')}`,
  })
  let imageModels = 0
  const endpoints = new Map<string, string>()
  try {
    const refresher = createCatalogRefresher({
      catalog: new Catalog({ clock, settings }),
      store: createCatalogStore(store.db),
      source: baseUrl,
      clock,
      settings,
      fetchModels: (listing) => dialect.fetchModels(upstream, listing),
      async fetchFlatImagePrice(modelId) {
        const price = await dialect.fetchFlatImagePrice(upstream, modelId)
        show(++imageModels)
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
    if (!json) terminal.note(`fetching models from ${baseUrl} …`)
    const outcome = await refresher.refreshNow()
    if (outcome.kind === 'failed') {
      throw new CommandFailure(
        `the catalog could not be refreshed from ${baseUrl}: ${inWords(outcome.cause)}`,
      )
    }
    if (outcome.storeFailure !== null) {
      throw new CommandFailure(`the catalog could not be stored: ${inWords(outcome.storeFailure)}`)
    }
    const { models, skipped, doubtedIds } = outcome
    terminal.out(
      json
        ? JSON.stringify(catalogRefreshAnswer(outcome))
        : listed([
            [models, 'model'],
            [skipped.length, 'skippedRow'],
            [doubtedIds.length, 'price'],
          ]),
    )
  } finally {
    await upstream.destroy()
  }
}

function inWords(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
