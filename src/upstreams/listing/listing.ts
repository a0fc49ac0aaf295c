import type { Offer } from '../../vocabulary/offer.ts'

/** One readable answer of an upstream's list of models. */
export interface ParsedCatalog {
  /** In the upstream's order; at least one; ids are unique. */
  readonly models: readonly ListedModel[]
  /** Ids that are listed, but with a row that can't be read: gone neither are they refreshed. */
  readonly unreadableIds: ReadonlySet<string>
  /** Every row that was not taken, for the log. */
  readonly skipped: readonly SkippedRow[]
}

/** A row of the list that offers nothing, and why. */
export interface SkippedRow {
  /** Null where the row has no usable id. */
  readonly modelId: string | null
  readonly why: string
}

/** Whose list is read, and what an operator decides about how it is. */
export interface ListingSettings {
  /** The name of the upstream that lists it. */
  readonly upstream: string
  /** Ids that bill per search although their row does not show it. */
  readonly perSearchIdsAdded: ReadonlySet<string>
  /** Ids that do not bill per search although their row looks like it. */
  readonly perSearchIdsRemoved: ReadonlySet<string>
}

/** A model as its upstream lists it: what is offered, and what `GET /v1/models` says of it. */
export interface ListedModel {
  readonly offer: Offer
  readonly listing: ModelListing
  /** Other names that resolve to this model: its canonical slug and the upstream's alias rows. */
  readonly aliases: readonly string[]
}

/**
 * An item of `GET /v1/models`: the upstream's own layout, with `object`, `owned_by`, `type`,
 * `display_name` and `created_at` so that clients of other families read it too. Prices are dollars as decimal
 * strings, before the platform fee.
 */
export interface ModelListing {
  readonly id: string
  readonly object: 'model'
  readonly type: 'model'
  /** The id's author. */
  readonly owned_by: string
  readonly canonical_slug: string | null
  readonly hugging_face_id: string | null
  readonly name: string
  readonly display_name: string
  /** Seconds since the Unix epoch; zero where the upstream does not say. */
  readonly created: number
  /** The same moment as RFC 3339 text. */
  readonly created_at: string
  readonly description: string | null
  /** Tokens; null where unknown. */
  readonly context_length: number | null
  readonly architecture: {
    readonly modality: string | null
    readonly input_modalities: readonly string[]
    readonly output_modalities: readonly string[]
    readonly tokenizer: string | null
    readonly instruct_type: string | null
  }
  readonly pricing: ListedPricing
  readonly top_provider: {
    readonly context_length: number | null
    /** Tokens; null where the model lists no maximum. */
    readonly max_completion_tokens: number | null
    readonly is_moderated: boolean
  }
  readonly supported_parameters: readonly string[]
  readonly knowledge_cutoff: string | null
  readonly expiration_date: string | null
}

/** Prices as the upstream words them, and their `overrides` by prompt size or time of day. */
export type ListedPricing = Readonly<Record<string, string | readonly ListedOverride[]>>

/** Prices that replace the ones above under the conditions that stand beside them. */
export type ListedOverride = Readonly<Record<string, string | number | readonly string[]>>
