import { createHash } from 'node:crypto'
import type { Picos } from '../../vocabulary/money.ts'
import type { PriceTable, PriceTier } from '../../vocabulary/offer.ts'
import { isTokenCount, readRecord } from './json-reading.ts'

/** The prices that a tier may change; a table's own are those of the shortest prompts. */
export type TokenPrices = Omit<PriceTier, 'inputTokensAbove'>

/** Reads one price by its place. `step` is a tier's threshold, null for the table's own prices. */
type PriceReading = (name: keyof TokenPrices | FlatPriceName, step: number | null) => Picos

type FlatPriceName = Exclude<keyof PriceTable, keyof TokenPrices | 'tiers'>

/**
 * A table from a reading of each of its prices. Thresholds may come in any order and twice. No tier
 * stands below a lower one, and one that changes nothing is left out: equal prices, equal tables.
 */
export function buildPriceTable(thresholds: Iterable<number>, read: PriceReading): PriceTable {
  const base = readTokenPrices(null, read)
  const tiers: PriceTier[] = []
  let below = base
  for (const inputTokensAbove of [...new Set(thresholds)].sort((a, b) => a - b)) {
    const step = dearestOf(below, readTokenPrices(inputTokensAbove, read))
    if (equalTokenPrices(step, below)) continue
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

function readTokenPrices(step: number | null, read: PriceReading): TokenPrices {
  return {
    input: read('input', step),
    output: read('output', step),
    cacheRead: read('cacheRead', step),
    cacheWrite: read('cacheWrite', step),
    cacheWriteLong: read('cacheWriteLong', step),
  }
}

/** Each price at the dearer of its two tables. */
export function dearestOf<Table extends Readonly<Record<keyof Table, Picos>>>(
  a: Table,
  b: Table,
): Table {
  const dearest = { ...a }
  for (const name in dearest) if (b[name] > dearest[name]) dearest[name] = b[name]
  return dearest
}

/** A table at least as dear as both, at every prompt size. */
export function dearestTable(a: PriceTable, b: PriceTable): PriceTable {
  const readA = priceReadingOf(a)
  const readB = priceReadingOf(b)
  const thresholds = [...a.tiers, ...b.tiers].map((tier) => tier.inputTokensAbove)
  const dearest: PriceReading = (name, step) => {
    const prices = dearestOf({ [name]: readA(name, step) }, { [name]: readB(name, step) })
    return prices[name] ?? 0n
  }
  if (!writesUnasked(a) && !writesUnasked(b)) return buildPriceTable(thresholds, dearest)
  // One price for all writes says that the model may write by itself. It is not lost beside a table
  // that has a price for each lifetime.
  return buildPriceTable(thresholds, (name, step) =>
    name === 'cacheWrite' || name === 'cacheWriteLong'
      ? dearestOf(
          { picos: dearest('cacheWrite', step) },
          { picos: dearest('cacheWriteLong', step) },
        ).picos
      : dearest(name, step),
  )
}

function writesUnasked({ tiers, ...base }: PriceTable): boolean {
  return [base, ...tiers].some(
    ({ input, cacheWrite, cacheWriteLong }) => cacheWrite > input && cacheWrite === cacheWriteLong,
  )
}

function equalTokenPrices(a: TokenPrices, b: TokenPrices): boolean {
  return (
    a.input === b.input &&
    a.output === b.output &&
    a.cacheRead === b.cacheRead &&
    a.cacheWrite === b.cacheWrite &&
    a.cacheWriteLong === b.cacheWriteLong
  )
}

/** Reads a table's price at a threshold, whether or not the table has a tier there. */
export function priceReadingOf(prices: PriceTable): PriceReading {
  return priceReading(prices, (name, step) => tokenPricesAt(prices, step)[name])
}

/** Reads token prices, which differ by threshold, from one place and all others from another. */
export function priceReading(
  flat: Omit<PriceTable, 'tiers' | keyof TokenPrices>,
  tokenPrice: (name: keyof TokenPrices, step: number | null) => Picos,
): PriceReading {
  return (name, step) => {
    switch (name) {
      case 'input':
      case 'output':
      case 'cacheRead':
      case 'cacheWrite':
      case 'cacheWriteLong':
        return tokenPrice(name, step)
      default:
        return flat[name]
    }
  }
}

function tokenPricesAt(prices: PriceTable, step: number | null): TokenPrices {
  if (step === null) return prices
  return prices.tiers.findLast((tier) => tier.inputTokensAbove <= step) ?? prices
}

/** A price table as JSON text, each price a decimal string of pico-dollars: equal tables, equal text. */
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

/** Reads what {@link encodePriceTable} wrote; null for anything else. */
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

/** Names these exact prices of this model: the same for the same prices, on every instance. */
export function priceSnapshotId(modelId: string, prices: PriceTable): string {
  const hash = createHash('sha256').update(modelId).update('\n').update(encodePriceTable(prices))
  return `price_${hash.digest('hex').slice(0, SNAPSHOT_ID_HEX_CHARS)}`
}
