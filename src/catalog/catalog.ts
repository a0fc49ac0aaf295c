import type { ListingSettings } from '../upstreams/listing/listing.ts'
import { MODEL_NAME_CHARS_MAX } from '../upstreams/listing/listing.ts'
import type { Claimant } from '../upstreams/upstream-settings.ts'
import { type Clock, HOUR_MS, MINUTE_MS } from '../vocabulary/clock.ts'
import type { ModelChoice } from '../vocabulary/model-lists.ts'
import { FEE_BASIS_POINTS_DEFAULT } from '../vocabulary/money.ts'
import type { Offer } from '../vocabulary/offer.ts'
import { echoed, Problem, type ProblemInput } from '../vocabulary/problem.ts'
import { type CatalogRow, Claims } from './claims.ts'
import { NearModels } from './near-models.ts'
import {
  type ChargedModel,
  type PricesListed,
  type ServedList,
  ServedModels,
} from './served-models.ts'

/** The operator's settings of the catalog. */
export interface CatalogSettings extends ListingSettings {
  /** Time from the end of one refresh to the start of the next, before jitter. */
  readonly catalogRefreshMs: number
  /** Age past which a model's prices are too old to size a hold with. */
  readonly pricesStaleAfterMs: number
  /** Further names of models: name → catalog id. Never shadows an id that the catalog lists. */
  readonly aliases: ReadonlyMap<string, string>
  /** The prices that `pricing` of `GET /v1/models` has: the provider's, or those that are charged. */
  readonly pricesListed: PricesListed
}

type IndexSettings = Pick<CatalogSettings, 'pricesStaleAfterMs' | 'aliases' | 'pricesListed'>

/** Prices every five minutes, stale after an hour, a fee of 5%; no names or IDs in addition to the upstream's own. */
export const DEFAULT_CATALOG_SETTINGS: CatalogSettings = {
  upstream: 'openrouter',
  catalogRefreshMs: 5 * MINUTE_MS,
  pricesStaleAfterMs: HOUR_MS,
  aliases: new Map(),
  pricesListed: 'provider',
  perSearchIdsAdded: new Set(),
  perSearchIdsRemoved: new Set(),
  fees: { everyModel: FEE_BASIS_POINTS_DEFAULT, models: new Map() },
}

