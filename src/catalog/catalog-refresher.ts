import type {
  ListedModel,
  ListingSettings,
  ParsedCatalog,
  SkippedRow,
} from '../upstreams/listing/listing.ts'
import {
  type Narrowing,
  narrowed,
  offeredBy,
  type WrittenModel,
} from '../upstreams/upstream-settings.ts'
import { type Clock, type StartTimer, startUnrefTimer } from '../vocabulary/clock.ts'
import type { Picos } from '../vocabulary/money.ts'
import type { Offer } from '../vocabulary/offer.ts'
import { Beliefs } from './beliefs.ts'
import type { Catalog, CatalogSettings } from './catalog.ts'
import {
  type CatalogStore,
  decodeModel,
  encodeModel,
  snapshotOf,
  storedFacts,
  withFigures,
  writtenText,
} from './catalog-store.ts'
import type { CatalogRow } from './claims.ts'
import type { EndpointPrices } from './endpoint-prices.ts'

/** The result of a refresh. */
export type RefreshOutcome =
  | {
      readonly kind: 'refreshed'
      readonly models: number
      readonly skipped: readonly SkippedRow[]
      /** Models with a price, a window or a longest answer whose steep fall is not believed yet. */
      readonly doubts: readonly { readonly modelId: string; readonly why: string }[]
      /** Why the refresh could not be stored, though it counts in memory; null: it was. */
      readonly storeFailure: unknown
    }
  /** The catalog is unchanged. */
  | { readonly kind: 'failed'; readonly cause: unknown }

interface CatalogRefresherInput {
  readonly catalog: Catalog
  readonly store: CatalogStore
  /** The upstream's base address: a list of another address is not restored from the store. */
  readonly source: string
  /** The upstream's place in the order of the settings, from 0. */
  readonly place: number
  readonly clock: Clock
  readonly settings: CatalogSettings
  /** Chooses the listed models that are offered. */
  readonly narrowing: Narrowing
  /** The models that the settings write for this upstream. */
  readonly written: readonly WrittenModel[]
  /** The formats in which the upstream answers a model, by name. */
  readonly endpointsOf: (offer: Offer) => readonly string[]
  /** Reads the upstream's list of models. Must keep a deadline of its own. */
  readonly fetchModels: (settings: ListingSettings) => Promise<ParsedCatalog>
  /**
   * Reads the highest flat price of an image of a model: zero where it has none, null or a rejection
   * where it can't be read. Null: the upstream has no flat prices.
   */
  readonly fetchFlatImagePrice: ((modelId: string) => Promise<Picos | null>) | null
  /** Prices of models' endpoints, which are stored with the models; null: a model has one price. */
  readonly endpoints: Pick<EndpointPrices, 'encode' | 'restore'> | null
  /** Called after each refresh, for the log and metrics. Must not throw. */
  readonly onRefreshed: (outcome: RefreshOutcome) => void
  /** Default: a timer that does not keep the process alive. */
  readonly startTimer?: StartTimer
  /** From 0 to below 1; default `Math.random`. */
  readonly random?: () => number
}

// The first retry comes after a tenth of the usual time, each further one after twice the last.
const FIRST_RETRY_DIVISOR = 10
// An upstream that fails this many times in a row is not asked for further flat prices this time.
const IMAGE_PRICE_FAILURES_MAX = 3
// A timer that is later than this was set before the clock stepped forward.
const TIMER_LATE_MS_MAX = 10_000

/**
 * Keeps a catalog up to date with one upstream, and the store with the catalog. Nothing runs before
 * {@link CatalogRefresher.start}.
 */
export class CatalogRefresher {
  readonly #input: CatalogRefresherInput
  readonly #beliefs = new Beliefs()
  readonly #writtenById: ReadonlyMap<string, string>
  #underWay: Promise<RefreshOutcome> | null = null
  #repeating = false
  #tried = false
  #cancelTimer: () => void = () => {}
  /** When the timer runs, unless the clock steps. */
  #timerRunsAtMs = Number.POSITIVE_INFINITY
  #failuresInARow = 0
  /** Prices that requests may have been held and charged at, which the store could not take yet, by ID. */
  readonly #unsaved = new Map<string, ReturnType<typeof snapshotOf>>()
  #skipped: readonly SkippedRow[] = []

