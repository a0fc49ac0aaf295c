import type { ModelListing } from '../upstreams/listing/listing.ts'
import { type ListedPricing, pricingWithFee } from '../upstreams/listing/pricing.ts'
import { decimalOfPicos, formatDecimal, type Picos, priceWithFee } from '../vocabulary/money.ts'

/** The prices that `pricing` of `GET /v1/models` has: the provider's, or those that are charged. */
export type PricesListed = 'provider' | 'charged'

/** An item of `GET /v1/models`. */
export interface ServedModel extends ModelListing {
  /** The formats in which it is answered, by name. */
  readonly endpoints: readonly string[]
  /** As `pricing`, with the platform fee on each price. */
  readonly charged_pricing: ListedPricing
  // OpenRouter's own SDK takes no model without these, nor one whose texts are null.
  readonly canonical_slug: string
  readonly description: string
  readonly architecture: ModelListing['architecture'] & { readonly tokenizer: string }
  readonly default_parameters: null
  readonly per_request_limits: null
  readonly supported_voices: null
  readonly links: { readonly details: string }
}

/** A model as the account that is charged for it has it: `pricing` has the platform fee on each price. */
export interface ChargedModel extends Omit<ServedModel, 'charged_pricing'> {
  /** Whether free credit can pay for its text. */
  readonly open_weights: boolean
}

/** The parts of an item of the list. */
interface ModelToServe {
  readonly listing: ModelListing
  readonly endpoints: readonly string[]
  /** In hundredths of a percent. */
  readonly feeBasisPoints: number
}

interface ModelToCharge extends ModelToServe {
  readonly openWeights: boolean
  /** The highest flat price of a generated image; zero: it has none. */
  readonly imageFlat: Picos
}

/** An item of the list. By position: the model, and whose prices `pricing` has. */
export function servedModel(
  { listing, endpoints, feeBasisPoints }: ModelToServe,
  pricesListed: PricesListed,
): ServedModel {
  const { architecture, canonical_slug, description, id } = listing
  const charged = pricingWithFee(listing.pricing, feeBasisPoints)
  return {
    ...listing,
    canonical_slug: canonical_slug ?? id,
    description: description ?? '',
    architecture: { ...architecture, tokenizer: architecture.tokenizer ?? 'Other' },
    pricing: pricesListed === 'charged' ? charged : listing.pricing,
    charged_pricing: charged,
    default_parameters: null,
    per_request_limits: null,
    supported_voices: null,
    links: { details: `/v1/models/${id}` },
    endpoints,
  }
}

/** A model at the prices that are charged, and at no others. */
export function chargedModel(model: ModelToCharge): ChargedModel {
  const { charged_pricing: _, ...charged } = servedModel(model, 'charged')
  const { imageFlat, feeBasisPoints, openWeights } = model
  const pricing = withImageFlat(charged.pricing, { imageFlat, feeBasisPoints })
  return { ...charged, pricing, open_weights: openWeights }
}

/** Prices with the flat price of an image, which providers name apart from their lists, as `image_flat`. */
export function withImageFlat(
  pricing: ListedPricing,
  { imageFlat, feeBasisPoints }: Pick<ModelToCharge, 'imageFlat' | 'feeBasisPoints'>,
): ListedPricing {
  if (imageFlat === 0n) return pricing
  const price = priceWithFee(decimalOfPicos(imageFlat), feeBasisPoints)
  return { ...pricing, image_flat: formatDecimal(price) }
}

/** The list as UTF-8 JSON. Shared: do not write to it. */
export interface ServedList {
  readonly listBytes: Buffer
  /** Each model's item in {@link listBytes}: a part of the same memory. */
  readonly bytesById: ReadonlyMap<string, Buffer>
}

const LIST_HEAD = Buffer.from('{"object":"list","data":[')
const COMMA = Buffer.from(',')

// A list can have a megabyte.
const FEES_KEPT_MAX = 16

/** Results for the fees that were asked for last, in hundredths of a percent; null: each model's own. */
class KeptByFee<Made> {
  readonly #byFee = new Map<number | null, Made>()
  readonly #make: (feeBasisPoints: number | null) => Made

  constructor(make: (feeBasisPoints: number | null) => Made) {
    this.#make = make
  }

  at(feeBasisPoints: number | null): Made {
    const earlier = this.#byFee.get(feeBasisPoints)
    if (earlier !== undefined) return earlier
    if (this.#byFee.size >= FEES_KEPT_MAX) this.#byFee.clear()
    const made = this.#make(feeBasisPoints)
    this.#byFee.set(feeBasisPoints, made)
    return made
  }
}

/** The models of one refresh as they are served: a list is made once for each fee that is asked for. */
export class ServedModels {
  readonly #models: readonly ModelToCharge[]
  readonly #pricesListed: PricesListed
  readonly #lists = new KeptByFee((feeBasisPoints) => this.#listAt(feeBasisPoints))
  readonly #charged = new KeptByFee((feeBasisPoints) =>
    this.#atFee(feeBasisPoints).map(chargedModel),
  )

  constructor(models: readonly ModelToCharge[], pricesListed: PricesListed) {
    this.#models = models
    this.#pricesListed = pricesListed
  }

  /** The list at the fee of an account, in hundredths of a percent; null: at each model's own. */
  at(feeBasisPoints: number | null): ServedList {
    return this.#lists.at(feeBasisPoints)
  }

  /** The models at the prices that an account with this fee is charged; null: at each model's own. */
  chargedAt(feeBasisPoints: number | null): readonly ChargedModel[] {
    return this.#charged.at(feeBasisPoints)
  }

  #atFee(feeBasisPoints: number | null): readonly ModelToCharge[] {
    if (feeBasisPoints === null) return this.#models
    return this.#models.map((model) => ({ ...model, feeBasisPoints }))
  }

  #listAt(feeBasisPoints: number | null): ServedList {
    const items = this.#atFee(feeBasisPoints).map((model) =>
      Buffer.from(JSON.stringify(servedModel(model, this.#pricesListed))),
    )
    const listBytes = listOf(items)
    const bytesById = new Map<string, Buffer>()
    let from = LIST_HEAD.length
    for (const [place, { listing }] of this.#models.entries()) {
      const to = from + (items[place]?.length ?? 0)
      bytesById.set(listing.id, listBytes.subarray(from, to))
      from = to + COMMA.length
    }
    return { listBytes, bytesById }
  }
}

/** A list of items that are JSON already. */
export function listOf(items: readonly Buffer[]): Buffer {
  const pieces = items.flatMap((bytes, place) => (place === 0 ? [bytes] : [COMMA, bytes]))
  const tail = Buffer.from(`],"total_count":${items.length},"links":{"next":null}}`)
  return Buffer.concat([LIST_HEAD, ...pieces, tail])
}
