import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { offerWith } from '../../formats/testing/exchange.ts'
import type { PriceTable } from '../../vocabulary/offer.ts'
import {
  buildPriceTable,
  decodePriceTable,
  encodePriceTable,
  highestTable,
  priceReadingOf,
  priceSnapshotId,
  pricesAtTier,
  tenPercentMore,
  tokenPricesAt,
} from './price-table.ts'

/** Any table that can be built: thresholds in any order, prices at random. */
const priceTable = fc
  .record({
    thresholds: fc.array(fc.nat(1_000_000), { maxLength: 4 }),
    prices: fc.infiniteStream(fc.bigInt({ min: 0n, max: 10n ** 20n })),
  })
  .map(({ thresholds, prices }) => buildPriceTable(thresholds, () => prices.next().value ?? 0n))

describe('a price table', () => {
  test('of 1.1 times rounds up', () => {
    const { input, request } = tenPercentMore(buildPriceTable([], () => 11n))
    expect([input, request]).toEqual([13n, 11n])
  })

  test('is the same after it is stored and read', () => {
    fc.assert(
      fc.property(priceTable, (prices) => {
        expect(decodePriceTable(JSON.parse(encodePriceTable(prices)))).toEqual(prices)
      }),
    )
  })

  test('has no tier that is cheaper than a lower one or without effect', () => {
    fc.assert(
      fc.property(priceTable, (prices) => {
        let below: Omit<PriceTable['tiers'][number], 'inputTokensAbove'> = prices
        let threshold = -1
        for (const tier of prices.tiers) {
          expect(tier.inputTokensAbove).toBeGreaterThan(threshold)
          const names = ['input', 'output', 'cacheRead', 'cacheWrite', 'cacheWriteLong'] as const
          expect(names.every((name) => tier[name] >= below[name])).toBe(true)
          expect(names.some((name) => tier[name] > below[name])).toBe(true)
          below = tier
          threshold = tier.inputTokensAbove
        }
      }),
    )
  })

  test('has the prices of the lower threshold between two thresholds', () => {
    const prices = buildPriceTable([100, 200], (name, step) =>
      name === 'input' ? BigInt(step ?? 1) : 0n,
    )
    const read = priceReadingOf(prices)
    expect([null, 99, 100, 199, 200, 999].map((step) => read('input', step))).toEqual([
      1n,
      1n,
      100n,
      100n,
      200n,
      200n,
    ])
  })

  test('is not read from invalid text', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (stored) => {
        expect(decodePriceTable(stored)).toBeNull()
      }),
    )
    const whole: unknown = JSON.parse(encodePriceTable(buildPriceTable([], () => 5n)))
    expect(decodePriceTable({ ...Object(whole), input: '-5' })).toBeNull()
    expect(decodePriceTable({ ...Object(whole), output: 5 })).toBeNull()
    expect(decodePriceTable({ ...Object(whole), tiers: [{}] })).toBeNull()
  })
})

describe('a price snapshot', () => {
  const prices = buildPriceTable([100], (_, step) => (step === null ? 3n : 6n))

  test('has the same id for equal prices, built in any order', () => {
    const { tiers, ...rest } = prices
    const reversed = Object.fromEntries(Object.entries(rest).reverse())
    expect(priceSnapshotId('acme/sage', { ...prices, ...reversed, tiers })).toBe(
      priceSnapshotId('acme/sage', prices),
    )
  })

  test('has another id for any other price, tier or model', () => {
    const [tier] = prices.tiers
    if (tier === undefined) throw new Error('the table has a tier')
    const names = [
      priceSnapshotId('acme/sage', prices),
      priceSnapshotId('acme/other', prices),
      priceSnapshotId('acme/sage', { ...prices, imageFlat: 4n }),
      priceSnapshotId('acme/sage', { ...prices, tiers: [] }),
      priceSnapshotId('acme/sage', { ...prices, tiers: [{ ...tier, inputTokensAbove: 101 }] }),
      priceSnapshotId('acme/sage', { ...prices, tiers: [{ ...tier, output: 7n }] }),
    ]
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('the highest of two tables', () => {
  const tables = fc.tuple(
    fc.array(fc.nat(100), { maxLength: 3 }),
    fc.array(fc.bigInt(0n, 50n), { minLength: 14 }),
  )
  const table = tables.map(([thresholds, prices]) => {
    let at = 0
    return buildPriceTable(thresholds, () => prices[at++ % prices.length] ?? 0n)
  })

  test('is never cheaper than either, at any prompt size', () => {
    fc.assert(
      fc.property(table, table, fc.nat(120), (a, b, promptTokens) => {
        const both = priceReadingOf(highestTable(a, b))
        for (const one of [a, b].map(priceReadingOf)) {
          for (const name of ['input', 'output', 'cacheWrite', 'cacheWriteLong'] as const) {
            expect(both(name, promptTokens)).toBeGreaterThanOrEqual(one(name, promptTokens))
          }
          for (const name of ['reasoning', 'request', 'imageOutput'] as const) {
            expect(both(name, null)).toBeGreaterThanOrEqual(one(name, null))
          }
        }
      }),
    )
  })

  test('still has unrequested cache writes if one of them does', () => {
    const priced = (write: bigint, writeLong: bigint) =>
      buildPriceTable([], (name) => {
        if (name === 'cacheWrite') return write
        return name === 'cacheWriteLong' ? writeLong : 4n
      })
    const writesOf = ({ cacheWrite, cacheWriteLong }: PriceTable) => [cacheWrite, cacheWriteLong]
    expect(writesOf(highestTable(priced(5n, 5n), priced(6n, 8n)))).toEqual([8n, 8n])
    expect(writesOf(highestTable(priced(4n, 4n), priced(6n, 8n)))).toEqual([6n, 8n])
    expect(writesOf(highestTable(priced(5n, 8n), priced(6n, 7n)))).toEqual([6n, 8n])
  })
})

test.each(['reasoning', 'imageOutput'] as const)(
  'the highest of two %s prices is not below the output of a table that has none',
  (name) => {
    const table = (prices: Partial<PriceTable>) => buildPriceTable([], (each) => prices[each] ?? 0n)
    const own = table({ output: 10n, [name]: 20n })
    expect(highestTable(own, table({ output: 40n }))[name]).toBe(40n)
    expect(highestTable(table({ output: 15n }), own)[name]).toBe(20n)
    expect(highestTable(table({ output: 15n }), table({ output: 40n }))[name]).toBe(0n)
  },
)

test('a more expensive tier without listed prices has six times those of long prompts too', () => {
  const prices = buildPriceTable([1_000], (name, step) =>
    name === 'input' ? (step === null ? 2n : 3n) : 1n,
  )
  const priority = pricesAtTier(offerWith({ prices, fastPrices: null }), { priorityTier: true })
  expect(tokenPricesAt(priority, 1_000).input).toBe(12n)
  expect(tokenPricesAt(priority, 1_001).input).toBe(18n)
})
