import type { ListingSettings } from '../upstreams/listing/listing.ts'

/** What an operator decides about the catalog. */
export interface CatalogSettings extends ListingSettings {
  /** Time from the end of one refresh to the start of the next, before jitter. */
  readonly catalogRefreshMs: number
  /** Age past which a model's prices are too old to size a hold with. */
  readonly pricesStaleAfterMs: number
  /** Further names of models: name → catalog id. Never shadows an id that the catalog lists. */
  readonly aliases: ReadonlyMap<string, string>
}

/** Prices every five minutes, stale after an hour; no names or ids beside the upstream's own. */
export const DEFAULT_CATALOG_SETTINGS: CatalogSettings = {
  upstream: 'openrouter',
  catalogRefreshMs: 5 * 60_000,
  pricesStaleAfterMs: 60 * 60_000,
  aliases: new Map(),
  perSearchIdsAdded: new Set(),
  perSearchIdsRemoved: new Set(),
}
