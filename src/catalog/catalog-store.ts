import type { Kysely } from 'kysely'
import { isTokenCount, readRecord, readStrings } from '../json/walk.ts'
import { PRICE_SNAPSHOTS, type PriceSnapshotRow } from '../store/catalog-tables.ts'
import type { Tables } from '../store/schema.ts'
import type { ListedModel, ListingSettings } from '../upstreams/listing/listing.ts'
import { parseRow } from '../upstreams/listing/listing.ts'
import {
  decodePriceTable,
  encodePriceTable,
  priceSnapshotId,
  tenPercentMore,
} from '../upstreams/listing/price-table.ts'
import type { WrittenModel } from '../upstreams/upstream-settings.ts'
import type { PriceTable } from '../vocabulary/offer.ts'
import { slicesOf } from '../vocabulary/slices.ts'
import type { HoldFigures } from './beliefs.ts'
import type { CatalogRow } from './claims.ts'

/** The catalog in the store's tables: the last list of each upstream. */
export function createCatalogStore(db: Kysely<Tables>): StoredLists {
  return {
    async load({ upstream, source }) {
      const state = await db
        .selectFrom('catalog_state')
        .select('refreshed_at_ms')
        .where('upstream', '=', upstream)
        .where('source', '=', source)
        .executeTakeFirst()
      if (state === undefined) return null
      const refreshedAtMs = Number(state.refreshed_at_ms)
      return { refreshedAtMs, models: await modelsOf(db, upstream) }
    },

    async loadAll() {
      const states = await db
        .selectFrom('catalog_state')
        .select(['upstream', 'refreshed_at_ms'])
        .orderBy('place')
        .orderBy('upstream')
        .execute()
      const lists: StoredCatalog[] = []
      for (const { upstream, refreshed_at_ms: refreshedAtMs } of states) {
        const models = await modelsOf(db, upstream)
        lists.push({ refreshedAtMs: Number(refreshedAtMs), models })
      }
      return lists
    },

    async keepOnly(upstreams) {
      await db.transaction().execute(async (transaction) => {
        for (const table of ['catalog_models', 'catalog_state'] as const) {
          await transaction
            .deleteFrom(table)
            .where('upstream', 'not in', [...upstreams])
            .execute()
        }
      })
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

/** When each upstream was last listed, and how many models its list has. */
export async function readLists(
  db: Kysely<Tables>,
): Promise<ReadonlyMap<string, { readonly refreshedAtMs: number; readonly models: number }>> {
  const rows = await db
    .selectFrom('catalog_state')
    .leftJoin('catalog_models', 'catalog_models.upstream', 'catalog_state.upstream')
    .select(({ fn }) => [
      'catalog_state.upstream',
      'catalog_state.refreshed_at_ms',
      fn.count<number>('catalog_models.id').as('models'),
    ])
    .groupBy(['catalog_state.upstream', 'catalog_state.refreshed_at_ms'])
    .execute()
  return new Map(
    rows.map(({ upstream, refreshed_at_ms: refreshedAtMs, models }) => [
      upstream,
      { refreshedAtMs: Number(refreshedAtMs), models: Number(models) },
    ]),
  )
}

function modelsOf(db: Kysely<Tables>, upstream: string): Promise<readonly StoredModel[]> {
  return db
    .selectFrom('catalog_models')
    .select(['id as modelId', 'item_json as itemJson'])
    .where('upstream', '=', upstream)
    .orderBy('id')
    .execute()
}

// Below each engine's limit of parameters in one statement.
const ROWS_A_STATEMENT = 200

interface Changes {
  readonly models: readonly StoredModel[]
  readonly removedIds: readonly string[]
  readonly snapshots: readonly PriceSnapshotRow[]
}

async function changesOf(db: Kysely<Tables>, refresh: CatalogSave): Promise<Changes> {
  const stored = await modelsOf(db, refresh.upstream)
  const storedById = new Map(stored.map(({ modelId, itemJson }) => [modelId, itemJson]))
  const models = refresh.models.filter(
    ({ modelId, itemJson }) => storedById.get(modelId) !== itemJson,
  )
  const listedIds = new Set(refresh.models.map((model) => model.modelId))
  const known = new Set<string>()
  for (const some of slicesOf(refresh.snapshots, ROWS_A_STATEMENT)) {
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
    removedIds: stored.map(({ modelId }) => modelId).filter((id) => !listedIds.has(id)),
    snapshots: refresh.snapshots.filter((snapshot) => !known.has(snapshot.id)),
  }
}

async function apply(db: Kysely<Tables>, refresh: CatalogSave, changes: Changes): Promise<void> {
  const { upstream, source, place, refreshedAtMs } = refresh
  for (const some of slicesOf(changes.removedIds, ROWS_A_STATEMENT)) {
    await db
      .deleteFrom('catalog_models')
      .where('upstream', '=', upstream)
      .where('id', 'in', some)
      .execute()
  }
  for (const some of slicesOf(changes.models, ROWS_A_STATEMENT)) {
    await db
      .insertInto('catalog_models')
      .values(some.map(({ modelId, itemJson }) => ({ upstream, id: modelId, item_json: itemJson })))
      .onConflict((conflict) =>
        conflict
          .columns(['upstream', 'id'])
          .doUpdateSet((values) => ({ item_json: values.ref('excluded.item_json') })),
      )
      .execute()
  }
  for (const some of slicesOf(changes.snapshots, ROWS_A_STATEMENT)) {
    await db
      .insertInto('price_snapshots')
      .values(some.map((snapshot) => PRICE_SNAPSHOTS.record(snapshot)))
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute()
  }
  await db
    .insertInto('catalog_state')
    .values({ upstream, source, place, refreshed_at_ms: refreshedAtMs })
    .onConflict((conflict) =>
      conflict.column('upstream').doUpdateSet({ source, place, refreshed_at_ms: refreshedAtMs }),
    )
    .execute()
}

/** The stored catalog and prices, which outlive the process. All methods reject if the store fails. */
export interface CatalogStore {
  /** The last refresh of an upstream that was saved, if it was from this address; else null. Models in the order of ids. */
  load(from: Pick<CatalogSave, 'upstream' | 'source'>): Promise<StoredCatalog | null>
  /** Replaces the stored list of the upstream, from any address. All of it or nothing. */
  save(refresh: CatalogSave): Promise<void>
}

/** The stored catalog of all upstreams. */
interface StoredLists extends CatalogStore {
  /** The last refresh of each upstream, in their order. */
  loadAll(): Promise<readonly StoredCatalog[]>
  /** Forgets the lists of all other upstreams. At least one name. */
  keepOnly(upstreams: readonly string[]): Promise<void>
}

/** The last refresh that counted. */
export interface StoredCatalog {
  readonly refreshedAtMs: number
  readonly models: readonly StoredModel[]
}

interface StoredModel {
  readonly modelId: string
  /** Made by {@link encodeModel}. */
  readonly itemJson: string
}

/** A refresh that is about to be stored. */
interface CatalogSave extends StoredCatalog {
  /** The name of the upstream that the models came from. */
  readonly upstream: string
  /** Its base address. */
  readonly source: string
  /** Its place in the order of the settings, from 0. */
  readonly place: number
  /** Price tables that requests may name from now on; one that is there already is left as it is. */
  readonly snapshots: readonly PriceSnapshotRow[]
}

/**
 * A model as JSON text. It has the time of its prices only if that is not the catalog's, so
 * that a model which did not change makes the same text at each refresh.
 */
export function encodeModel(input: {
  readonly row: CatalogRow
  readonly catalogRefreshedAtMs: number
  /** The prices of its endpoints as JSON text; null: none are known. */
  readonly endpointsJson: string | null
  /** Its lines in the settings, made by {@link writtenText}; null: none. */
  readonly written: string | null
}): StoredModel {
  const { offer, listing, aliases, refreshedAtMs } = input.row
  const own = refreshedAtMs === input.catalogRefreshedAtMs ? null : refreshedAtMs
  const fields = [
    `"listing":${JSON.stringify(listing)}`,
    `"aliases":${JSON.stringify(aliases)}`,
    `"prices":${encodePriceTable(offer.prices)}`,
    ...(offer.regionalPrices === undefined
      ? []
      : [`"regionalPrices":${encodePriceTable(offer.regionalPrices)}`]),
    ...(offer.marksUnmarked === undefined ? [] : ['"marksUnmarked":true']),
    `"contextTokens":${JSON.stringify(offer.contextTokens)}`,
    `"outputTokensMax":${JSON.stringify(offer.outputTokensMax)}`,
    ...(offer.uncappedThinkingTokens === undefined
      ? []
      : [`"uncappedThinkingTokens":${JSON.stringify(offer.uncappedThinkingTokens)}`]),
    `"refreshedAtMs":${JSON.stringify(own)}`,
    `"openWeights":${JSON.stringify(offer.openWeights)}`,
    `"upstreamModelId":${JSON.stringify(offer.upstreamModelId)}`,
    `"authoredId":${JSON.stringify(offer.authoredId)}`,
    `"formats":${JSON.stringify(offer.endpoints)}`,
    ...(input.written === null ? [] : [`"written":${JSON.stringify(input.written)}`]),
    `"endpoints":${input.endpointsJson}`,
  ]
  return { modelId: offer.modelId, itemJson: `{${fields.join(',')}}` }
}

/**
 * A stored model as it was offered, with whether it bills per search read again from its listing with today's
 * settings. Null if the text has the layout of another version: the next
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
  const upstreamModelId = record?.['upstreamModelId']
  if (parsed.kind !== 'model' || aliases === null || prices === null) return null
  const { listing } = parsed
  const openWeights = record?.['openWeights']
  // Left out by an earlier version: images are then held at the most expensive row until the next refresh.
  const authoredId = typeof record?.['authoredId'] === 'string' ? record['authoredId'] : null
  const regionalPrices = decodePriceTable(record?.['regionalPrices'])
  const uncappedThinkingTokens = record?.['uncappedThinkingTokens']
  // An earlier version stored neither: the ids were the same, and the listing showed open weights.
  const offer = {
    ...parsed.offer,
    ...(typeof upstreamModelId === 'string' ? { upstreamModelId } : {}),
    authoredId,
    ...(regionalPrices === null ? {} : { regionalPrices }),
    ...(isTokenCount(uncappedThinkingTokens) ? { uncappedThinkingTokens } : {}),
    ...(record?.['marksUnmarked'] === true ? { marksUnmarked: true as const } : {}),
    // Left out by an earlier version.
    endpoints: readStrings(record?.['formats']) ?? [],
    ...(typeof openWeights === 'boolean' ? { openWeights } : {}),
  }
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

/**
 * The endpoints that {@link encodeModel} was given, parsed, undefined in the layout of another version; and the model's
 * lines in the settings when it was stored.
 */
export function storedFacts({ itemJson }: StoredModel): {
  readonly endpoints: unknown
  readonly written: string | null
} {
  const { endpoints, written } = readRecord(parseJson(itemJson)) ?? {}
  return { endpoints, written: typeof written === 'string' ? written : null }
}

/** The settings' lines of a model, as text: the same text for the same lines. */
export function writtenText(written: WrittenModel): string {
  return JSON.stringify(written, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

/** By position: the believed figure and the listed one. An earlier version stored only the latter. */
function storedTokens(believed: unknown, listed: number | null): number | null {
  return believed === null || isTokenCount(believed) ? believed : listed
}

/** Replaces the figures by which holds of a model are sized, and names its price snapshot after them. */
export function withFigures(model: ListedModel, figures: HoldFigures): ListedModel {
  const { modelId } = model.offer
  const { prices, contextTokens, outputTokensMax } = figures
  const snapshotId = priceSnapshotId(modelId, prices)
  const { regionalPrices } = model.offer
  return {
    ...model,
    offer: {
      ...model.offer,
      prices,
      ...(regionalPrices === undefined ? {} : { regionalPrices: tenPercentMore(prices) }),
      contextTokens,
      outputTokensMax,
      priceSnapshotId: snapshotId,
    },
  }
}

/** The prices of a snapshot that a request names; null: there is none, or this release can't read it. */
export async function readPrices(
  db: Kysely<Tables>,
  priceSnapshotId: string,
): Promise<PriceTable | null> {
  const query = db.selectFrom('price_snapshots').select('prices_json')
  const row = await query.where('id', '=', priceSnapshotId).executeTakeFirst()
  return row === undefined ? null : decodePriceTable(parseJson(row.prices_json))
}

/** When each of these snapshots was first seen, by its ID; one that is not stored yet is absent. */
export async function readSnapshotTimes(
  db: Kysely<Tables>,
  snapshotIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const timesMs = new Map<string, number>()
  for (const some of slicesOf(snapshotIds, ROWS_A_STATEMENT)) {
    const query = db.selectFrom('price_snapshots').select(['id', 'created_at_ms'])
    const rows = await query.where('id', 'in', some).execute()
    for (const row of rows) timesMs.set(row.id, row.created_at_ms)
  }
  return timesMs
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