  constructor(input: CatalogRefresherInput) {
    this.#input = input
    this.#writtenById = new Map(input.written.map((model) => [model.id, writtenText(model)]))
  }

  /** The name of the upstream. */
  get upstream(): string {
    return this.#input.settings.upstream
  }

  /**
   * Fills the catalog with the models that the store kept of this upstream, so that a restart has prices at once
   * and a fall of prices across it is still seen. Leaves out models that today's settings do not offer, or write
   * otherwise than the process that stored it: its old figures neither are sold nor cast doubt on the new
   * ones. Once, before all else. Rejects if the store fails.
   */
  async load(): Promise<void> {
    const { store, source, settings, catalog, endpoints, narrowing } = this.#input
    const { upstream } = settings
    const stored = await store.load({ upstream, source })
    if (stored === null) return
    const catalogRefreshedAtMs = stored.refreshedAtMs
    const isOffered = offeredBy(narrowing)
    const models = stored.models
      .map((model) => ({ ...model, known: storedFacts(model) }))
      .filter(
        ({ modelId, known }) => isOffered(modelId) && known.written === this.#written(modelId),
      )
    for (const { modelId, known } of models) endpoints?.restore(modelId, known.endpoints)
    const rows = models
      .map(({ itemJson }) => decodeModel({ itemJson, catalogRefreshedAtMs, settings }))
      .filter((row) => row !== null)
      // Today's settings may name other formats.
      .map((row) => this.#withEndpoints(row))
    if (rows.length > 0) catalog.restore(upstream, rows)
  }

  /**
   * Refreshes again and again until {@link stop}: at first at once, unless a refresh has been tried
   * already.
   */
  start(): void {
    this.#repeating = true
    if (this.#tried && this.#underWay === null) this.#scheduleNext()
    else void this.refreshNow()
  }

  /**
   * Refreshes now, or joins the running refresh; never rejects. For the command line, the
   * admin API and a start with an empty store.
   */
  refreshNow(): Promise<RefreshOutcome> {
    this.#underWay ??= this.#refreshAndReport()
    return this.#underWay
  }

  /**
   * Refreshes at once if the next refresh should have begun by now: the clock stepped forward, or the machine slept, and
   * timers take no notice of either.
   */
  catchUp(): void {
    if (this.#input.clock.nowMs() > this.#timerRunsAtMs + TIMER_LATE_MS_MAX) void this.refreshNow()
  }

  /** Models with a figure whose steep fall is not believed yet. */
  get doubtedIds(): readonly string[] {
    const { catalog, settings } = this.#input
    return catalog
      .rowsOf(settings.upstream)
      .map(({ offer }) => offer.modelId)
      .filter((id) => this.#beliefs.doubts(id))
  }

  /** The rows of the last list that could be read which are not offered, and why; none before the first list. */
  get skipped(): readonly SkippedRow[] {
    return this.#skipped
  }

  /** Ends the repetition; resolves when no refresh is running. */
  async stop(): Promise<void> {
    this.#repeating = false
    this.#cancelTimer()
    this.#timerRunsAtMs = Number.POSITIVE_INFINITY
    await this.#underWay
  }

  async #refreshAndReport(): Promise<RefreshOutcome> {
    let outcome: RefreshOutcome
    try {
      outcome = await this.#refresh()
      this.#failuresInARow = 0
    } catch (cause) {
      outcome = { kind: 'failed', cause }
      this.#failuresInARow++
    }
    this.#underWay = null
    this.#tried = true
    this.#scheduleNext()
    this.#input.onRefreshed(outcome)
    return outcome
  }

  #scheduleNext(): void {
    this.#cancelTimer()
    this.#timerRunsAtMs = Number.POSITIVE_INFINITY
    if (!this.#repeating) return
    const { settings, clock, startTimer = startUnrefTimer, random = Math.random } = this.#input
    const usualMs = settings.catalogRefreshMs
    const delayMs =
      this.#failuresInARow === 0
        ? usualMs
        : Math.min(usualMs, (usualMs / FIRST_RETRY_DIVISOR) * 2 ** (this.#failuresInARow - 1))
    // Up to a tenth earlier or later, so that many instances do not ask in the same second.
    const spreadMs = Math.round(delayMs * (0.9 + 0.2 * random()))
    this.#timerRunsAtMs = clock.nowMs() + spreadMs
    this.#cancelTimer = startTimer({
      delayMs: spreadMs,
      run: () => void this.refreshNow(),
    })
  }

  async #refresh(): Promise<RefreshOutcome> {
    const { clock, fetchModels, settings, catalog } = this.#input
    // The prices are at least as recent as the request for them.
    const askedAtMs = clock.nowMs()
    const parsed = narrowed(await fetchModels(settings), this.#input.narrowing)
    const flatPrices = await this.#flatImagePrices(parsed.models)
    const rows = this.#weigh({ parsed, flatPrices, askedAtMs })
    const storeFailure = await this.#save(rows, askedAtMs)
    catalog.replace(settings.upstream, rows)
    this.#skipped = parsed.skipped
    return {
      kind: 'refreshed',
      models: rows.length,
      skipped: parsed.skipped,
      doubts: this.doubtedIds.map((modelId) => ({
        modelId,
        why: this.#beliefs.whyDoubted(modelId),
      })),
      storeFailure,
    }
  }

  #weigh(input: {
    readonly parsed: ParsedCatalog
    readonly flatPrices: ReadonlyMap<string, Picos>
    readonly askedAtMs: number
  }): readonly CatalogRow[] {
    const { parsed, flatPrices, askedAtMs } = input
    const { catalog, settings } = this.#input
    const believed = new Map(
      catalog.rowsOf(settings.upstream).map((row) => [row.offer.modelId, row]),
    )
    const rows: CatalogRow[] = []
    for (const model of parsed.models) {
      const { modelId } = model.offer
      const before = believed.get(modelId)?.offer
      const imageFlat = flatPrices.get(modelId) ?? before?.prices.imageFlat ?? 0n
      const listed = { ...model.offer, prices: { ...model.offer.prices, imageFlat } }
      const figures =
        before === undefined ? listed : this.#beliefs.weigh({ modelId, believed: before, listed })
      const row = { ...withFigures(model, figures), refreshedAtMs: askedAtMs }
      rows.push(this.#withEndpoints(row))
    }
    // A row that can't be read is neither gone nor refreshed: it is offered until its prices are stale.
    for (const modelId of parsed.unreadableIds) {
      const row = believed.get(modelId)
      if (row !== undefined) rows.push(row)
    }
    this.#beliefs.keepOnly(new Set(rows.map((row) => row.offer.modelId)))
    return rows
  }

  /** Flat prices by model id; a model whose price could not be learned is left out. */
  async #flatImagePrices(models: readonly ListedModel[]): Promise<ReadonlyMap<string, Picos>> {
    const { fetchFlatImagePrice } = this.#input
    const prices = new Map<string, Picos>()
    if (fetchFlatImagePrice === null) return prices
    let failuresInARow = 0
    for (const { offer } of models) {
      if (!offer.outputModalities.has('image')) continue
      if (failuresInARow === IMAGE_PRICE_FAILURES_MAX) break
      const price = await fetchFlatImagePrice(offer.modelId).catch(() => null)
      if (price === null) failuresInARow++
      else {
        failuresInARow = 0
        prices.set(offer.modelId, price)
      }
    }
    return prices
  }

  #withEndpoints(row: CatalogRow): CatalogRow {
    return { ...row, offer: { ...row.offer, endpoints: this.#input.endpointsOf(row.offer) } }
  }

  #written(modelId: string): string | null {
    return this.#writtenById.get(modelId) ?? null
  }

  async #save(rows: readonly CatalogRow[], refreshedAtMs: number): Promise<unknown> {
    const { store, source, place, settings, endpoints } = this.#input
    const encode = (row: CatalogRow) => {
      const { modelId } = row.offer
      return encodeModel({
        row,
        catalogRefreshedAtMs: refreshedAtMs,
        endpointsJson: endpoints?.encode(modelId) ?? null,
        written: this.#written(modelId),
      })
    }
    for (const row of rows) {
      const snapshot = snapshotOf(row, refreshedAtMs)
      if (!this.#unsaved.has(snapshot.id)) this.#unsaved.set(snapshot.id, snapshot)
    }
    try {
      await store.save({
        upstream: settings.upstream,
        source,
        place,
        refreshedAtMs,
        models: rows.map(encode),
        snapshots: [...this.#unsaved.values()],
      })
      this.#unsaved.clear()
      return null
    } catch (error) {
      return error
    }
  }
}
