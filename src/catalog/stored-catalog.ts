import type { PriceSnapshotRow } from '../store/schema.ts'
import { isTokenCount, readRecord, readStrings } from '../upstreams/listing/json-reading.ts'
import type { ListedModel, ListingSettings } from '../upstreams/listing/listing.ts'
import { parseRow } from '../upstreams/listing/parse-listing.ts'
import {
  decodePriceTable,
  encodePriceTable,
  priceSnapshotId,
} from '../upstreams/listing/price-table.ts'
import type { HoldFigures } from './beliefs.ts'
import type { CatalogRow } from './row.ts'

/** Where the catalog and its prices outlive the process. Both methods reject where the store fails. */
export interface CatalogStore {
  /** What was last saved, where it came from this upstream; else null. Models in the order of ids. */
  load(source: string): Promise<StoredCatalog | null>
  /** Puts a refresh in the place of what was stored, whatever its source. All of it or nothing. */
  save(refresh: CatalogSave): Promise<void>
}

/** The last refresh that counted. */
export interface StoredCatalog {
  readonly refreshedAtMs: number
  readonly models: readonly StoredModel[]
}

/** One model at rest. */
export interface StoredModel {
  readonly modelId: string
  /** Made by {@link encodeModel}. */
  readonly itemJson: string
}

/** A refresh to be stored. */
export interface CatalogSave extends StoredCatalog {
  /** The upstream that the models came from: its base address. */
  readonly source: string
  /** Price tables that requests may name from now on; one that is there already is left as it is. */
  readonly snapshots: readonly PriceSnapshotRow[]
}

/**
 * A model as JSON text. The time of its prices stands in it only where that is not the catalog's, so
 * that a model which did not change makes the same text at each refresh.
 */
export function encodeModel(input: EncodeModelInput): StoredModel {
  const { offer, listing, aliases, refreshedAtMs } = input.row
  const own = refreshedAtMs === input.catalogRefreshedAtMs ? null : refreshedAtMs
  const fields = [
    `"listing":${JSON.stringify(listing)}`,
    `"aliases":${JSON.stringify(aliases)}`,
    `"prices":${encodePriceTable(offer.prices)}`,
    `"contextTokens":${JSON.stringify(offer.contextTokens)}`,
    `"outputTokensMax":${JSON.stringify(offer.outputTokensMax)}`,
    `"refreshedAtMs":${JSON.stringify(own)}`,
    `"endpoints":${input.endpointsJson}`,
  ]
  return { modelId: offer.modelId, itemJson: `{${fields.join(',')}}` }
}

interface EncodeModelInput {
  readonly row: CatalogRow
  readonly catalogRefreshedAtMs: number
  /** What is known of its endpoints' prices, as JSON text; null: nothing. */
  readonly endpointsJson: string | null
}

/**
 * A stored model as it was offered, with what is read from a listing (bills per search, open
 * weights) judged anew by today's settings. Null where the text is of another version's layout: the
 * next refresh replaces it.
 */
export function decodeModel(input: DecodeModelInput): CatalogRow | null {
  const { itemJson, catalogRefreshedAtMs, settings } = input
  const record = readRecord(parseJson(itemJson))
  const parsed = parseRow(record?.['listing'], settings)
  const aliases = readStrings(record?.['aliases'])
  const prices = decodePriceTable(record?.['prices'])
  const own = record?.['refreshedAtMs']
  if (parsed.kind !== 'model' || aliases === null || prices === null) return null
  const { offer, listing } = parsed
  const figures = {
    prices,
    contextTokens: storedTokens(record?.['contextTokens'], offer.contextTokens),
    outputTokensMax: storedTokens(record?.['outputTokensMax'], offer.outputTokensMax),
  }
  return {
    ...withFigures({ offer, listing, aliases }, figures),
    refreshedAtMs: typeof own === 'number' ? own : catalogRefreshedAtMs,
  }
}

/** What {@link encodeModel} was given of a model's endpoints, parsed; undefined where it was another version. */
export function storedEndpoints({ itemJson }: StoredModel): unknown {
  return readRecord(parseJson(itemJson))?.['endpoints']
}

interface DecodeModelInput {
  readonly itemJson: string
  readonly catalogRefreshedAtMs: number
  readonly settings: ListingSettings
}

/** By position: what was believed, and what was listed: an earlier version stored only the latter. */
function storedTokens(believed: unknown, listed: number | null): number | null {
  return believed === null || isTokenCount(believed) ? believed : listed
}

/** The same model with other figures to hold by, its price snapshot named accordingly. */
export function withFigures(model: ListedModel, figures: HoldFigures): ListedModel {
  const { modelId } = model.offer
  const { prices, contextTokens, outputTokensMax } = figures
  const snapshotId = priceSnapshotId(modelId, prices)
  return {
    ...model,
    offer: { ...model.offer, prices, contextTokens, outputTokensMax, priceSnapshotId: snapshotId },
  }
}

/** The snapshot that an offer names. */
export function snapshotOf(model: ListedModel, createdAtMs: number): PriceSnapshotRow {
  const { modelId, prices, priceSnapshotId } = model.offer
  return { id: priceSnapshotId, modelId, pricesJson: encodePriceTable(prices), createdAtMs }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
