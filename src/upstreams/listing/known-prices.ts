import { readRecord } from '../../json/walk.ts'
import { formatDecimal, parseDecimal } from '../../vocabulary/money.ts'
import { decimalText } from './pricing.ts'

/** The facts about a vendor's model that its own list lacks. */
export interface KnownModel {
  /** Prices in the layout of a listed row: dollars as decimal strings. */
  readonly pricing: Readonly<Record<string, unknown>>
  /** Tokens; null: not known. */
  readonly contextTokens: number | null
}

/**
 * For each kind of price: the package's name, our name, and the number of units that the package's price is for, as a
 * power of ten.
 */
const PRICES: Readonly<Record<string, readonly [name: string, unitPower: number]>> = {
  input_mtok: ['prompt', 6],
  output_mtok: ['completion', 6],
  cache_read_mtok: ['input_cache_read', 6],
  cache_write_mtok: ['input_cache_write', 6],
  cache_write_1h_mtok: ['input_cache_write_1h', 6],
  web_searches_kcount: ['web_search', 3],
  requests_kcount: ['request', 3],
}

// developers.openai.com/api/docs/models/gpt-5.4 and the pages of its successors, read 2026-11-28: prompts with more than
// 272,000 input tokens have the higher prices. The package begins them one token too early for some models
// (github.com/pydantic/genai-prices/issues/711).
const CORRECT_THRESHOLDS: Readonly<Record<string, Thresholds>> = {
  openai: new Map([[271_999, 272_000]]),
}

/** Prices that no call can incur here: searches of stored files. */
const UNREACHABLE = new Set(['storage_searches_kcount'])

/**
 * The prices of a vendor's models, from the package `@pydantic/genai-prices`, which has the data in it. An entry
 * applies to an ID that it names in full, or in full without the date or `-latest` at its end, if the entry's own rule
 * matches too: the rule alone would also match the next version of a model, which may cost more.
 */
export async function loadKnownPrices(
  vendor: string,
  nowMs: number,
): Promise<(upstreamModelId: string) => KnownModel | null> {
  const { findProvider } = await import('@pydantic/genai-prices')
  const entries = (findProvider({ providerId: vendor })?.models ?? []).map(readEntry)
  const thresholds = CORRECT_THRESHOLDS[vendor] ?? new Map()
  return (upstreamModelId) => {
    const entry =
      entries.find(({ names }) => names.has(upstreamModelId)) ??
      entries.find(
        ({ names, takes }) => names.has(undated(upstreamModelId)) && takes(upstreamModelId),
      )
    const pricing = entry === undefined ? null : pricingAt(entry.prices, { nowMs, thresholds })
    if (entry === undefined || pricing === null) return null
    return { pricing, contextTokens: entry.contextTokens }
  }
}

/** An id without the date, or the `-latest`, at its end. */
export function undated(upstreamModelId: string): string {
  return upstreamModelId.replace(/-(?:latest|\d{8}|\d{4}-\d{2}-\d{2})$/, '')
}

interface Entry {
  /** The ids that the entry has in full. */
  readonly names: ReadonlySet<string>
  readonly takes: (upstreamModelId: string) => boolean
  readonly contextTokens: number | null
  readonly prices: unknown
}

function readEntry(model: {
  readonly id: string
  readonly match: unknown
  readonly context_window?: number
  readonly prices: unknown
}): Entry {
  return {
    names: new Set([model.id, ...literals(model.match)]),
    takes: (upstreamModelId) => matches(model.match, upstreamModelId),
    contextTokens: model.context_window ?? null,
    prices: model.prices,
  }
}

function literals(match: unknown): readonly string[] {
  return Object.entries(recordOf(match)).flatMap(([kind, value]) =>
    kind === 'or' ? listOf(value).flatMap(literals) : isLiteral(kind, value) ? [value] : [],
  )
}

function isLiteral(kind: string, value: unknown): value is string {
  return (kind === 'equals' || kind === 'starts_with') && typeof value === 'string'
}

function matches(match: unknown, upstreamModelId: string): boolean {
  return Object.entries(recordOf(match)).some(([kind, value]) => {
    if (kind === 'or') return listOf(value).some((rule) => matches(rule, upstreamModelId))
    if (typeof value !== 'string') return false
    if (kind === 'equals') return upstreamModelId === value
    if (kind === 'starts_with') return upstreamModelId.startsWith(value)
    return kind === 'regex' && new RegExp(value).test(upstreamModelId)
  })
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The prices of a moment; null: none of them are fixed, or one is of a kind that can't be counted here. */
function pricingAt(
  prices: unknown,
  { nowMs, thresholds }: { readonly nowMs: number; readonly thresholds: Thresholds },
): KnownModel['pricing'] | null {
  if (!Array.isArray(prices)) return pricingOf(prices, thresholds)
  let current: unknown = null
  for (const { constraint, prices: then } of prices.map(recordOf)) {
    if (constraint === undefined) current = then
    else {
      const { type, start_date: startDate } = recordOf(constraint)
      if (type !== 'start_date' || typeof startDate !== 'string') return null
      if (Date.parse(startDate) <= nowMs) current = then
    }
  }
  return pricingOf(current, thresholds)
}

/** Correct thresholds by those of the package. */
type Thresholds = ReadonlyMap<unknown, number>

function pricingOf(prices: unknown, thresholds: Thresholds): KnownModel['pricing'] | null {
  const pricing: Record<string, unknown> = {}
  const byThreshold = new Map<number, Record<string, unknown>>()
  for (const [unit, price] of Object.entries(recordOf(prices))) {
    const known = PRICES[unit]
    if (known === undefined) {
      if (UNREACHABLE.has(unit)) continue
      return null
    }
    const [name, unitPower] = known
    const { base, tiers } = recordOf(price)
    const usd = dollars(base ?? price, unitPower)
    if (usd === null) return null
    pricing[name] = usd
    for (const tier of listOf(tiers)) {
      const { start: packaged, price: above } = recordOf(tier)
      const start = thresholds.get(packaged) ?? packaged
      const usdAbove = dollars(above, unitPower)
      if (typeof start !== 'number' || usdAbove === null) return null
      const override = byThreshold.get(start) ?? { min_prompt_tokens: start }
      override[name] = usdAbove
      byThreshold.set(start, override)
    }
  }
  if (pricing['prompt'] === undefined) return null
  // Models that write no text, such as those of embeddings, have no price for output.
  pricing['completion'] ??= '0'
  return byThreshold.size === 0 ? pricing : { ...pricing, overrides: [...byThreshold.values()] }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return readRecord(value) ?? {}
}

/**
 * The price of one unit, in dollars. The package has numbers of at most nine digits. The shortest text of each is the
 * decimal in its source, and nothing is computed with the number itself.
 */
function dollars(price: unknown, unitPower: number): string | null {
  const text = decimalText(price)
  const decimal = text === null ? null : parseDecimal(text)
  if (decimal === null) return null
  return formatDecimal({ digits: decimal.digits, exponent: decimal.exponent - unitPower })
}
