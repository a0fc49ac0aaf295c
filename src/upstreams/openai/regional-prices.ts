import { formatDecimal, parseDecimal } from '../../vocabulary/money.ts'
import type { KnownModel } from '../listing/known-prices.ts'
import { decimalText } from '../listing/pricing.ts'

// developers.openai.com/api/docs/guides/data-residency, read 2026-11-27: an address of a region costs 10% more for models
// that were released on 2026-03-05 or later, which are GPT-5.4 and its successors.
const REGIONAL_HOST = /^[a-z]{2}\.api\.openai\.com$/
const WITH_UPLIFT = /^gpt-(?:5\.[4-9]|[6-9]|\d{2})/

/** The known prices at an address of OpenAI. By position: the address, and the prices at the usual one. */
export function pricesAtHost(
  baseUrl: string,
  knownModel: (upstreamModelId: string) => KnownModel | null,
): (upstreamModelId: string) => KnownModel | null {
  if (!REGIONAL_HOST.test(new URL(baseUrl).hostname)) return knownModel
  return (upstreamModelId) => {
    const known = knownModel(upstreamModelId)
    if (known === null || !WITH_UPLIFT.test(upstreamModelId)) return known
    return { ...known, pricing: withUplift(known.pricing) }
  }
}

const TOKEN_PRICES = new Set(['prompt', 'completion', 'input_cache_read', 'input_cache_write'])

function withUplift(pricing: KnownModel['pricing']): KnownModel['pricing'] {
  const prices = Object.entries(pricing).map(([name, price]) => [
    name,
    TOKEN_PRICES.has(name) ? tenPercentMore(price) : price,
  ])
  const { overrides } = pricing
  if (!Array.isArray(overrides)) return Object.fromEntries(prices)
  return { ...Object.fromEntries(prices), overrides: overrides.map(withUplift) }
}

function tenPercentMore(price: unknown): unknown {
  const text = decimalText(price)
  const decimal = text === null ? null : parseDecimal(text)
  if (decimal === null) return price
  return formatDecimal({ digits: decimal.digits * 11n, exponent: decimal.exponent - 1 })
}
