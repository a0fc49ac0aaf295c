import { createHash } from 'node:crypto'
import { isTokenCount, readRecord } from '../../json/walk.ts'
import type { Picos } from '../../vocabulary/money.ts'
import type { Offer, PriceTable, PriceTier } from '../../vocabulary/offer.ts'

/** Prices of tokens, which a tier may raise; the table's own are for the shortest prompts. */
export type TokenPrices = Omit<PriceTier, 'inputTokensAbove'>

/** Reads one price. `step` is a tier's threshold, null for the table's own prices. */
type PriceReading = (name: keyof TokenPrices | FlatPriceName, step: number | null) => Picos

type FlatPriceName = Exclude<keyof PriceTable, keyof TokenPrices | 'tiers'>

/**
 * Builds a table from a reading of each price. Thresholds may come in any order and more than once. No tier is
 * cheaper than a lower one, and a tier without effect is left out, so that equal prices make equal tables.
 */
export function buildPriceTable(thresholds: Iterable<number>, read: PriceReading): PriceTable {
  const base = tokenPricesOf((name) => read(name, null))
  const tiers: PriceTier[] = []
  let below = base
  for (const inputTokensAbove of [...new Set(thresholds)].sort((a, b) => a - b)) {
    const step = highestOf(
      below,
      tokenPricesOf((name) => read(name, inputTokensAbove)),
    )
    if (TOKEN_PRICE_NAMES.every((name) => step[name] === below[name])) continue
    tiers.push({ inputTokensAbove, ...step })
    below = step
  }
  return {
    ...base,
    reasoning: read('reasoning', null),
    imageOutput: read('imageOutput', null),
    audioOutput: read('audioOutput', null),
    imageInput: read('imageInput', null),
    imageInputToken: read('imageInputToken', null),
    audioInput: read('audioInput', null),
    search: read('search', null),
    request: read('request', null),
    imageFlat: read('imageFlat', null),
    tiers,
  }
}

const TOKEN_PRICE_NAMES = ['input', 'output', 'cacheRead', 'cacheWrite', 'cacheWriteLong'] as const

/** Makes each price of a token. */
function tokenPricesOf(make: (name: keyof TokenPrices) => Picos): TokenPrices {
  return {
    input: make('input'),
    output: make('output'),
    cacheRead: make('cacheRead'),
    cacheWrite: make('cacheWrite'),
    cacheWriteLong: make('cacheWriteLong'),
  }
}

/** Takes the higher of two prices, for each price. */
export function highestOf<Table extends Readonly<Record<keyof Table, Picos>>>(
  a: Table,
  b: Table,
): Table {
  const most = { ...a }
  for (const name in most) if (b[name] > most[name]) most[name] = b[name]
  return most
}

/** A table at least as high as both at every prompt size. */
export function highestTable(a: PriceTable, b: PriceTable): PriceTable {
  const readA = priceReadingOf(a)
  const readB = priceReadingOf(b)
  const thresholds = [...a.tiers, ...b.tiers].map((tier) => tier.inputTokensAbove)
  const read: PriceReading = (name, step) => {
    const most = highest(readA(name, step), readB(name, step))
    if ((name !== 'reasoning' && name !== 'imageOutput') || most === 0n) return most
    return highest(asOutput(a, name), asOutput(b, name))
  }
  if (!writesUnasked(a) && !writesUnasked(b)) return buildPriceTable(thresholds, read)
  // One price for all cache writes means that the model may write to the cache unasked. The result must still show this
  // if the other table has a price for each lifetime.
  return buildPriceTable(thresholds, (name, step) =>
    name === 'cacheWrite' || name === 'cacheWriteLong'
      ? highest(read('cacheWrite', step), read('cacheWriteLong', step))
      : read(name, step),
  )
}

/** The price of output that may have a price of its own; without one, the highest price of all output. */
function asOutput(prices: PriceTable, name: 'reasoning' | 'imageOutput'): Picos {
  return prices[name] || (prices.tiers.at(-1)?.output ?? prices.output)
}

function writesUnasked({ tiers, ...base }: PriceTable): boolean {
  return [base, ...tiers].some(
    ({ input, cacheWrite, cacheWriteLong }) => cacheWrite > input && cacheWrite === cacheWriteLong,
  )
}

/** Reads a table's prices at any threshold. */
export function priceReadingOf(prices: PriceTable): PriceReading {
  return priceReading(
    prices,
    (name, step) => tokenPricesAt(prices, step === null ? 0 : step + 1)[name],
  )
}

/** Reads token prices, which depend on the threshold, from `tokenPrice` and all others from `flat`. */
export function priceReading(
  flat: Omit<PriceTable, 'tiers' | keyof TokenPrices>,
  tokenPrice: (name: keyof TokenPrices, step: number | null) => Picos,
): PriceReading {
  return (name, step) => (isOfTokens(name) ? tokenPrice(name, step) : flat[name])
}

