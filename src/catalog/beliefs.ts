import { buildPriceTable, priceReadingOf } from '../upstreams/listing/price-table.ts'
import { grouped } from '../vocabulary/count-in-words.ts'
import { decimalOfPicos, type Picos, showDollars, showMicros } from '../vocabulary/money.ts'
import { CONTEXT_TOKENS_UNKNOWN, type Offer, type PriceTable } from '../vocabulary/offer.ts'

/** The figures of a model that size a hold: its prices, its context window and its longest answer. */
export type HoldFigures = Pick<Offer, 'prices' | 'contextTokens' | 'outputTokensMax'>

/** A price that falls to less than one part in this many is doubted; a token count at exactly that. */
const DOUBTED_FALL = 10
/** How many refreshes in a row must say so before a doubted fall is believed. */
const REFRESHES_TO_BELIEVE_FALL = 3

/**
 * Weighs listed figures against those believed so far. A rise counts at once, however steep, because
 * a hold that is too large costs no money. A steep fall is far more often a slip of the upstream's
 * (a price in another unit, a window that lost a zero) than a change, and holds sized by it would let
 * an account spend credit that it does not have: it is believed once three refreshes in a row show it. The
 * counts are kept in memory only; a restart begins again.
 */
export class Beliefs {
  /** Model id → name of a figure → how it is doubted. */
  readonly #doubts = new Map<string, ReadonlyMap<string, Doubt>>()

  /** The figures to size holds with from now on. Call once for each model and refresh. */
  weigh({
    modelId,
    believed,
    listed,
  }: {
    readonly modelId: string
    readonly believed: HoldFigures
    readonly listed: HoldFigures
  }): HoldFigures {
    const seenBefore = this.#doubts.get(modelId)
    const doubts = new Map<string, Doubt>()
    const isDoubted: IsDoubted = ({ figure, isSteepFall, why }) => {
      if (!isSteepFall) return false
      const refreshes = (seenBefore?.get(figure)?.refreshes ?? 0) + 1
      if (refreshes >= REFRESHES_TO_BELIEVE_FALL) return false
      doubts.set(figure, { refreshes, why: why() })
      return true
    }
    const weighed: HoldFigures = {
      prices: weighPrices(believed.prices, { listed: listed.prices, isDoubted }),
      ...weighTokens(believed, { listed, isDoubted }),
    }
    if (doubts.size === 0) this.#doubts.delete(modelId)
    else this.#doubts.set(modelId, doubts)
    return weighed
  }

  /** Whether any listed figure of the model is doubted. */
  doubts(modelId: string): boolean {
    return this.#doubts.has(modelId)
  }

