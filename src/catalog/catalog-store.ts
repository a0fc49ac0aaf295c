import type { Kysely } from 'kysely'
import { PRICE_SNAPSHOTS, type PriceSnapshotRow, type Tables } from '../store/schema.ts'
import { isTokenCount, readRecord, readStrings } from '../upstreams/json-reading.ts'
import type { ListedModel, ListingSettings } from '../upstreams/listing/listing.ts'
import { parseRow } from '../upstreams/listing/listing.ts'
import {
  decodePriceTable,
  encodePriceTable,
  priceSnapshotId,
} from '../upstreams/listing/price-table.ts'
import type { HoldFigures } from './beliefs.ts'
import type { CatalogRow } from './catalog.ts'

/** The catalog in the store's tables: one list at a time, of one upstream. */
export function createCatalogStore(db: Kysely<Tables>): CatalogStore {
  return {
    async load(source) {
      const state = await db
        .selectFrom('catalog_state')
        .select('refreshed_at_ms')
        .where('source', '=', source)
        .executeTakeFirst()
      if (state === undefined) return null
      const rows = await db
        .selectFrom('catalog_models')
        .select(['id', 'item_json'])
        .where('source', '=', source)
        .orderBy('id')
        .execute()
      return {
        refreshedAtMs: Number(state.refreshed_at_ms),
        models: rows.map((row) => ({ modelId: row.id, itemJson: row.item_json })),
      }
    },

    async save(refresh) {
      // The stored rows are read before the write lock is taken: holds need that lock, and a refresh rarely
      // changes more than a row or two. Another process that saves in between has read the same upstream, and
      // any difference is written at the next refresh.
      const changes = await changesOf(db, refresh)
      await db.transaction().execute((transaction) => apply(transaction, refresh, changes))
    },
  }
}

// Below each engine's limit of parameters in one statement.
const ROWS_A_STATEMENT = 200

interface Changes {
  readonly models: readonly StoredModel[]
  readonly removedIds: readonly string[]
  readonly snapshots: readonly PriceSnapshotRow[]
}

async function changesOf(db: Kysely<Tables>, refresh: CatalogSave): Promise<Changes> {
  const stored = await db.selectFrom('catalog_models').selectAll().execute()
  const storedById = new Map(stored.map((row) => [row.id, row]))
  const models = refresh.models.filter(({ modelId, itemJson }) => {
    const row = storedById.get(modelId)
    return row === undefined || row.item_json !== itemJson || row.source !== refresh.source
  })
  const listedIds = new Set(refresh.models.map((model) => model.modelId))
  const known = new Set<string>()
  for (const some of chunks(refresh.snapshots)) {
    const found = await db
      .selectFrom('price_snapshots')
      .select('id')
      .where(
        'id',
        'in',
        some.map((snapshot) => snapshot.id),
      )
      .execute()
    for (const row of found) known.add(row.id)
  }
  return {
    models,
    removedIds: stored.map((row) => row.id).filter((id) => !listedIds.has(id)),
    snapshots: refresh.snapshots.filter((snapshot) => !known.has(snapshot.id)),
  }
}

async function apply(db: Kysely<Tables>, refresh: CatalogSave, changes: Changes): Promise<void> {
  const { source, refreshedAtMs } = refresh
  for (const some of chunks(changes.removedIds)) {
    await db.deleteFrom('catalog_models').where('id', 'in', some).execute()
  }
  for (const some of chunks(changes.models)) {
    await db
      .insertInto('catalog_models')
      .values(some.map(({ modelId, itemJson }) => ({ id: modelId, source, item_json: itemJson })))
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet((values) => ({
          source: values.ref('excluded.source'),
          item_json: values.ref('excluded.item_json'),
        })),
      )
      .execute()
  }
  for (const some of chunks(changes.snapshots)) {
    await db
      .insertInto('price_snapshots')
      .values(some.map((snapshot) => PRICE_SNAPSHOTS.record(snapshot)))
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute()
  }
  await db
    .insertInto('catalog_state')
    .values({ id: 1, source, refreshed_at_ms: refreshedAtMs })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet({ source, refreshed_at_ms: refreshedAtMs }),
    )
    .execute()
}

function* chunks<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < rows.length; start += ROWS_A_STATEMENT) {
    yield rows.slice(start, start + ROWS_A_STATEMENT)
  }
}

/** Where the catalog and its prices outlive the process. Both methods reject where the store fails. */
export interface CatalogStore {
  /** The last refresh that was saved, if it was of this upstream; else null. Models in the order of ids. */
  load(source: string): Promise<StoredCatalog | null>
  /** Replaces the stored catalog, of any source. All of it or nothing. */
  save(refresh: CatalogSave): Promise<void>
}

/** The last refresh that counted. */
export interface StoredCatalog {
  readonly refreshedAtMs: number
  readonly models: readonly StoredModel[]
}

/** A stored model. */
interface StoredModel {
  readonly modelId: string
  /** Made by {@link encodeModel}. */
  readonly itemJson: string
}

/** A refresh to be stored. */
interface CatalogSave extends StoredCatalog {
  /** The upstream that the models came from: its base address. */
  readonly source: string
  /** Price tables that requests may name from now on; one that is there already is left as it is. */
  readonly snapshots: readonly PriceSnapshotRow[]
}

/**
 * A model as JSON text. The time of its prices stands in it only where that is not the catalog's, so
 * that a model which did not change makes the same text at each refresh.
 */
export function encodeModel(input: {
  readonly row: CatalogRow
  readonly catalogRefreshedAtMs: number
  /** The prices of its endpoints as JSON text; null: none are known. */
  readonly endpointsJson: string | null
}): StoredModel {
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

/**
 * A stored model as it was offered, with the fields that are read from its listing (bills per search, open
 * weights) read again with today's settings. Null where the text has the layout of another version: the next
 * refresh replaces it.
 */
export function decodeModel(input: {
  readonly itemJson: string
  readonly catalogRefreshedAtMs: number
  readonly settings: ListingSettings
}): CatalogRow | null {
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

/** The endpoints that {@link encodeModel} was given, parsed; undefined in the layout of another version. */
export function storedEndpoints({ itemJson }: StoredModel): unknown {
  return readRecord(parseJson(itemJson))?.['endpoints']
}

/** By position: the believed figure and the listed one. An earlier version stored only the latter. */
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
