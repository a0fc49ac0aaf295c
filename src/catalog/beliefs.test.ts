import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { buildPriceTable } from '../upstreams/listing/price-table.ts'
import type { PriceTable } from '../vocabulary/offer.ts'
import { Beliefs } from './beliefs.ts'

/** A table whose input price is given, tier by tier; all else is free. */
function inputPrices(base: bigint, tiers: Readonly<Record<number, bigint>> = {}): PriceTable {
  return buildPriceTable(Object.keys(tiers).map(Number), (name, step) => {
    if (name !== 'input') return 0n
    return step === null ? base : (tiers[step] ?? 0n)
  })
}

function weighPrices(
  beliefs: Beliefs,
  { believed, listed }: { readonly believed: PriceTable; readonly listed: PriceTable },
): PriceTable {
  const figures = (prices: PriceTable) => ({ prices, contextTokens: null, outputTokensMax: null })
  return beliefs.weigh({
    modelId: 'acme/sage',
    believed: figures(believed),
    listed: figures(listed),
  }).prices
}

/** Weighs one listed table after another, as refreshes do; returns the believed price after each. */
function believedAfterEach(start: PriceTable, listings: readonly PriceTable[]): PriceTable[] {
  const beliefs = new Beliefs()
  let believed = start
  return listings.map((listed) => {
    believed = weighPrices(beliefs, { believed, listed })
    return believed
  })
}

const inputs = (start: bigint, listed: readonly bigint[]) =>
  believedAfterEach(
    inputPrices(start),
    listed.map((price) => inputPrices(price)),
  ).map(({ input }) => input)

describe('a price', () => {
  test.each<[string, bigint, bigint[], bigint[]]>([
    ['that rises a thousandfold counts at once', 10n, [10_000n], [10_000n]],
    ['that appears where there was none counts at once', 0n, [10_000n], [10_000n]],
    ['that falls exactly tenfold counts at once', 1_000n, [100n], [100n]],
    [
      'that falls more than tenfold counts at the third refresh',
      1_000n,
      [99n, 99n, 99n, 99n],
      [1_000n, 1_000n, 99n, 99n],
    ],
    [
      'that falls to nothing counts at the third refresh',
      1_000n,
      [0n, 0n, 0n],
      [1_000n, 1_000n, 0n],
    ],
    [
      'that falls to a new figure each time counts as the third says',
      1_000n,
      [9n, 50n, 7n],
      [1_000n, 1_000n, 7n],
    ],
    [
      'that comes back in between starts anew',
      1_000n,
      [9n, 9n, 1_000n, 9n, 9n, 9n],
      [1_000n, 1_000n, 1_000n, 1_000n, 1_000n, 9n],
    ],
    [
      'that was believed to fall is weighed from there',
      1_000n,
      [9n, 9n, 9n, 1n, 0n],
      [1_000n, 1_000n, 9n, 1n, 1n],
    ],
  ])('%s', (...[, start, listed, believed]) => {
    expect(inputs(start, listed)).toEqual(believed)
  })

  test('that falls does not hold back another that rises', () => {
    const before = { ...inputPrices(1_000n), request: 5n }
    const [believed] = believedAfterEach(before, [{ ...inputPrices(1n), request: 70n }])
    expect(believed).toEqual({ ...inputPrices(1_000n), request: 70n })
  })

  test('is counted separately: of three prices that fall in turn, none is accepted', () => {
    const before = { ...inputPrices(1_000n), request: 1_000n, search: 1_000n }
    const believed = believedAfterEach(before, [
      { ...before, input: 1n },
      { ...before, request: 1n },
      { ...before, search: 1n },
    ])
    expect(believed).toEqual([before, before, before])
  })
})

describe('a tier', () => {
  test('that disappears stays until its decrease is accepted', () => {
    const tiered = inputPrices(10n, { 200: 1_000n })
    const believed = believedAfterEach(
      tiered,
      [10n, 10n, 10n].map((price) => inputPrices(price)),
    )
    expect(believed).toEqual([tiered, tiered, inputPrices(10n)])
  })

  test('that disappears and was hardly more expensive is dropped at once', () => {
    expect(believedAfterEach(inputPrices(10n, { 200: 20n }), [inputPrices(10n)])).toEqual([
      inputPrices(10n),
    ])
  })

  test('is never left below a base whose decrease is doubted', () => {
    const [believed] = believedAfterEach(inputPrices(100n), [inputPrices(5n, { 200: 50n })])
    expect(believed).toEqual(inputPrices(100n))
  })
})

test('no price is ever believed below a tenth of the last, unless three refreshes in a row list it so', () => {
  const price = fc.constantFrom(0n, 1n, 2n, 10n, 11n, 99n, 100n, 101n, 1_000n, 10_000n)
  fc.assert(
    fc.property(price, fc.array(price, { minLength: 1, maxLength: 12 }), (start, listed) => {
      const believed = [start, ...inputs(start, listed)]
      listed.forEach((now, refresh) => {
        const [before = 0n, after = 0n] = believed.slice(refresh, refresh + 2)
        if (after * 10n >= before) {
          // Either the listed price, or the higher price that a doubt keeps.
          expect(after === now || (after === before && now * 10n < before)).toBe(true)
          return
        }
        expect(after).toBe(now)
        const lastThree = listed.slice(Math.max(0, refresh - 2), refresh + 1)
        expect(lastThree).toHaveLength(3)
        expect(lastThree.every((each) => each * 10n < before)).toBe(true)
      })
    }),
  )
})

test('a model that is no longer listed is forgotten', () => {
  const beliefs = new Beliefs()
  const weigh = () =>
    weighPrices(beliefs, { believed: inputPrices(1_000n), listed: inputPrices(1n) })
  weigh()
  weigh()
  expect(beliefs.doubts('acme/sage')).toBe(true)
  beliefs.keepOnly(new Set(['acme/other']))
  expect(beliefs.doubts('acme/sage')).toBe(false)
  expect(weigh().input).toBe(1_000n)
})
