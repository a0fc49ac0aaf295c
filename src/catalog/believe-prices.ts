import type { Picos } from '../vocabulary/money.ts'
import type { PriceTable } from '../vocabulary/offer.ts'
import { buildPriceTable, priceReadingOf } from './price-table.ts'

/** A fall to less than one part in this many is doubted. */
const DOUBTED_FALL = 10n
/** How many refreshes in a row must say so before a doubted fall is believed. */
const REFRESHES_TO_BELIEVE_FALL = 3

/**
 * Weighs listed prices against those believed so far. A rise counts at once, however steep, because
 * a hold at too high a price costs nobody money. A price that falls more than tenfold is far more
 * often a slip of the upstream's than a sale, and holds sized by it would let an account spend what
 * it does not have: it is believed once three refreshes in a row say so. What was seen so far is
 * kept in memory alone; a restart begins to count anew.
 */
export class PriceBeliefs {
  /** Model id → place of a price in the table → refreshes in a row that doubted it. */
  readonly #doubts = new Map<string, ReadonlyMap<string, number>>()

  /** What to hold with from here on. Call once a model and refresh. */
  weigh(input: WeighInput): PriceTable {
    const { modelId, believed, listed } = input
    const before = priceReadingOf(believed)
    const now = priceReadingOf(listed)
    const seenBefore = this.#doubts.get(modelId)
    const doubts = new Map<string, number>()
    const thresholds = [...believed.tiers, ...listed.tiers].map((tier) => tier.inputTokensAbove)
    const weighed = buildPriceTable(thresholds, (name, step): Picos => {
      const place = step === null ? name : `${name} above ${step}`
      const [oldPrice, newPrice] = [before(name, step), now(name, step)]
      if (newPrice * DOUBTED_FALL >= oldPrice) return newPrice
      const refreshes = (seenBefore?.get(place) ?? 0) + 1
      if (refreshes >= REFRESHES_TO_BELIEVE_FALL) return newPrice
      doubts.set(place, refreshes)
      return oldPrice
    })
    if (doubts.size === 0) this.#doubts.delete(modelId)
    else this.#doubts.set(modelId, doubts)
    return weighed
  }

  /** Whether some price of the model is held above what the upstream lists. */
  doubts(modelId: string): boolean {
    return this.#doubts.has(modelId)
  }

  /** Forgets models that are no longer listed, so that memory is bounded by the catalog. */
  keepOnly(modelIds: ReadonlySet<string>): void {
    for (const modelId of this.#doubts.keys()) {
      if (!modelIds.has(modelId)) this.#doubts.delete(modelId)
    }
  }
}

export interface WeighInput {
  readonly modelId: string
  readonly believed: PriceTable
  readonly listed: PriceTable
}
