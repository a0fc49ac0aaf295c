import { readRecord } from '../upstreams/json-reading.ts'
import {
  dearestTable,
  decodePriceTable,
  encodePriceTable,
} from '../upstreams/listing/price-table.ts'
import type { Clock } from '../vocabulary/clock.ts'
import type { Offer, PriceTable } from '../vocabulary/offer.ts'
import { Beliefs } from './beliefs.ts'

/** The result of reading a model's endpoints. */
export interface EndpointRead {
  readonly modelId: string
  /** Null: it was read. */
  readonly failure: { readonly cause: unknown } | null
  /** Whether the last reading of this model had the other result; the first counts as a change if it failed. */
  readonly isChange: boolean
}

interface EndpointPricesInput {
  readonly clock: Clock
  /** How long a request waits for a model's first reading. */
  readonly firstReadTimeoutMs: number
  /**
   * Reads the dearest prices of a model's providers. Rejects on any failure, at the time-out and when the
   * signal is aborted.
   */
  readonly fetchDearestPrices: (
    modelId: string,
    bounds: {
      readonly timeoutMs: number
      readonly signal: AbortSignal
    },
  ) => Promise<PriceTable>
  /** Called after each reading, for the log and metrics. Must not throw. */
  readonly onRead: (read: EndpointRead) => void
}

interface KnownModel {
  /** The dearest prices of its endpoints that are believed; null while none could be read. */
  prices: PriceTable | null
  wasRead: boolean
  usedAtMs: number
  /** The latest offer, and the same offer at the dearest prices. */
  listed: Offer | null
  held: Offer | null
}

const KEPT_MS = 24 * 60 * 60_000
const HOUR_MS = 60 * 60_000
const READS_AT_ONCE = 4
const REFRESH_TIMEOUT_MS = 10_000

/**
 * The dearest prices of each model over its providers. The catalog lists the first provider's prices, and a
 * client can steer its request to another: by fields that only one of them takes, or by a prompt that
 * only one of them has room for. So holds take the dearest of all, price by price.
 *
 * A model's providers are read when it is first used, and that request waits for it; then with each refresh of the
 * catalog while the model was used within a day. If they can't be read, the listed prices count, or the last ones
 * that were read, if those are dearer. Provisional charges keep to the listed prices:
 * most requests run there, and the provider's own record corrects the others.
 */
export class EndpointPrices {
  readonly #input: EndpointPricesInput
  readonly #known = new Map<string, KnownModel>()
  readonly #firstReads = new Map<string, Promise<void>>()
  readonly #beliefs = new Beliefs()
  readonly #stopping = new AbortController()
  #refreshing: Promise<void> | null = null

  constructor(input: EndpointPricesInput) {
    this.#input = input
  }

  /** The same offer at the dearest prices of its endpoints; a promise only at a model's first use. */
  holdOffer(offer: Offer): Offer | Promise<Offer> {
    const known = this.#known.get(offer.modelId)
    return known === undefined ? this.#firstUse(offer) : this.#dearest(known, offer)
  }

