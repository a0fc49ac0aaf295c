import { messageOf } from '../vocabulary/message-of.ts'
import type { Catalog } from './catalog.ts'
import type { CatalogRefresher, RefreshOutcome } from './catalog-refresher.ts'

/** The result of a refresh from all upstreams; of kind `failed` only where each of them failed. */
export type RefreshOfAll = RefreshOutcome & {
  /** The upstreams that failed, with the reason. Their models are unchanged. */
  readonly failed: readonly { readonly upstream: string; readonly why: string }[]
}

/** A model that an upstream lists and the gateway does not offer from it. */
export interface ModelNotOffered {
  readonly upstream: string
  /** Null: its row has no usable ID. */
  readonly modelId: string | null
  readonly why: string
}

const SHADOWED = 'another upstream offers a model of this ID'

/** The refreshers of all upstreams, each of which keeps its own time: none waits for another. */
export class CatalogRefreshers {
  readonly #catalog: Catalog
  readonly #refreshers: readonly CatalogRefresher[]

  /** By position: the catalog that they share, and one refresher of each upstream. */
  constructor(catalog: Catalog, refreshers: readonly CatalogRefresher[]) {
    this.#catalog = catalog
    this.#refreshers = refreshers
  }

  /** Starts each, as {@link CatalogRefresher.start}. */
  start(): void {
    for (const refresher of this.#refreshers) refresher.start()
  }

  /**
   * Refreshes all now, or joins running refreshes; never rejects. If every upstream fails, the cause is the first
   * one's.
   */
  async refreshNow(): Promise<RefreshOfAll> {
    const outcomes = await Promise.all(this.#refreshers.map((refresher) => refresher.refreshNow()))
    const refreshed = outcomes.filter((outcome) => outcome.kind === 'refreshed')
    const failed = outcomes.flatMap((outcome, place) =>
      outcome.kind === 'refreshed'
        ? []
        : { upstream: this.#refreshers[place]?.upstream ?? '', why: messageOf(outcome.cause) },
    )
    const [first] = outcomes
    if (first !== undefined && refreshed.length === 0) return { ...first, failed }
    return {
      kind: 'refreshed',
      failed,
      models: this.#catalog.modelIds.size,
      skipped: refreshed.flatMap(({ skipped }) => skipped),
      doubts: refreshed.flatMap(({ doubts }) => doubts),
      storeFailure:
        refreshed.find(({ storeFailure }) => storeFailure !== null)?.storeFailure ?? null,
    }
  }

  /** Has one upstream's refresher catch up, as {@link CatalogRefresher.catchUp}, or all. */
  catchUp(upstream?: string): void {
    for (const refresher of this.#refreshers) {
      if (upstream === undefined || refresher.upstream === upstream) refresher.catchUp()
    }
  }

  /**
   * The first refresh of each upstream. Resolves when all have ended, or at the latest `graceMs` after the first success,
   * so that an upstream that hangs does not delay the start. Its models are added when they arrive.
   */
  async refreshFirst(graceMs: number): Promise<void> {
    const refreshes = this.#refreshers.map((refresher) => refresher.refreshNow())
    const all = Promise.all(refreshes)
    const one = Promise.any(
      refreshes.map(async (refresh) => {
        if ((await refresh).kind === 'failed') throw new Error('it failed')
      }),
    )
    let timer: NodeJS.Timeout | undefined
    let isOver = false
    const grace = one.then(
      () =>
        new Promise<void>((resolve) => {
          // All may have ended at the same time: nothing would clear the timer then.
          if (isOver) resolve()
          else timer = setTimeout(resolve, graceMs)
        }),
      () => all,
    )
    await Promise.race([all, grace])
    isOver = true
    clearTimeout(timer)
  }

  /** Models with a figure whose steep fall is not believed yet. */
  get doubtedIds(): readonly string[] {
    return this.#refreshers.flatMap(({ doubtedIds }) => doubtedIds)
  }

  /** The models of the last lists that are not offered, and why: upstream by upstream. */
  get notOffered(): readonly ModelNotOffered[] {
    return this.#refreshers.flatMap(({ upstream, skipped }) => [
      ...skipped.map((row) => ({ upstream, ...row })),
      ...this.#catalog
        .shadowedOf(upstream)
        .map((modelId) => ({ upstream, modelId, why: SHADOWED })),
    ])
  }

  /** Ends the repetitions; resolves when no refresh is running. */
  async stop(): Promise<void> {
    await Promise.all(this.#refreshers.map((refresher) => refresher.stop()))
  }
}
