import type { Offer } from '../../vocabulary/offer.ts'
import { isTokenCount, readRecord, readStrings } from './json-reading.ts'
import type { ListingSettings, ModelListing } from './listing.ts'
import { parsePricing } from './parse-pricing.ts'
import { priceSnapshotId } from './price-table.ts'
import { RowRefusal } from './row-refusal.ts'

/** What one row of the upstream's list turned out to be. */
export type ParsedRow =
  | { readonly kind: 'model'; readonly offer: Offer; readonly listing: ModelListing }
  /** Another name of a model: of its id, or of its canonical slug. */
  | { readonly kind: 'alias'; readonly name: string; readonly target: string }
  /** A model that can't be sold: without a price, priced case by case, or for batches alone. */
  | { readonly kind: 'notOffered'; readonly modelId: string; readonly why: string }
  /** Fields of wrong types; `modelId` is null where not even the id can be read. */
  | { readonly kind: 'unreadable'; readonly modelId: string | null; readonly why: string }

/** Longest catalog id, and so the longest name that is looked up. */
export const MODEL_NAME_CHARS_MAX = 256

// The id stands in URLs, logs and other people's JSON: nothing in it may need escaping.
const MODEL_ID = /^~?[A-Za-z0-9][\w.-]*\/[\w.:@+/-]+$/

// As part of a URL's path, it would ask the upstream for something else with our key.
const STRAYING_PATH = /\.\.|\/\.?(?:\/|$)/

/** Reads one row of an upstream's model list, or one of our own listings. Never throws. */
export function parseRow(value: unknown, settings: ListingSettings): ParsedRow {
  const row = readRecord(value)
  const modelId = row?.['id']
  if (row === null || typeof modelId !== 'string' || !isModelId(modelId)) {
    return { kind: 'unreadable', modelId: null, why: 'it has no usable id' }
  }
  try {
    return parseIdentified(modelId, row, settings)
  } catch (error) {
    if (error instanceof RowRefusal) return { kind: error.reason, modelId, why: error.message }
    throw error
  }
}

function isModelId(text: string): boolean {
  return text.length <= MODEL_NAME_CHARS_MAX && MODEL_ID.test(text) && !STRAYING_PATH.test(text)
}

function parseIdentified(
  modelId: string,
  row: Readonly<Record<string, unknown>>,
  settings: ListingSettings,
): ParsedRow {
  const target = readRecord(row['alias_target'])?.['slug']
  if (typeof target === 'string') return { kind: 'alias', name: modelId, target }
  // A name that moves from model to model may not be billed at any one's price.
  if (modelId.startsWith('~')) throw new RowRefusal('notOffered', 'it is an alias without a target')
  if (modelId.toLowerCase().endsWith(':batch')) {
    throw new RowRefusal('notOffered', 'it is priced for batches, which are not run here')
  }
  const { listed, prices } = parsePricing(row['pricing'])
  const listing = parseListing({ modelId, row, pricing: listed })
  const parameters = new Set(listing.supported_parameters)
  const offer: Offer = {
    upstream: settings.upstream,
    modelId,
    inputModalities: new Set(listing.architecture.input_modalities),
    outputModalities: new Set(listing.architecture.output_modalities),
    supportedParameters: parameters,
    contextTokens: listing.context_length,
    outputTokensMax: listing.top_provider.max_completion_tokens,
    openWeights: (listing.hugging_face_id ?? '').trim() !== '',
    billsPerSearch:
      !settings.perSearchIdsRemoved.has(modelId) &&
      (settings.perSearchIdsAdded.has(modelId) ||
        // A price for searches alone does not mean it: ordinary chat models carry one.
        (parameters.has('web_search_options') &&
          !parameters.has('tools') &&
          (prices.search > 0n || prices.request > 0n))),
    prices,
    fastPrices: null,
    priceSnapshotId: priceSnapshotId(modelId, prices),
  }
  return { kind: 'model', offer, listing }
}

interface ListingInput {
  readonly modelId: string
  readonly row: Readonly<Record<string, unknown>>
  readonly pricing: ModelListing['pricing']
}

function parseListing({ modelId, row, pricing }: ListingInput): ModelListing {
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
    context_length:
      parseTokens({ value: row['context_length'], field: 'context_length' }) ??
      provider.context_length,
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
  if (provider === null) throw new RowRefusal('unreadable', '`top_provider` is no object')
  return {
    context_length: parseTokens({
      value: provider['context_length'],
      field: 'top_provider.context_length',
    }),
    max_completion_tokens: parseTokens({
      value: provider['max_completion_tokens'],
      field: 'top_provider.max_completion_tokens',
    }),
    is_moderated: provider['is_moderated'] === true,
  }
}

/** A token count; absent, null and zero all mean that none is known. */
function parseTokens(input: { readonly value: unknown; readonly field: string }): number | null {
  const { value, field } = input
  if (value === undefined || value === null || value === 0) return null
  if (isTokenCount(value)) return value
  throw new RowRefusal('unreadable', `\`${field}\` is no token count`)
}

function parseModalities(
  architecture: Readonly<Record<string, unknown>>,
  field: 'input_modalities' | 'output_modalities',
): readonly string[] {
  const modalities = readStrings(architecture[field])
  if (modalities === null || modalities.length === 0) {
    throw new RowRefusal('unreadable', `\`architecture.${field}\` is no list of modalities`)
  }
  return modalities
}

function parseParameters(value: unknown): readonly string[] {
  if (value === undefined || value === null) return []
  const parameters = readStrings(value)
  if (parameters === null) {
    throw new RowRefusal('unreadable', '`supported_parameters` is no list of names')
  }
  return parameters
}

const LAST_SECOND_OF_9999 = 253_402_300_799

function parseCreated(value: unknown): number {
  const isSecond = typeof value === 'number' && Number.isInteger(value)
  return isSecond && value >= 0 && value <= LAST_SECOND_OF_9999 ? value : 0
}

// Text for display: of a wrong type it is no reason to refuse a model.
function optionalText(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