const ONE_OF = new Intl.ListFormat('en-GB', { type: 'disjunction' })
const ONE_MILLION_CONTEXT_MARK = '[1m]'
const NO_MODELS = new ServedModels([], 'provider')

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
  readonly #settings: IndexSettings
  readonly #claims: Claims
  readonly #onStale: (upstream: string) => void
  #index: CatalogIndex | null = null
  /** Made for the first unknown name after a refresh. */
  #near: NearModels | null = null

  constructor(input: {
    readonly clock: Clock
    readonly settings: IndexSettings
    /** In the order in which they take ids that several of them list. */
    readonly upstreams: readonly Claimant[]
    /** Called for each look-up that finds prices of this upstream too old. Must not throw. Default: nothing. */
    readonly onStale?: (upstream: string) => void
  }) {
    this.#clock = input.clock
    this.#onStale = input.onStale ?? (() => {})
    this.#settings = input.settings
    this.#claims = new Claims(input.upstreams)
  }

  /** Takes the rows that were stored of an upstream, before its first refresh. */
  restore(upstream: string, rows: readonly CatalogRow[]): void {
    this.#offer(this.#claims.restore(upstream, rows))
  }

  /** Puts these rows in the place of all earlier ones of this upstream. Called by its refresher. */
  replace(upstream: string, rows: readonly CatalogRow[]): void {
    this.#offer(this.#claims.replace(upstream, rows))
  }

  #offer(rows: readonly CatalogRow[]): void {
    this.#index = buildIndex(rows, this.#settings)
    this.#near = null
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
   * The model that a request names, at its price, from the upstream that answers it in this format; where none
   * does, from the first that has it. One trailing `[1m]` of the name is ignored. By position: the name, the format's,
   * and the models that a refusal may suggest; null: all.
   *
   * Throws Problem: `model_not_found`; `model_prices_stale` where its prices are too old to size a
   * hold with; `service_unavailable` while no list was ever loaded, because it is then unknown
   * whether the model exists.
   */
  offerFor(modelName: string, endpoint: string, access: ModelChoice | null = null): Offer {
    if (this.#index === null) {
      throw new Problem('service_unavailable', {
        message: 'The model catalog is not loaded yet. Try again in a few seconds.',
      })
    }
    const model = resolve(this.#index, modelName)
    const row = model === null ? null : rowFor(model, endpoint)
    if (row === null) throw this.notFound(modelName, access, { param: 'model' })
    if (this.isStale(row)) {
      this.#onStale(row.offer.upstream)
      throw new Problem('model_prices_stale')
    }
    return row.offer
  }

  /**
   * The list as `GET /v1/models` has it, at the fee of an account in hundredths of a percent, else at each model's
   * own. Made once a refresh and fee; without models while no list was ever loaded.
   */
  served(feeBasisPoints: number | null): ServedList {
    return (this.#index?.served ?? NO_MODELS).at(feeBasisPoints)
  }

  /** The served models at the prices that an account with this fee is charged. */
  chargedAt(feeBasisPoints: number | null): readonly ChargedModel[] {
    return (this.#index?.served ?? NO_MODELS).chargedAt(feeBasisPoints)
  }

  /** The catalog id of the model that a name resolves to; null: of none. */
  idOf(modelName: string): string | null {
    return this.#index === null ? null : (resolve(this.#index, modelName)?.modelId ?? null)
  }

  /**
   * The 404 of a name that no model has, with the models that may have been meant. By position: the name, and which
   * models its sender may use; null: all.
   */
  notFound(modelName: string, access: ModelChoice | null, input: ProblemInput = {}): Problem {
    const shown = echoed(modelName)
    const named = shown === null ? 'This model' : `Model "${shown}"`
    const near = shown === null ? [] : this.#nearModels().find(modelName, access)
    const message =
      near.length === 0
        ? `${named} is not in the catalog; GET /v1/models lists the models.`
        : `${named} is not in the catalog. Did you mean ${ONE_OF.format(near.map((id) => `"${id}"`))}? GET /v1/models lists all models.`
    return new Problem('model_not_found', { ...input, message })
  }

  #nearModels(): NearModels {
    this.#near ??= new NearModels([
      ...Array.from(this.modelIds, (modelId) => [modelId, modelId] as const),
      ...[...this.#settings.aliases].filter(([name, modelId]) => this.idOf(name) === modelId),
    ])
    return this.#near
  }

  /** Every row on offer, in the order of the upstreams and of their lists. */
  rows(): readonly CatalogRow[] {
    return this.#index?.models.flatMap(({ rows }) => rows) ?? []
  }

  /** Whether the prices of a row are too old to size a hold with, so that its requests are refused. */
  isStale({ refreshedAtMs }: Pick<CatalogRow, 'refreshedAtMs'>): boolean {
    return this.#clock.nowMs() - refreshedAtMs > this.#settings.pricesStaleAfterMs
  }

  /** The ids of all rows. */
  get modelIds(): ReadonlySet<string> {
    return new Set(this.#index?.byId.keys() ?? [])
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

/** A model id with the rows of the upstreams that answer it, no two of them in one format. */
interface CatalogModel {
  readonly modelId: string
  readonly rows: readonly [CatalogRow, ...CatalogRow[]]
  /** By the name of the format. */
  readonly rowByEndpoint: ReadonlyMap<string, CatalogRow>
}

interface CatalogIndex {
  readonly models: readonly CatalogModel[]
  readonly byId: ReadonlyMap<string, CatalogModel>
  /** By lower-cased id or alias; null: two models share the name. */
  readonly byOtherName: ReadonlyMap<string, CatalogModel | null>
  readonly served: ServedModels
  /** The refresh of the youngest row; null if there are no rows. */
  readonly refreshedAtMs: number | null
}

function buildIndex(
  listedRows: readonly CatalogRow[],
  { aliases: configuredAliases, pricesListed }: IndexSettings,
): CatalogIndex {
  const rows = withFastPrices(listedRows)
  const models = [...Map.groupBy(rows, ({ offer }) => offer.modelId)].map(([modelId, each]) =>
    modelOf(modelId, each),
  )
  const byId = new Map(models.map((model) => [model.modelId, model]))
  const ids = namesOnce(models.map((model) => ({ name: model.modelId, model })))
  const configured: NamedModel[] = []
  for (const [name, modelId] of configuredAliases) {
    const model = byId.get(modelId)
    if (model !== undefined) configured.push({ name, model })
  }
  const listed = models.flatMap((model) =>
    model.rows.flatMap((row) => row.aliases.map((name) => ({ name, model }))),
  )
  // A later entry wins, also one that marks a name as ambiguous.
  const byOtherName = new Map([...namesOnce(listed), ...namesOnce(configured), ...ids])
  // With several upstreams, the figures are those of the first.
  const toServe = models.map(({ rows: [{ listing, offer }] }) => {
    const { endpoints, feeBasisPoints, openWeights, prices } = offer
    return { listing, endpoints, feeBasisPoints, openWeights, imageFlat: prices.imageFlat }
  })
  const served = new ServedModels(toServe, pricesListed)
  return { models, byId, byOtherName, served, refreshedAtMs: youngestOf(rows) }
}

function modelOf(modelId: string, listed: readonly CatalogRow[]): CatalogModel {
  const endpoints = [...new Set(listed.flatMap(({ offer }) => offer.endpoints))]
  const rowByEndpoint = new Map<string, CatalogRow>()
  const rows = listed.map((own) => {
    const row = { ...own, offer: { ...own.offer, endpoints } }
    for (const endpoint of own.offer.endpoints) rowByEndpoint.set(endpoint, row)
    return row
  })
  const [first, ...others] = rows
  if (first === undefined) throw new RangeError('a model has a row')
  return { modelId, rows: [first, ...others], rowByEndpoint }
}

function rowFor({ rows, rowByEndpoint }: CatalogModel, endpoint: string): CatalogRow {
  return rowByEndpoint.get(endpoint) ?? rows[0]
}

function youngestOf(rows: readonly CatalogRow[]): number | null {
  return rows.reduce<number | null>(
    (youngest, row) => Math.max(youngest ?? row.refreshedAtMs, row.refreshedAtMs),
    null,
  )
}

/** The rows, each with the prices of its `-fast` sibling where there is one. */
function withFastPrices(rows: readonly CatalogRow[]): readonly CatalogRow[] {
  const offers = new Map(rows.map(({ offer }) => [`${offer.upstream} ${offer.modelId}`, offer]))
  return rows.map((row) => {
    const { offer } = row
    const sibling = offers.get(`${offer.upstream} ${offer.modelId}-fast`)
    const fastPrices = sibling !== undefined && costsMore(sibling, offer) ? sibling.prices : null
    return fastPrices === offer.fastPrices ? row : { ...row, offer: { ...offer, fastPrices } }
  })
}

// A cheaper model of that name is a smaller model, and no tier of this one.
function costsMore({ prices: sibling }: Offer, { prices }: Offer): boolean {
  return sibling.input >= prices.input && sibling.output >= prices.output
}

interface NamedModel {
  readonly name: string
  readonly model: CatalogModel
}

function namesOnce(named: readonly NamedModel[]): Map<string, CatalogModel | null> {
  const byName = new Map<string, CatalogModel | null>()
  for (const { name, model } of named) {
    const folded = name.toLowerCase()
    const earlier = byName.get(folded)
    byName.set(folded, earlier === undefined || earlier === model ? model : null)
  }
  return byName
}

function resolve(index: CatalogIndex, modelName: string): CatalogModel | null {
  const name = modelName.endsWith(ONE_MILLION_CONTEXT_MARK)
    ? modelName.slice(0, -ONE_MILLION_CONTEXT_MARK.length)
    : modelName
  // A name can be as long as a body, and hashing it would be the most expensive part of the request.
  if (name.length > MODEL_NAME_CHARS_MAX) return null
  return index.byId.get(name) ?? index.byOtherName.get(name.toLowerCase()) ?? null
}
