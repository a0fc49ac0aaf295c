import { describe } from 'vitest'
import type { Call } from '../../vocabulary/call.ts'
import { type HoldRow, PLAIN, plainWith, testHolds } from './testing/hold-table.ts'
import { offerWith, SAGE, usd } from './testing/offers.ts'

const capped = { outputCapTokens: 0 }
const PROMPTS: readonly HoldRow[] = [
  {
    name: 'text is never held above the window',
    call: { ...capped, textTokens: 500_000 },
    offer: PLAIN,
    neededMicros: 105_000,
  },
  {
    name: 'text is held in full if the window is unknown',
    call: { ...capped, textTokens: 499_600 },
    offer: plainWith({ contextTokens: null }),
    neededMicros: 525_000,
  },
  {
    name: 'each prompt of legacy completions has the window to itself',
    call: { ...capped, endpoint: 'completions', textTokens: 500_000, completions: 3 },
    offer: PLAIN,
    neededMicros: 315_000,
  },
  // (600 + 400 + 600) × 1.05
  {
    name: "tools add the provider's instructions for them",
    call: {
      ...capped,
      tools: { clientTools: 1, serverTools: false, steps: 30, searchResultTokens: 8_000 },
    },
    offer: PLAIN,
    neededMicros: 1_680,
  },
  {
    name: 'embeddings are held at their text without a template',
    call: { endpoint: 'embeddings' },
    offer: PLAIN,
    neededMicros: 630,
  },
  {
    name: 'embeddings of many inputs are held above the window',
    call: { endpoint: 'embeddings', textTokens: 500_000 },
    offer: PLAIN,
    neededMicros: 525_000,
  },
  // 1,000 × 6 × 1.05: the one-hour write
  {
    name: 'with a cache mark of an hour every token may be the dearest write',
    call: { ...capped, cacheWrites: 'long' },
    offer: SAGE,
    neededMicros: 6_300,
  },
  // 1,000 × 3.75 × 1.05 = 3,937.5: the five-minute write
  {
    name: 'with cache marks of five minutes every token may be a write at the price of five minutes',
    call: { ...capped, cacheWrites: 'short' },
    offer: SAGE,
    neededMicros: 3_938,
  },
  // 1,000 × 3 × 1.05: its writes are priced by lifetime, which only a mark can choose
  {
    name: 'without them a model that prices writes by lifetime writes nothing',
    call: capped,
    offer: SAGE,
    neededMicros: 3_150,
  },
  // (600 × 3.75 + 400 × 3) × 1.05
  {
    name: 'text behind the last mark is not written where the vendor documents so',
    call: { ...capped, cacheWrites: 'short', unmarkedTokens: 400 },
    offer: { ...SAGE, cachesOnlyMarked: true },
    neededMicros: 3_623,
  },
  {
    name: 'text behind the last mark may be written where no vendor says otherwise',
    call: { ...capped, cacheWrites: 'short', unmarkedTokens: 400 },
    offer: SAGE,
    neededMicros: 3_938,
  },
  {
    name: 'without them another model may write unasked',
    call: capped,
    offer: offerWith({
      input: usd('0.000001'),
      cacheWrite: usd('0.00000125'),
      cacheWriteLong: usd('0.00000125'),
    }),
    neededMicros: 1_313,
  },
  {
    name: 'cache reads count if they are dearer than input',
    call: capped,
    offer: offerWith({ input: usd('0.000001'), cacheRead: usd('0.000002') }),
    neededMicros: 2_100,
  },
  {
    name: 'a prompt at the threshold has the lower price',
    call: { ...capped, textTokens: 199_600 },
    offer: SAGE,
    neededMicros: 630_000,
  },
  // 200,001 × 6 × 1.05 = 1,260,006.3
  {
    name: 'a prompt above the threshold has the higher price',
    call: { ...capped, textTokens: 199_601 },
    offer: SAGE,
    neededMicros: 1_260_007,
  },
  // (200,001 × 6 + 100 × 22.5) × 1.05 = 1,262,368.8
  {
    name: 'a prompt above the threshold gives its output the higher price too',
    call: { outputCapTokens: 100, textTokens: 199_601 },
    offer: SAGE,
    neededMicros: 1_262_369,
  },
  {
    // (1,000 × 6 + 500 × 12 + 1,000) × 1.05
    name: 'a dearer tier without a sibling counts token prices six times and others once',
    call: { outputCapTokens: 500, priorityTier: true },
    offer: offerWith({ input: usd('0.000001'), output: usd('0.000002'), request: usd('0.001') }),
    neededMicros: 13_650,
  },
  // (1,000 × 4 + 500 × 9 + 2,000) × 1.05
  {
    name: 'a dearer tier with a sibling counts its prices',
    call: { outputCapTokens: 500, priorityTier: true },
    offer: plainWith({
      fastPrices: offerWith({
        input: usd('0.000004'),
        output: usd('0.000009'),
        request: usd('0.002'),
      }).prices,
    }),
    neededMicros: 11_025,
  },
  // (1,000 × 4 + 500 × 2) × 1.05: what the sibling has cheaper may be served at the model's own price
  {
    name: 'a dearer tier is never below the prices of the model itself',
    call: { outputCapTokens: 500, priorityTier: true },
    offer: plainWith({
      fastPrices: offerWith({ input: usd('0.000004'), output: usd('0.000001') }).prices,
    }),
    neededMicros: 5_250,
  },
  // (1,000 × 2 + 8,000 × 2 + 500 × 2) × 1.05: the model's answers have 8,000 tokens at most
  {
    name: 'a conversation that may be summarized is read twice, and the summary written',
    call: { outputCapTokens: 500, compacts: true },
    offer: PLAIN,
    neededMicros: 19_950,
  },
  // (1,000 × 2 + 20,000 × 2 × 2) × 1.05: under a longer cap the summary may be longer
  {
    name: 'a summary may be as long as an answer',
    call: { outputCapTokens: 20_000, compacts: true },
    offer: PLAIN,
    neededMicros: 86_100,
  },
  {
    name: 'the price of the request is added',
    call: capped,
    offer: offerWith({ request: usd('0.018') }),
    neededMicros: 18_900,
  },
]

