import { isTokenCount, readRecord } from '../json/walk.ts'
import {
  decodePriceTable,
  encodePriceTable,
  highestTable,
} from '../upstreams/listing/price-table.ts'
import type { HighestTerms } from '../upstreams/upstream.ts'
import { type Clock, DAY_MS, HOUR_MS } from '../vocabulary/clock.ts'
import type { Offer } from '../vocabulary/offer.ts'
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
   * Reads the highest terms of a model's providers; rejects on any failure, and where the time is up or
   * the signal given.
   */
  readonly fetchHighestTerms: (
    modelId: string,
    bounds: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ) => Promise<HighestTerms>
  /** Called after each reading, for the log and metrics. Must not throw. */
  readonly onRead: (read: EndpointRead) => void
}

interface KnownModel {
  /** The terms of its endpoints, as far as they are believed; null until they are first read. */
  terms: HighestTerms | null
  wasRead: boolean
  usedAtMs: number
  /** The offer of the latest request, and the same offer at the highest terms. */
  listed: Offer | null
  held: Offer | null
}

const KEPT_MS = DAY_MS
const READS_AT_ONCE = 4
const REFRESH_TIMEOUT_MS = 10_000

/**
 * The highest prices of each model over its providers. The catalog lists the first provider's prices, and a
 * client can steer its request to another: by fields that only one of them takes, or by a prompt that
 * only one of them has room for. So holds take the highest of all, price by price, and the largest window.
 *
 * A model's providers are read when it is first used, and that request waits for it; then with each refresh of the
 * catalog while the model was used within a day. If they can't be read, the listed prices count, or the last ones
 * that were read, if those are higher. Provisional charges keep to the listed prices:
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

  /** The offer at the highest terms of its endpoints; a promise only at a model's first use. */
  holdOffer(offer: Offer): Offer | Promise<Offer> {
    const known = this.#known.get(offer.modelId)
    return known === undefined ? this.#firstUse(offer) : this.#atHighest(known, offer)
  }

  /**
   * Reads the endpoints of these models again that were used within a day, and forgets the rest. Joins a refresh
   * that is running; never rejects.
   */
  refresh(modelIds: ReadonlySet<string>): Promise<void> {
    this.#refreshing ??= this.#refresh(modelIds).finally(() => {
      this.#refreshing = null
    })
    return this.#refreshing
  }

  /** Aborts all readings; resolves when none is running. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#refreshing
    await Promise.all(this.#firstReads.values())
  }

  /** The prices of this model for a restart, as JSON text; null: none are known. */
  encode(modelId: string): string | null {
    const known = this.#known.get(modelId)
    const terms = known?.terms ?? null
    if (known === undefined || terms === null) return null
    // Rounded to the hour, so that a model in constant use is not written at each refresh.
    const usedAtMs = Math.floor(known.usedAtMs / HOUR_MS) * HOUR_MS
    const prices = encodePriceTable(terms.prices)
    return `{"usedAtMs":${usedAtMs},"contextTokens":${terms.contextTokens},"prices":${prices}}`
  }

  /** By position: the model, and the parsed text of {@link encode}. Anything else is ignored. */
  restore(modelId: string, stored: unknown): void {
    const record = readRecord(stored)
    const prices = decodePriceTable(record?.['prices'])
    const usedAtMs = record?.['usedAtMs']
    if (prices === null || typeof usedAtMs !== 'number') return
    const window = record?.['contextTokens']
    const terms = { prices, contextTokens: isTokenCount(window) ? window : null }
    this.#known.set(modelId, { terms, wasRead: true, usedAtMs, listed: null, held: null })
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
    return known === undefined ? offer : this.#atHighest(known, offer)
  }

  #atHighest(known: KnownModel, offer: Offer): Offer {
    known.usedAtMs = this.#input.clock.nowMs()
    if (known.terms === null) return offer
    if (known.held === null || known.listed !== offer) {
      known.listed = offer
      known.held = offerAtHighest(offer, known.terms)
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
    const { fetchHighestTerms, onRead } = this.#input
    const { signal } = this.#stopping
    const before = this.#known.get(modelId) ?? null
    try {
      const terms = await fetchHighestTerms(modelId, { timeoutMs, signal })
      this.#learn(modelId, this.#weigh(modelId, { believed: before?.terms ?? null, listed: terms }))
      onRead({ modelId, failure: null, isChange: before !== null && !before.wasRead })
    } catch (cause) {
      if (signal.aborted) return
      this.#learn(modelId, null)
      onRead({ modelId, failure: { cause }, isChange: before === null || before.wasRead })
    }
  }

  /** By position: the model, and its terms; null: they could not be read, and earlier ones stay. */
  #learn(modelId: string, terms: HighestTerms | null): void {
    const before = this.#known.get(modelId)
    this.#known.set(modelId, {
      terms: terms ?? before?.terms ?? null,
      wasRead: terms !== null,
      usedAtMs: before?.usedAtMs ?? this.#input.clock.nowMs(),
      listed: null,
      held: null,
    })
  }

  /** Keeps the earlier figures while a steep fall is doubted, as the catalog does. */
  #weigh(
    modelId: string,
    { believed, listed }: { readonly believed: HighestTerms | null; readonly listed: HighestTerms },
  ): HighestTerms {
    if (believed === null) return listed
    const figures = (terms: HighestTerms) => ({ ...terms, outputTokensMax: null })
    const { prices, contextTokens } = this.#beliefs.weigh({
      modelId,
      believed: figures(believed),
      listed: figures(listed),
    })
    return { prices, contextTokens }
  }
}

function offerAtHighest(offer: Offer, { prices, contextTokens }: HighestTerms): Offer {
  return {
    ...offer,
    prices: highestTable(offer.prices, prices),
    // An unknown window counts as more than any that is listed.
    contextTokens:
      offer.contextTokens === null ? null : Math.max(offer.contextTokens, contextTokens ?? 0),
  }
}
