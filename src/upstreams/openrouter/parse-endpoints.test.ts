import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseFlatImagePrice } from './catalog.ts'

const answer = (...pricing: readonly unknown[]) => ({ id: 'acme/draw', endpoints: [{ pricing }] })
const line = (changes: object) => ({
  billable: 'output_image',
  unit: 'image',
  cost_usd: 0.05,
  ...changes,
})

describe('the flat price of a generated image', () => {
  test.each<[string, unknown, bigint | null]>([
    ['is exact', answer(line({ cost_usd: 0.08 })), 80_000_000_000n],
    [
      'is that of the most expensive variant',
      answer(line({}), line({ cost_usd: 0.12, variant: '4k' }), line({ cost_usd: 0.01 })),
      120_000_000_000n,
    ],
    [
      'is that of the most expensive provider',
      { endpoints: [...answer(line({})).endpoints, ...answer(line({ cost_usd: 1 })).endpoints] },
      1_000_000_000_000n,
    ],
    [
      'leaves prices of tokens and of input out',
      answer(line({ unit: 'token', cost_usd: 9 }), line({ billable: 'input_image', cost_usd: 9 })),
      0n,
    ],
    ['is zero where no provider lists one', answer(), 0n],
    ['is unknown where it is negative', answer(line({ cost_usd: -1 })), null],
    ['is unknown where it is no number', answer(line({ cost_usd: null })), null],
    ['is unknown where a provider has no prices', { endpoints: [{}] }, null],
    ['is unknown if a line is not an object', answer('free'), null],
    ['is unknown where the answer is an error', { error: { code: 500 } }, null],
  ])('%s', (_, given, price) => {
    expect(parseFlatImagePrice(given)).toBe(price)
  })

  test('is read or unknown for any answer', () => {
    const hostile = fc.oneof(
      fc.jsonValue(),
      fc.jsonValue().map((endpoints) => ({ endpoints })),
      fc.array(fc.jsonValue()).map((pricing) => ({ endpoints: [{ pricing }] })),
    )
    fc.assert(
      fc.property(hostile, (given) => {
        const price = parseFlatImagePrice(given)
        expect(price === null || price >= 0n).toBe(true)
      }),
    )
  })
})
