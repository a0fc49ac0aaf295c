import { describe, expect, test } from 'vitest'
import { chargeForCost } from '../../vocabulary/money.ts'
import type { PriceTable } from '../../vocabulary/offer.ts'
import { NO_MEDIA } from '../../vocabulary/testing/no-media.ts'
import { usageOf } from '../../vocabulary/testing/token-usage.ts'
import { callWith, OPEN, offerWith, SAGE, usd } from '../hold-size/testing/offers.ts'
import { billedParts, costOfUsage, estimateUsage } from './usage-charge.ts'

const NO_TOKENS = usageOf({})

type Row = readonly [name: string, counts: string, chargeMicros: number, PriceTable?]

describe('a charge from token counts', () => {
  const listed = offerWith({
    output: usd('0.000001'),
    reasoning: usd('0.000002'),
    imageOutput: usd('0.00003'),
  }).prices
  const plain = offerWith({ output: usd('0.000001') }).prices
  const some = '100 out, 30 reasoning, 20 images'
  const rows: readonly Row[] = [
    // (1,000 × 3 + 500 × 15) × 1.05
    ['input and output', '1,000 in, 500 out', 11_025],
    // (100 × 3 + 1,000 × 0.3 + 200 × 3.75 + 50 × 6) × 1.05 = 1,732.5
    [
      'each class of cached input at its own price, half a micro-dollar up',
      '100 in, 1,000 read, 200 written, 50 written long',
      1_733,
    ],
    // 0.2 × 1.05 = 0.21 and 3 × 0.2 × 1.05 = 0.63
    ['below half a micro-dollar down', '1 in', 0, OPEN.prices],
    ['above half a micro-dollar up', '3 in', 1, OPEN.prices],
    ['searches', '3 searches', 31_500],
    ['the price of the request', '0 in', 18_900, offerWith({ request: usd('0.018') }).prices],
    ['a prompt at the threshold, with its cached tokens', '100,000 in, 100,000 read', 346_500],
    // (100,001 × 6 + 100,000 × 0.6 + 10 × 22.5) × 1.05 = 693,242.55
    ['a prompt above it, output included', '100,001 in, 100,000 read, 10 out', 693_243],
    // (100,001 × 6 + 50,000 × 7.5 + 50,000 × 12 + 10 × 22.5) × 1.05 = 1,653,992.55
    [
      'a prompt above it by what it writes to caches',
      '100,001 in, 50,000 written, 50,000 written long, 10 out',
      1_653_993,
    ],
    // (200,002 × 3 + 10,000) × 1.05 = 640,506.3
    [
      'a prompt read twice around a search, each time below the threshold',
      '200,002 in, 1 searches',
      640_506,
    ],
    // (50 × 1 + 30 × 2 + 20 × 30) × 1.05 = 745.5
    ['reasoning and images at their own prices, within the output', some, 746, listed],
    ['reasoning and images as output if they have no price', some, 105, plain],
    // (0 × 1 + 100 × 2 + 0 × 30) × 1.05
    [
      'parts of the output that exceed the whole, once',
      '100 out, 300 reasoning, 300 images',
      210,
      listed,
    ],
  ]
  test('parts at the price of the rest of the output are within it, and none is zero', () => {
    const quantities = (prices: PriceTable) =>
      billedParts({ usage: usageOf(some), prices }).map(({ kind, quantity }) => [kind, quantity])
    expect(quantities(plain)).toEqual([['output', 100]])
    expect(quantities(listed)).toEqual([
      ['output', 50],
      ['reasoning', 30],
      ['image_output', 20],
    ])
  })
  for (const [name, counts, chargeMicros, prices = SAGE.prices] of rows) {
    test(name, () => {
      const usage = usageOf(counts)
      expect(chargeForCost(costOfUsage({ usage, prices }), 500)).toBe(chargeMicros)
    })
  }

  test('is null for counts above any real amount', () => {
    const usage = { ...NO_TOKENS, inputTokens: Number.MAX_SAFE_INTEGER }
    expect(chargeForCost(costOfUsage({ usage, prices: SAGE.prices }), 500)).toBeNull()
  })
})

describe('the estimate for a call without counts', () => {
  const LIKELY = { offer: SAGE, tokenFactor: 1, outputTokens: 0 }

  test('has the guessed tokens of its body and of its answer', () => {
    const usage = estimateUsage({ ...LIKELY, call: callWith(), outputTokens: 70 })
    expect(usage).toEqual({ ...NO_TOKENS, inputTokens: 600, outputTokens: 70 })
  })

  test.each([
    [2, 1_200],
    [0.25, 150],
  ])('is %d times the guess with that factor', (tokenFactor, tokens) => {
    const usage = estimateUsage({ ...LIKELY, call: callWith(), tokenFactor })
    expect(usage.inputTokens).toBe(tokens)
  })

  test('has the pixels of each picture, and 1,000 tokens for a picture of unknown size or any other file', () => {
    const media = { ...NO_MEDIA, imagesInline: 4, imagesByUrl: 2, files: 1, videosByUrl: 1 }
    const sized = (width: number, height: number) => ({
      pixels: { width, height },
      textTokens: 0,
      leftOutBytes: 0,
    })
    const unsized = { pixels: null, textTokens: 0, leftOutBytes: 0 }
    const inlineImages = [sized(280, 280), sized(9_000, 9_000), unsized]
    const counted = (contextTokens: number, tokenFactor = 1) =>
      estimateUsage({
        ...LIKELY,
        tokenFactor,
        call: callWith({ media, inlineImages }),
        offer: { ...SAGE, contextTokens },
      }).inputTokens
    expect(counted(100_000)).toBe(600 + 100 + 4_096 + 6 * 1_000)
    // A factor is learned from text alone.
    expect(counted(100_000, 2)).toBe(1_200 + 100 + 4_096 + 6 * 1_000)
    expect(counted(5_000)).toBe(5_000)
  })

  test("has no more output than the call's hold covers", () => {
    const call = callWith({ outputCapTokens: 16, completions: 2 })
    expect(estimateUsage({ ...LIKELY, call, outputTokens: 70 }).outputTokens).toBe(32)
  })
})