  /**
   * Reads the endpoints of these models again that were used within a day, and forgets the rest. Joins a refresh
   * that is under way; never rejects.
   */
  refresh(modelIds: ReadonlySet<string>): Promise<void> {
    this.#refreshing ??= this.#refresh(modelIds).finally(() => {
      this.#refreshing = null
    })
    return this.#refreshing
  }

  /** Aborts all readings; resolves when none is under way. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#refreshing
    await Promise.all(this.#firstReads.values())
  }

  /** The prices of this model for a restart, as JSON text; null: none are known. */
  encode(modelId: string): string | null {
    const known = this.#known.get(modelId)
    if (known === undefined || known.prices === null) return null
    // To the hour, so that a model in constant use is not written at each refresh.
    const usedAtMs = Math.floor(known.usedAtMs / HOUR_MS) * HOUR_MS
    return `{"usedAtMs":${usedAtMs},"prices":${encodePriceTable(known.prices)}}`
  }

  /** By position: the model, and the parsed text of {@link encode}. Anything else is ignored. */
  restore(modelId: string, stored: unknown): void {
    const record = readRecord(stored)
    const prices = decodePriceTable(record?.['prices'])
    const usedAtMs = record?.['usedAtMs']
    if (prices === null || typeof usedAtMs !== 'number') return
    this.#known.set(modelId, { prices, wasRead: true, usedAtMs, listed: null, held: null })
  }

  async #firstUse(offer: Offer): Promise<Offer> {
    const { modelId } = offer
    let reading = this.#firstReads.get(modelId)
    if (reading === undefined) {
      reading = this.#read(modelId, this.#input.firstReadTimeoutMs).finally(() =>
        this.#firstReads.delete(modelId),
      )
      this.#firstReads.set(modelId, reading)
    }
    await reading
    const known = this.#known.get(modelId)
    return known === undefined ? offer : this.#dearest(known, offer)
  }

  #dearest(known: KnownModel, offer: Offer): Offer {
    known.usedAtMs = this.#input.clock.nowMs()
    if (known.prices === null) return offer
    if (known.held === null || known.listed !== offer) {
      known.listed = offer
      known.held = { ...offer, prices: dearestTable(offer.prices, known.prices) }
    }
    return known.held
  }

  async #refresh(modelIds: ReadonlySet<string>): Promise<void> {
    const usedSinceMs = this.#input.clock.nowMs() - KEPT_MS
    for (const [modelId, { usedAtMs }] of this.#known) {
      if (!modelIds.has(modelId) || usedAtMs < usedSinceMs) this.#known.delete(modelId)
    }
    this.#beliefs.keepOnly(new Set(this.#known.keys()))
    // One iterator for all: each takes the next model that none has taken.
    const remaining = [...this.#known.keys()].values()
    const readInTurn = async (): Promise<void> => {
      for (const modelId of remaining) {
        if (this.#stopping.signal.aborted) return
        await this.#read(modelId, REFRESH_TIMEOUT_MS)
      }
    }
    await Promise.all(Array.from({ length: READS_AT_ONCE }, readInTurn))
  }

  /** Never rejects. By position: the model, and how long it may take. */
  async #read(modelId: string, timeoutMs: number): Promise<void> {
    const { fetchDearestPrices, onRead } = this.#input
    const { signal } = this.#stopping
    const before = this.#known.get(modelId) ?? null
    try {
      const prices = await fetchDearestPrices(modelId, { timeoutMs, signal })
      this.#learn(modelId, this.#weigh(modelId, { believed: before?.prices ?? null, prices }))
      onRead({ modelId, failure: null, isChange: before !== null && !before.wasRead })
    } catch (cause) {
      if (signal.aborted) return
      this.#learn(modelId, null)
      onRead({ modelId, failure: { cause }, isChange: before === null || before.wasRead })
    }
  }

  /** By position: the model, and its prices; null: they could not be read, and the earlier ones stay. */
  #learn(modelId: string, prices: PriceTable | null): void {
    const before = this.#known.get(modelId)
    this.#known.set(modelId, {
      prices: prices ?? before?.prices ?? null,
      wasRead: prices !== null,
      usedAtMs: before?.usedAtMs ?? this.#input.clock.nowMs(),
      listed: null,
      held: null,
    })
  }

  /** A fall is doubted as the catalog's are. */
  #weigh(
    modelId: string,
    {
      believed,
      prices,
    }: {
      readonly believed: PriceTable | null
      readonly prices: PriceTable
    },
  ): PriceTable {
    if (believed === null) return prices
    const figures = (table: PriceTable) => ({
      prices: table,
      contextTokens: null,
      outputTokensMax: null,
    })
    return this.#beliefs.weigh({
      modelId,
      believed: figures(believed),
      listed: figures(prices),
    }).prices
  }
}
