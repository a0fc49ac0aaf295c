import { isTokenCount, readRecord, readStrings } from '../../json/walk.ts'
import {
  formatDecimal,
  isNegative,
  type Picos,
  parseDecimal,
  parsePrice,
  priceWithFee,
} from '../../vocabulary/money.ts'
import type { PriceTable } from '../../vocabulary/offer.ts'
import {
  buildPriceTable,
  highest,
  highestOf,
  priceReading,
  type TokenPrices,
} from './price-table.ts'

/** Prices as the upstream lists them, with `overrides` by prompt size or time of day. */
export type ListedPricing = Readonly<Record<string, string | readonly ListedOverride[]>>

/** Prices that replace the listed ones under their conditions. */
type ListedOverride = Readonly<Record<string, string | number | readonly string[]>>

/** The upstream's prices by name. For prices with other names, only the sign is checked. */
const PRICE_NAMES = [
  'prompt',
  'completion',
  'request',
  'image',
  'image_token',
  'image_output',
  'audio',
  'audio_output',
  'input_audio_cache',
  'web_search',
  'internal_reasoning',
  'input_cache_read',
  'input_cache_write',
  'input_cache_write_1h',
] as const

type PriceName = (typeof PRICE_NAMES)[number]
type Prices = Partial<Record<PriceName, Picos>>

/**
 * Reads a row's `pricing`: as text to be listed, and as the table that holds are sized by. Prices under a
 * condition other than prompt size (a time of day, an unknown one) count if they are higher, since a hold can't
 * know whether they will apply. A `discount` is ignored for the same reason. Throws RowRefusal.
 */
export function parsePricing(value: unknown): {
  readonly listed: ListedPricing
  readonly prices: PriceTable
} {
  const pricing = readRecord(value)
  if (pricing === null) throw new RowRefusal('notOffered', 'it has no prices')
  const base = parsePrices(pricing)
  if (base.prices.prompt === undefined || base.prices.completion === undefined) {
    throw new RowRefusal('notOffered', 'it has no prompt or no completion price')
  }
  const overrides = parseOverrides(pricing['overrides'])
  const listed: ListedPricing =
    overrides.length === 0
      ? base.listed
      : { ...base.listed, overrides: overrides.map((override) => override.listed) }
  return { listed, prices: highestPrices(base.prices, overrides) }
}

/** Listed prices with the fee on each, in hundredths of a percent, exactly; conditions are unchanged. */
export function pricingWithFee(pricing: ListedPricing, feeBasisPoints: number): ListedPricing {
  const entries = Object.entries(pricing).map(([name, value]) => [
    name,
    typeof value === 'string'
      ? grown(value, feeBasisPoints)
      : value.map((override) => overrideWithFee(override, feeBasisPoints)),
  ])
  return Object.fromEntries(entries)
}

function overrideWithFee(override: ListedOverride, feeBasisPoints: number): ListedOverride {
  const entries = Object.entries(override).map(([name, value]) => [
    name,
    typeof value === 'string' ? grown(value, feeBasisPoints) : value,
  ])
  return Object.fromEntries(entries)
}

/** A price with so many hundredths of a percent more, exactly. Throws RangeError for text that is no decimal. */
export function grown(price: string, feeBasisPoints: number): string {
  const decimal = parseDecimal(price)
  if (decimal === null) throw new RangeError('a listed price is a decimal')
  return formatDecimal(priceWithFee(decimal, feeBasisPoints))
}

interface PriceOverride {
  /** Applies to prompts of more tokens than this; null: to all. */
  readonly inputTokensAbove: number | null
  readonly prices: Prices
  readonly listed: ListedOverride
}

// A price for each hour of the week makes 168 rows. Comparing two tables takes the square of their number of tiers.
const OVERRIDES_MAX = 200

function parseOverrides(value: unknown): readonly PriceOverride[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw new RowRefusal('unreadable', '`pricing.overrides` is not a list')
  if (value.length > OVERRIDES_MAX) throw new RowRefusal('unreadable', 'too many price overrides')
  return value.map(parseOverride)
}

