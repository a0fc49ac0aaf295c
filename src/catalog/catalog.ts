import type { ListedModel, ListingSettings, ModelListing } from '../upstreams/listing/listing.ts'
import { MODEL_NAME_CHARS_MAX } from '../upstreams/listing/listing.ts'
import type { UpstreamSettings } from '../upstreams/upstream-settings.ts'
import type { Clock } from '../vocabulary/clock.ts'
import { FEE_BASIS_POINTS_DEFAULT } from '../vocabulary/money.ts'
import type { Offer } from '../vocabulary/offer.ts'
import { echoed, Problem, type ProblemInput } from '../vocabulary/problem.ts'
import { Claims } from './claims.ts'

/** The operator's settings of the catalog. */
export interface CatalogSettings extends ListingSettings {
  /** Time from the end of one refresh to the start of the next, before jitter. */
  readonly catalogRefreshMs: number
  /** Age past which a model's prices are too old to size a hold with. */
  readonly pricesStaleAfterMs: number
  /** Further names of models: name → catalog id. Never shadows an id that the catalog lists. */
  readonly aliases: ReadonlyMap<string, string>
}

/** Prices every five minutes, stale after an hour, a fee of 5%; no names or ids beside the upstream's own. */
export const DEFAULT_CATALOG_SETTINGS: CatalogSettings = {
  upstream: 'openrouter',
  catalogRefreshMs: 5 * 60_000,
  pricesStaleAfterMs: 60 * 60_000,
  aliases: new Map(),
  perSearchIdsAdded: new Set(),
  perSearchIdsRemoved: new Set(),
  fees: { everyModel: FEE_BASIS_POINTS_DEFAULT, models: new Map() },
}

/** One model as the catalog keeps it. */
export interface CatalogRow extends ListedModel {
  /** When the upstream last listed the prices of this model. */
  readonly refreshedAtMs: number
}

/** The body of `GET /v1/models`. */
interface ModelList {
  readonly object: 'list'
  readonly data: readonly ModelListing[]
}

const ONE_MILLION_CONTEXT_MARK = '[1m]'

/**
 * The models on offer, in memory. Look-ups take no store and no network; a refresh swaps in a whole
 * new index at once, so a look-up sees one list or the next, never a mixture.
 *
 * A name resolves by its exact id, then by its id in any case, then by an alias in any case: a
 * configured one, a canonical slug, or an alias row of the upstream. A name that two models share in
 * any of these ways resolves to neither.
 */
export class Catalog {
  readonly #clock: Clock
  readonly #settings: Pick<CatalogSettings, 'pricesStaleAfterMs' | 'aliases'>
  readonly #claims: Claims
  #index: CatalogIndex | null = null

  constructor(input: {
    readonly clock: Clock
    readonly settings: Pick<CatalogSettings, 'pricesStaleAfterMs' | 'aliases'>
    /** In the order in which they take ids that several of them list. */
    readonly upstreams: readonly Pick<UpstreamSettings, 'name' | 'models'>[]
  }) {
    this.#clock = input.clock
    this.#settings = input.settings
    this.#claims = new Claims(input.upstreams)
  }

  /** Takes the rows that were stored of an upstream, before its first refresh. */
  restore(upstream: string, rows: readonly CatalogRow[]): void {
    this.#index = buildIndex(this.#claims.restore(upstream, rows), this.#settings.aliases)
  }

  /** Puts these rows in the place of all earlier ones of this upstream. Called by its refresher. */
  replace(upstream: string, rows: readonly CatalogRow[]): void {
    this.#index = buildIndex(this.#claims.replace(upstream, rows), this.#settings.aliases)
  }

  /** The rows that an upstream lists, shadowed ones too. */
  rowsOf(upstream: string): readonly CatalogRow[] {
    return this.#claims.rowsOf(upstream)
  }

  /** The ids that an upstream lists and another one has. */
  shadowedOf(upstream: string): readonly string[] {
    return this.#claims.shadowedOf(upstream)
  }

