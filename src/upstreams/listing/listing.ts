import { isTokenCount, readRecord, readStrings } from '../../json/walk.ts'
import type { Fees, Offer } from '../../vocabulary/offer.ts'
import { priceSnapshotId } from './price-table.ts'
import { type ListedPricing, parsePricing, RowRefusal } from './pricing.ts'

/** One readable answer of an upstream's list of models. */
export interface ParsedCatalog {
  /** In the upstream's order; at least one; ids are unique. */
  readonly models: readonly ListedModel[]
  /** Ids whose rows can't be read: these models stay in the catalog and are not refreshed. */
  readonly unreadableIds: ReadonlySet<string>
  /** The skipped rows, for the log. */
  readonly skipped: readonly SkippedRow[]
}

/** A row of the list that was skipped, and why. */
export interface SkippedRow {
  /** Null if the row has no usable id. */
  readonly modelId: string | null
  readonly why: string
}

/** The facts about an upstream that reading its list needs. */
export interface ListingSettings {
  /** The name of the upstream whose list it is. */
  readonly upstream: string
  /** Ids that bill per search, which their row does not show; an operator's setting. */
  readonly perSearchIdsAdded: ReadonlySet<string>
  /** Ids that do not bill per search, although their row suggests it; an operator's setting. */
  readonly perSearchIdsRemoved: ReadonlySet<string>
  /** The platform fees of models; an operator's setting. */
  readonly fees: Fees
}

/** A model as its upstream lists it: its offer, and its item of `GET /v1/models`. */
export interface ListedModel {
  readonly offer: Offer
  readonly listing: ModelListing
  /** Other names of the model: its canonical slug and the upstream's aliases. */
  readonly aliases: readonly string[]
}

/**
 * An item of `GET /v1/models`: the upstream's own layout, with `object`, `owned_by`, `type`, `display_name` and
 * `created_at` for clients of other formats. Prices are dollars as decimal strings, without the platform fee.
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
  /** Seconds since the Unix epoch; zero if unknown. */
  readonly created: number
  /** `created` as RFC 3339 text. */
  readonly created_at: string
  readonly description: string | null
  /** Tokens; null if unknown. */
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
    /** Tokens; null if the model lists no maximum. */
    readonly max_completion_tokens: number | null
    readonly is_moderated: boolean
  }
  readonly supported_parameters: readonly string[]
  readonly knowledge_cutoff: string | null
  readonly expiration_date: string | null
}

/** One row of the upstream's list, as it was read. */
export type ParsedRow =
  | { readonly kind: 'model'; readonly offer: Offer; readonly listing: ModelListing }
  /** Another name for a model, given by its id or canonical slug. */
  | { readonly kind: 'alias'; readonly name: string; readonly target: string }
  /** A model that can't be sold: without a fixed price, or for batches only. */
  | { readonly kind: 'notOffered'; readonly modelId: string; readonly why: string }
  /** Fields of wrong types; `modelId` is null if even the id can't be read. */
  | { readonly kind: 'unreadable'; readonly modelId: string | null; readonly why: string }

/** The longest catalog id, and the longest name that is looked up. */
export const MODEL_NAME_CHARS_MAX = 256

// The id is used in URLs, logs and JSON: nothing in it may need escaping.
const MODEL_ID = /^~?[A-Za-z0-9][\w.-]*\/[\w.:@+/-]+$/

// In a URL's path it would request another resource with our key.
const STRAYING_PATH = /\.\.|\/\.?(?:\/|$)/

/** Reads one row of an upstream's model list, or one of our own listings. Never throws. */
export function parseRow(value: unknown, settings: ListingSettings): ParsedRow {
  const row = readRecord(value)
  const modelId = row?.['id']
  if (row === null || typeof modelId !== 'string' || !isModelId(modelId)) {
    return { kind: 'unreadable', modelId: null, why: 'it has no usable ID' }
  }
  try {
    return parseIdentified(modelId, row, settings)
  } catch (error) {
    if (error instanceof RowRefusal) return { kind: error.reason, modelId, why: error.message }
    throw error
  }
}

/** Whether a text may be the catalog id of a model. */
export function isModelId(text: string): boolean {
  return text.length <= MODEL_NAME_CHARS_MAX && MODEL_ID.test(text) && !STRAYING_PATH.test(text)
}