function parseOverride(value: unknown): PriceOverride {
  const override = readRecord(value)
  if (override === null) throw new RowRefusal('unreadable', 'a price override is not an object')
  const { prices, listed } = parsePrices(override)
  const inputTokensAbove = override['min_prompt_tokens'] ?? null
  if (inputTokensAbove !== null && !isTokenCount(inputTokensAbove)) {
    throw new RowRefusal('unreadable', '`min_prompt_tokens` is not a token count')
  }
  const conditions: Record<string, number | readonly string[]> = {}
  if (inputTokensAbove !== null) conditions['min_prompt_tokens'] = inputTokensAbove
  for (const edge of ['utc_start', 'utc_end']) {
    const hourMinute = override[edge]
    if (typeof hourMinute === 'number') conditions[edge] = hourMinute
  }
  const days = readStrings(override['utc_days'])
  if (days !== null) conditions['utc_days'] = days
  return { inputTokensAbove, prices, listed: { ...conditions, ...listed } }
}

function parsePrices(pricing: Readonly<Record<string, unknown>>): {
  readonly prices: Prices
  readonly listed: Readonly<Record<string, string>>
} {
  for (const [name, value] of Object.entries(pricing)) {
    const price = decimalText(value)
    const decimal = price === null ? null : parseDecimal(price)
    if (decimal !== null && isNegative(decimal)) {
      throw new RowRefusal('notOffered', `its price \`${name}\` is negative, so it varies`)
    }
  }
  const prices: Prices = {}
  const listed: Record<string, string> = {}
  for (const name of PRICE_NAMES) {
    const value = Object.hasOwn(pricing, name) ? pricing[name] : undefined
    if (value === undefined || value === null) continue
    const text = decimalText(value)
    const price = text === null ? null : parsePrice(text)
    if (text === null || price === null) {
      throw new RowRefusal('unreadable', `its price \`${name}\` is not a decimal`)
    }
    prices[name] = price
    listed[name] = text
  }
  return { prices, listed }
}

/** A price as text; null for any other value. A JSON number's shortest decimal text is the one that was sent. */
export function decimalText(value: unknown): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : null
}

function highestPrices(base: Prices, overrides: readonly PriceOverride[]): PriceTable {
  const steps = tokenPricesByStep(base, overrides)
  const flat = overrides.reduce(
    (most, override) => highestOf(most, flatPrices({ ...base, ...override.prices })),
    flatPrices(base),
  )
  const read = priceReading(flat, (name, step) => steps.get(step)?.[name] ?? 0n)
  return buildPriceTable(
    [...steps.keys()].filter((step) => step !== null),
    read,
  )
}

/** The highest prices that can apply at the base and above each threshold; they never fall. */
function tokenPricesByStep(
  base: Prices,
  overrides: readonly PriceOverride[],
): ReadonlyMap<number | null, TokenPrices> {
  const rising = overrides.toSorted(
    (a, b) => (a.inputTokensAbove ?? -1) - (b.inputTokensAbove ?? -1),
  )
  let most = tokenPrices(base)
  const steps = new Map<number | null, TokenPrices>([[null, most]])
  for (const { inputTokensAbove, prices } of rising) {
    most = highestOf(most, tokenPrices({ ...base, ...prices }))
    steps.set(inputTokensAbove, most)
  }
  return steps
}

function tokenPrices(prices: Prices): TokenPrices {
  const input = prices.prompt ?? 0n
  const cacheWrite = prices.input_cache_write ?? input
  return {
    input,
    output: prices.completion ?? 0n,
    cacheRead: prices.input_cache_read ?? input,
    cacheWrite,
    cacheWriteLong: prices.input_cache_write_1h ?? cacheWrite,
  }
}

type FlatPrices = Omit<PriceTable, keyof TokenPrices | 'tiers'>

function flatPrices(prices: Prices): FlatPrices {
  return {
    reasoning: prices.internal_reasoning ?? 0n,
    // Documented as a price per image; in live rows it is the price of a generated image's tokens.
    imageOutput: prices.image_output ?? 0n,
    audioOutput: prices.audio_output ?? 0n,
    imageInput: prices.image ?? 0n,
    imageInputToken: prices.image_token ?? 0n,
    audioInput: highest(prices.audio ?? 0n, prices.input_audio_cache ?? 0n),
    search: prices.web_search ?? 0n,
    request: prices.request ?? 0n,
    imageFlat: 0n,
  }
}

/**
 * Why a row of the upstream's list is skipped; caught where the row is read. `unreadable`: a field has a wrong
 * type, so that the model exists but none of its figures can be trusted. `notOffered`: the row is valid, but
 * its model can't be sold.
 */
export class RowRefusal extends Error {
  override readonly name = 'RowRefusal'
  readonly reason: 'unreadable' | 'notOffered'

  constructor(reason: RowRefusal['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}