  /** The doubted figures of a model in words, separated by commas; empty: none is. */
  whyDoubted(modelId: string): string {
    const doubts = [...(this.#doubts.get(modelId)?.values() ?? [])]
    return doubts.flatMap(({ why }) => (why === null ? [] : [why])).join(', ')
  }

  /** Forgets models that are no longer listed, so that memory is bounded by the catalog. */
  keepOnly(modelIds: ReadonlySet<string>): void {
    for (const modelId of this.#doubts.keys()) {
      if (!modelIds.has(modelId)) this.#doubts.delete(modelId)
    }
  }
}

interface Doubt {
  /** How many in a row doubted the figure. */
  readonly refreshes: number
  readonly why: string | null
}

/** Whether a figure stays as it was. Call it once for each figure. */
type IsDoubted = (fall: {
  readonly figure: string
  readonly isSteepFall: boolean
  /** The fall in words; null: another figure is the same. */
  readonly why: () => string | null
}) => boolean

interface Weighing<Listed> {
  readonly listed: Listed
  readonly isDoubted: IsDoubted
}

function weighPrices(
  believed: PriceTable,
  { listed, isDoubted }: Weighing<PriceTable>,
): PriceTable {
  const before = priceReadingOf(believed)
  const now = priceReadingOf(listed)
  const thresholds = [...believed.tiers, ...listed.tiers].map((tier) => tier.inputTokensAbove)
  return buildPriceTable(thresholds, (name, step) => {
    const [oldPrice, newPrice] = [before(name, step), now(name, step)]
    const figure = step === null ? name : `${name} above ${step}`
    const isSteepFall = newPrice * BigInt(DOUBTED_FALL) < oldPrice
    // A cache price that is not listed is the input price.
    const isInput = name.startsWith('cache') && oldPrice === before('input', step)
    const isSame = isInput && newPrice === now('input', step)
    const why = () =>
      isSame ? null : priceFall(name, { above: step, before: oldPrice, now: newPrice })
    return isDoubted({ figure, isSteepFall, why }) ? oldPrice : newPrice
  })
}

type TokenFigures = Pick<HoldFigures, 'contextTokens' | 'outputTokensMax'>

/** Compared as holds count them: an unknown window is a million, an unknown maximum the window. */
function weighTokens(
  believed: TokenFigures,
  { listed, isDoubted }: Weighing<TokenFigures>,
): TokenFigures {
  const windowBefore = believed.contextTokens ?? CONTEXT_TOKENS_UNKNOWN
  const windowNow = listed.contextTokens ?? CONTEXT_TOKENS_UNKNOWN
  // Windows are round numbers: one that lost a zero is exactly a tenth of the earlier one.
  const { contextTokens } = isDoubted({
    figure: 'contextTokens',
    isSteepFall: windowNow * DOUBTED_FALL <= windowBefore,
    why: () => tokensFall('context window', { before: windowBefore, now: windowNow }),
  })
    ? believed
    : listed
  const answerBefore = believed.outputTokensMax ?? windowBefore
  const answerNow = listed.outputTokensMax ?? contextTokens ?? CONTEXT_TOKENS_UNKNOWN
  const { outputTokensMax } = isDoubted({
    figure: 'outputTokensMax',
    isSteepFall: answerNow * DOUBTED_FALL <= answerBefore,
    why: () => tokensFall('maximum output', { before: answerBefore, now: answerNow }),
  })
    ? believed
    : listed
  return { contextTokens, outputTokensMax }
}

type PriceName = Exclude<keyof PriceTable, 'tiers'>

const PER_TOKEN: Readonly<Partial<Record<PriceName, string>>> = {
  input: 'input',
  output: 'output',
  cacheRead: 'cache read',
  cacheWrite: 'cache write',
  cacheWriteLong: 'one-hour cache write',
  reasoning: 'reasoning',
  imageOutput: 'image output',
  audioOutput: 'audio output',
  imageInputToken: 'image input',
  audioInput: 'audio input',
}

const FLAT: Readonly<Partial<Record<PriceName, string>>> = {
  imageInput: 'an input image',
  imageFlat: 'a generated image',
  search: 'a search',
  request: 'a request',
}

/**
 * `the input price fell from $3.00 to $0.003 per million tokens`. `above`: the price is that of prompts of more tokens;
 * null: it has no such threshold.
 */
function priceFall(
  name: PriceName,
  {
    above,
    before,
    now,
  }: { readonly above: number | null; readonly before: Picos; readonly now: Picos },
): string {
  const flat = FLAT[name]
  if (flat !== undefined) {
    const dollars = (price: Picos) => showDollars(decimalOfPicos(price))
    return `the price of ${flat} fell from ${dollars(before)} to ${dollars(now)}`
  }
  // Pico-dollars of one token are micro-dollars of a million.
  const [from, to] = [before, now].map((price) => showMicros(Number(price)))
  const of = above === null ? '' : ` above ${grouped(above)} tokens`
  return `the ${PER_TOKEN[name]} price${of} fell from ${from} to ${to} per million tokens`
}

/** `the context window fell from 200,000 to 20,000 tokens`. */
function tokensFall(
  noun: 'context window' | 'maximum output',
  { before, now }: { readonly before: number; readonly now: number },
): string {
  return `the ${noun} fell from ${grouped(before)} to ${grouped(now)} tokens`
}