function parseIdentified(
  modelId: string,
  row: Readonly<Record<string, unknown>>,
  settings: ListingSettings,
): ParsedRow {
  const target = readRecord(row['alias_target'])?.['slug']
  if (typeof target === 'string') return { kind: 'alias', name: modelId, target }
  // An alias may move from model to model, so no price is sure to be right.
  if (modelId.startsWith('~')) throw new RowRefusal('notOffered', 'it is an alias without a target')
  if (modelId.toLowerCase().endsWith(':batch')) {
    throw new RowRefusal('notOffered', 'it is priced for batches, which are not run here')
  }
  const { listed, prices } = parsePricing(row['pricing'])
  const listing = parseListing(modelId, row, listed)
  const parameters = new Set(listing.supported_parameters)
  const offer: Offer = {
    upstream: settings.upstream,
    modelId,
    upstreamModelId: modelId,
    authoredId: modelId,
    // Known where the upstreams of all models are.
    endpoints: [],
    inputModalities: new Set(listing.architecture.input_modalities),
    outputModalities: new Set(listing.architecture.output_modalities),
    supportedParameters: parameters,
    contextTokens: listing.context_length,
    outputTokensMax: listing.top_provider.max_completion_tokens,
    openWeights: (listing.hugging_face_id ?? '').trim() !== '',
    billsPerSearch:
      !settings.perSearchIdsRemoved.has(modelId) &&
      (settings.perSearchIdsAdded.has(modelId) ||
        // A price for searches alone is no sign of it: ordinary chat models have one.
        (parameters.has('web_search_options') &&
          !parameters.has('tools') &&
          (prices.search > 0n || prices.request > 0n))),
    prices,
    fastPrices: null,
    priceSnapshotId: priceSnapshotId(modelId, prices),
    feeBasisPoints: feeOfModel(settings.fees, modelId),
  }
  return { kind: 'model', offer, listing }
}

function parseListing(
  modelId: string,
  row: Readonly<Record<string, unknown>>,
  pricing: ModelListing['pricing'],
): ModelListing {
  const architecture = readRecord(row['architecture'])
  if (architecture === null) throw new RowRefusal('unreadable', 'it has no architecture')
  const provider = parseProvider(row['top_provider'])
  const name = optionalText(row['name']) ?? modelId
  const created = parseCreated(row['created'])
  return {
    id: modelId,
    object: 'model',
    type: 'model',
    owned_by: modelId.slice(0, modelId.indexOf('/')),
    canonical_slug: optionalText(row['canonical_slug']),
    hugging_face_id: optionalText(row['hugging_face_id']),
    name,
    display_name: name,
    created,
    created_at: new Date(created * 1_000).toISOString(),
    description: optionalText(row['description']),
    context_length: parseTokens(row, 'context_length') ?? provider.context_length,
    architecture: {
      modality: optionalText(architecture['modality']),
      input_modalities: parseModalities(architecture, 'input_modalities'),
      output_modalities: parseModalities(architecture, 'output_modalities'),
      tokenizer: optionalText(architecture['tokenizer']),
      instruct_type: optionalText(architecture['instruct_type']),
    },
    pricing,
    top_provider: provider,
    supported_parameters: parseParameters(row['supported_parameters']),
    knowledge_cutoff: optionalText(row['knowledge_cutoff']),
    expiration_date: optionalText(row['expiration_date']),
  }
}

function parseProvider(value: unknown): ModelListing['top_provider'] {
  const provider = value === undefined || value === null ? {} : readRecord(value)
  if (provider === null) throw new RowRefusal('unreadable', '`top_provider` is not an object')
  return {
    context_length: parseTokens(provider, 'context_length'),
    max_completion_tokens: parseTokens(provider, 'max_completion_tokens'),
    is_moderated: provider['is_moderated'] === true,
  }
}

/** A token count; absent, null and zero all mean that it is unknown. */
function parseTokens(owner: Readonly<Record<string, unknown>>, field: string): number | null {
  const value = owner[field]
  if (value === undefined || value === null || value === 0) return null
  if (isTokenCount(value)) return value
  throw new RowRefusal('unreadable', `\`${field}\` is not a token count`)
}

function parseModalities(
  architecture: Readonly<Record<string, unknown>>,
  field: 'input_modalities' | 'output_modalities',
): readonly string[] {
  const modalities = readStrings(architecture[field])
  if (modalities === null || modalities.length === 0) {
    throw new RowRefusal('unreadable', `\`architecture.${field}\` is not a list of modalities`)
  }
  return modalities
}

function parseParameters(value: unknown): readonly string[] {
  if (value === undefined || value === null) return []
  const parameters = readStrings(value)
  if (parameters === null) {
    throw new RowRefusal('unreadable', '`supported_parameters` is not a list of names')
  }
  return parameters
}

const LAST_SECOND_OF_9999 = 253_402_300_799

function parseCreated(value: unknown): number {
  const isSecond = typeof value === 'number' && Number.isInteger(value)
  return isSecond && value >= 0 && value <= LAST_SECOND_OF_9999 ? value : 0
}

// Display text: a wrong type is no reason to refuse a model.
function optionalText(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** The fee of a model, whose id is compared in any case: its own, else its author's, else that of every model. */
function feeOfModel({ everyModel, models }: Fees, modelId: string): number {
  const name = modelId.toLowerCase()
  const author = name.slice(0, name.indexOf('/'))
  return models.get(name) ?? models.get(`${author}/*`) ?? everyModel
}
