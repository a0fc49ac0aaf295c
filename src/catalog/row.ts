import type { ListedModel, ModelListing } from '../upstreams/listing/listing.ts'

/** One model as the catalog keeps it. */
export interface CatalogRow extends ListedModel {
  /** When an upstream answer last said what this model costs. */
  readonly refreshedAtMs: number
}

/** The body of `GET /v1/models`. */
export interface ModelList {
  readonly object: 'list'
  readonly data: readonly ModelListing[]
}