  /**
   * The model that a request names, at its price. One trailing `[1m]` of the name is ignored.
   *
   * Throws Problem: `model_not_found`; `model_prices_stale` where its prices are too old to size a
   * hold with; `service_unavailable` while no list was ever loaded, because it is then unknown
   * whether the model exists.
   */
  offerFor(modelName: string): Offer {
    if (this.#index === null) {
      throw new Problem('service_unavailable', { message: 'The model catalog is not loaded yet.' })
    }
    const row = resolve(this.#index, modelName)
    if (row === null) throw modelNotFound(modelName, { param: 'model' })
    if (this.#clock.nowMs() - row.refreshedAtMs > this.#settings.pricesStaleAfterMs) {
      throw new Problem('model_prices_stale')
    }
    return row.offer
  }

  /**
   * The body of `GET /v1/models/{id}` for any name that resolves; null: 404. UTF-8 JSON that is made once a
   * refresh and shared: do not write to it. Never throws.
   */
  modelBytes(modelName: string): Buffer | null {
    if (this.#index === null) return null
    const row = resolve(this.#index, modelName)
    return row === null ? null : (this.#index.bytesByRow.get(row) ?? null)
  }

  /** The body of `GET /v1/models`. Empty while no list was ever loaded. */
  list(): ModelList {
    return { object: 'list', data: this.rows().map((row) => row.listing) }
  }

  /** {@link list} as UTF-8 JSON, made once a refresh and shared: do not write to it. */
  listBytes(): Buffer {
    return this.#index?.listBytes ?? EMPTY_LIST_BYTES
  }

  /** {@link listBytes} with some models alone. */
  someBytes(isShown: (modelId: string) => boolean): Buffer {
    const { rows = [], bytesByRow } = this.#index ?? {}
    const shown = rows.filter(({ offer }) => isShown(offer.modelId))
    return joined(shown.flatMap((row) => bytesByRow?.get(row) ?? []))
  }

  /** The catalog id of the model that a name resolves to; null: of none. */
  idOf(modelName: string): string | null {
    return this.#index === null ? null : (resolve(this.#index, modelName)?.offer.modelId ?? null)
  }

  /** Every row on offer, in the order of the upstreams and of their lists. */
  rows(): readonly CatalogRow[] {
    return this.#index?.rows ?? []
  }

  /** The ids of all rows. */
  get modelIds(): ReadonlySet<string> {
    return this.#index?.modelIds ?? new Set()
  }

  /** When the most recent prices were requested; null while no list was ever loaded. */
  get refreshedAtMs(): number | null {
    return this.#index?.refreshedAtMs ?? null
  }

  /** When the most recent prices of an upstream were requested; null while it never listed any. */
  refreshedAtMsOf(upstream: string): number | null {
    return youngestOf(this.rowsOf(upstream))
  }
}

interface CatalogIndex {
  readonly rows: readonly CatalogRow[]
  readonly byId: ReadonlyMap<string, CatalogRow>
  readonly modelIds: ReadonlySet<string>
  /** By lower-cased id or alias; null: two models share the name. */
  readonly byOtherName: ReadonlyMap<string, CatalogRow | null>
  readonly listBytes: Buffer
  /** Each row's listing as it stands in {@link listBytes}: a part of the same memory. */
  readonly bytesByRow: ReadonlyMap<CatalogRow, Buffer>
  /** Of the youngest row; null where there are none. */
  readonly refreshedAtMs: number | null
}

const LIST_HEAD = Buffer.from('{"object":"list","data":[')
const LIST_TAIL = Buffer.from(']}')
const COMMA = Buffer.from(',')
const EMPTY_LIST_BYTES = Buffer.concat([LIST_HEAD, LIST_TAIL])

function buildIndex(
  listedRows: readonly CatalogRow[],
  configuredAliases: ReadonlyMap<string, string>,
): CatalogIndex {
  const rows = withFastPrices(listedRows)
  const byId = new Map(rows.map((row) => [row.offer.modelId, row]))
  const ids = namesOnce(rows.map((row) => ({ name: row.offer.modelId, row })))
  const configured: NamedRow[] = []
  for (const [name, modelId] of configuredAliases) {
    const row = byId.get(modelId)
    if (row !== undefined) configured.push({ name, row })
  }
  const listed = rows.flatMap((row) => row.aliases.map((name) => ({ name, row })))
  // A later entry wins, also one that marks a name as ambiguous.
  const byOtherName = new Map([...namesOnce(listed), ...namesOnce(configured), ...ids])
  const modelIds = new Set(byId.keys())
  return { rows, byId, modelIds, byOtherName, ...bytesOf(rows), refreshedAtMs: youngestOf(rows) }
}

function youngestOf(rows: readonly CatalogRow[]): number | null {
  return rows.reduce<number | null>(
    (youngest, row) => Math.max(youngest ?? row.refreshedAtMs, row.refreshedAtMs),
    null,
  )
}

function bytesOf(rows: readonly CatalogRow[]): Pick<CatalogIndex, 'listBytes' | 'bytesByRow'> {
  const listings = rows.map(({ listing }) => Buffer.from(JSON.stringify(listing)))
  const listBytes = joined(listings)
  const bytesByRow = new Map<CatalogRow, Buffer>()
  let from = LIST_HEAD.length
  for (const [place, row] of rows.entries()) {
    const to = from + (listings[place]?.length ?? 0)
    bytesByRow.set(row, listBytes.subarray(from, to))
    from = to + COMMA.length
  }
  return { listBytes, bytesByRow }
}

function joined(listings: readonly Buffer[]): Buffer {
  const pieces = listings.flatMap((bytes, place) => (place === 0 ? [bytes] : [COMMA, bytes]))
  return Buffer.concat([LIST_HEAD, ...pieces, LIST_TAIL])
}

/** The rows, each with the prices of its `-fast` sibling where there is one. */
function withFastPrices(rows: readonly CatalogRow[]): readonly CatalogRow[] {
  const byId = new Map(rows.map(({ offer }) => [offer.modelId, offer]))
  return rows.map((row) => {
    const { offer } = row
    const sibling = byId.get(`${offer.modelId}-fast`)
    const isTier = sibling?.upstream === offer.upstream && isDearer(sibling, offer)
    const fastPrices = isTier ? sibling.prices : null
    return fastPrices === offer.fastPrices ? row : { ...row, offer: { ...offer, fastPrices } }
  })
}

// A cheaper model of that name is a smaller model, and no tier of this one.
function isDearer({ prices: sibling }: Offer, { prices }: Offer): boolean {
  return sibling.input >= prices.input && sibling.output >= prices.output
}

interface NamedRow {
  readonly name: string
  readonly row: CatalogRow
}

function namesOnce(named: readonly NamedRow[]): Map<string, CatalogRow | null> {
  const byName = new Map<string, CatalogRow | null>()
  for (const { name, row } of named) {
    const folded = name.toLowerCase()
    const earlier = byName.get(folded)
    byName.set(folded, earlier === undefined || earlier === row ? row : null)
  }
  return byName
}

function resolve(index: CatalogIndex, modelName: string): CatalogRow | null {
  const name = modelName.endsWith(ONE_MILLION_CONTEXT_MARK)
    ? modelName.slice(0, -ONE_MILLION_CONTEXT_MARK.length)
    : modelName
  // A name can be as long as a body, and hashing it would be the most expensive part of the request.
  if (name.length > MODEL_NAME_CHARS_MAX) return null
  return index.byId.get(name) ?? index.byOtherName.get(name.toLowerCase()) ?? null
}

/** The 404 of a name that no model has. */
export function modelNotFound(modelName: string, input: ProblemInput = {}): Problem {
  const shown = echoed(modelName)
  const named = shown === null ? 'This model' : `Model "${shown}"`
  const message = `${named} is not in the catalog; GET /v1/models lists what is.`
  return new Problem('model_not_found', { ...input, message })
}