function isOfTokens(name: Parameters<PriceReading>[0]): name is keyof TokenPrices {
  return TOKEN_PRICE_NAMES.some((one) => one === name)
}

/** The token prices of a whole request whose prompt has this many tokens, cached ones included. */
export function tokenPricesAt(prices: PriceTable, promptTokens: number): TokenPrices {
  let reached: TokenPrices = prices
  for (const tier of prices.tiers) if (promptTokens > tier.inputTokensAbove) reached = tier
  return reached
}

/** The highest of some prices; zero if there are none. */
export function highest(...prices: readonly Picos[]): Picos {
  let most: Picos = 0n
  for (const price of prices) if (price > most) most = price
  return most
}

// The factor of a more expensive tier on the model's token prices, if the catalog lists no prices for the tier.
const TIER_FACTOR = 6n

/** The tier that a call runs at. */
interface AskedTier {
  readonly priorityTier: boolean
  /** Whether it is computed within one region. Default: no. */
  readonly isRegional?: boolean
}

/**
 * The prices at which a call may be billed. At a more expensive tier they are those of the model's faster sibling, but
 * never below the model's own; if the catalog lists no sibling, six times the model's token prices. Prices within a
 * region are those of the offer, if it has any.
 */
export function pricesAtTier(
  offer: Pick<Offer, 'prices' | 'fastPrices' | 'regionalPrices'>,
  { priorityTier, isRegional = false }: AskedTier,
): PriceTable {
  const { fastPrices } = offer
  const prices = (isRegional ? offer.regionalPrices : undefined) ?? offer.prices
  if (!priorityTier) return prices
  if (fastPrices !== null) return highestTable(prices, fastPrices)
  return {
    ...withTokenPrices(prices, (price) => price * TIER_FACTOR),
    reasoning: prices.reasoning * TIER_FACTOR,
    imageOutput: prices.imageOutput * TIER_FACTOR,
    audioOutput: prices.audioOutput * TIER_FACTOR,
    imageInputToken: prices.imageInputToken * TIER_FACTOR,
    audioInput: prices.audioInput * TIER_FACTOR,
  }
}

/** The table with each price of a token changed. */
function withTokenPrices(prices: PriceTable, change: (price: Picos) => Picos): PriceTable {
  const changed = (table: TokenPrices) => tokenPricesOf((name) => change(table[name]))
  const tiers = prices.tiers.map((tier) => ({ ...tier, ...changed(tier) }))
  return { ...prices, ...changed(prices), tiers }
}

/** The table with token prices of 1.1 times. A tenth of a pico-dollar goes up. */
export function tenPercentMore(prices: PriceTable): PriceTable {
  return withTokenPrices(prices, (price) => (price * 11n + 9n) / 10n)
}

/** A price table as JSON text, with each price as a decimal string of pico-dollars. Equal tables make equal texts. */
export function encodePriceTable(prices: PriceTable): string {
  const flat = (table: PriceTable | PriceTier) =>
    Object.fromEntries(
      Object.entries(table)
        .filter(([name]) => name !== 'tiers')
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, price]) => [name, typeof price === 'bigint' ? price.toString() : price]),
    )
  return JSON.stringify({ ...flat(prices), tiers: prices.tiers.map(flat) })
}

/** Reads a text of {@link encodePriceTable}; null for any other value. */
export function decodePriceTable(stored: unknown): PriceTable | null {
  const record = readRecord(stored)
  if (record === null || !Array.isArray(record['tiers'])) return null
  const steps = new Map<number | null, Readonly<Record<string, unknown>>>([[null, record]])
  for (const element of record['tiers']) {
    const tier = readRecord(element)
    const threshold = tier?.['inputTokensAbove']
    if (tier === null || !isTokenCount(threshold)) return null
    steps.set(threshold, tier)
  }
  let readable = true
  const read: PriceReading = (name, step) => {
    const text = steps.get(step)?.[name]
    if (typeof text === 'string' && /^\d{1,80}$/.test(text)) return BigInt(text)
    readable = false
    return 0n
  }
  const prices = buildPriceTable(
    [...steps.keys()].filter((step) => step !== null),
    read,
  )
  return readable ? prices : null
}

const SNAPSHOT_ID_HEX_CHARS = 24

/** An id for these exact prices of this model: the same on every instance. */
export function priceSnapshotId(modelId: string, prices: PriceTable): string {
  const hash = createHash('sha256').update(modelId).update('\n').update(encodePriceTable(prices))
  return `price_${hash.digest('hex').slice(0, SNAPSHOT_ID_HEX_CHARS)}`
}