describe('the prompt', () => {
  testHolds(PROMPTS)
})

const SEARCHING = { clientTools: 0, serverTools: true, steps: 30, searchResultTokens: 8_000 }

// A prompt: 600 + 400 + 600 = 1,600 tokens. A step: a search at the upstream's dearest, 30,000
// micro-dollars, 1,600 tokens, and the results so far, 8,000 tokens a search.
const searching = (fields: Partial<Call>): Partial<Call> => ({
  tools: SEARCHING,
  outputCapTokens: 500,
  ...fields,
})
const SEARCHES: readonly HoldRow[] = [
  // 1,600 + 30 × (30,000 + 9,600) + 500 × 2 = 1,190,600 × 1.05
  { name: '30 steps', call: searching({}), offer: PLAIN, neededMicros: 1_250_130 },
  // 1,600 + 2 × 31,600 + (1 + 2) × 8,000 + 1,000 = 89,800 × 1.05
  {
    name: 'the steps that the request allows, each with all earlier results',
    call: searching({ tools: { ...SEARCHING, steps: 2 } }),
    offer: PLAIN,
    neededMicros: 94_290,
  },
  // 1,600 + 7 × 31,600 + 28 × 8,000 + 1,000 = 447,800 × 1.05
  {
    name: 'seven steps with everything that they can read',
    call: searching({ tools: { ...SEARCHING, steps: 7 } }),
    offer: PLAIN,
    neededMicros: 470_190,
  },
  // 1,600 + 8 × 31,600 + 28 × 8,000 + 1,000 = 479,400 × 1.05
  {
    name: 'an eighth step without more results',
    call: searching({ tools: { ...SEARCHING, steps: 8 } }),
    offer: PLAIN,
    neededMicros: 503_370,
  },
  // A window of 10,000 has room for 8,400: 1,600 + 30 × 31,600 + 30 × 8,000 + 1,000
  {
    name: 'results within the room of the window',
    call: searching({}),
    offer: plainWith({ contextTokens: 10_000 }),
    neededMicros: 1_250_130,
  },
  // A window of 2,000 has room for 400: 1,600 + 30 × 32,000 + 1,000
  {
    name: 'no more than the window at any step',
    call: searching({}),
    offer: plainWith({ contextTokens: 2_000 }),
    neededMicros: 1_010_730,
  },
  // 1,600 + 30 × 31,600 + 30 × 25,000 + 1,000 = 1,700,600 × 1.05: the window has room for three searches
  {
    name: 'larger results if requested',
    call: searching({ tools: { ...SEARCHING, searchResultTokens: 25_000 } }),
    offer: PLAIN,
    neededMicros: 1_785_630,
  },
  // 7 searches bring 56,000 tokens: 1,600 × 2 + 30 × (30,000 + 1,600 × 2) + 30 × 8,000 × 2 + 1,000
  {
    name: 'the prices of the longest prompt',
    call: searching({}),
    offer: offerWith({
      ...PLAIN.prices,
      tiers: [{ ...PLAIN.prices, inputTokensAbove: 57_599, input: usd('0.000002') }],
    }),
    neededMicros: 1_554_210,
  },
  // 1,600 + 30 × (50,000 + 9,600) + 1,000
  {
    name: 'the search price of the model if it is dearer',
    call: searching({}),
    offer: offerWith({ input: usd('0.000001'), output: usd('0.000002'), search: usd('0.05') }),
    neededMicros: 1_880_130,
  },
  // 1,190,600 + 7,500 × 2: the cap is the whole maximum, 8,000
  {
    name: 'the cap is sent and never lowered',
    call: searching({ outputCapTokens: null }),
    offer: PLAIN,
    neededMicros: 1_265_880,
    capTokens: 8_000,
  },
]

describe('tools that the provider runs', () => {
  testHolds(SEARCHES)
})
