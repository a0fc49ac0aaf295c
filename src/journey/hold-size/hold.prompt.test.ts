import { describe } from 'vitest'
import type { Call } from '../../vocabulary/call.ts'
import type { PriceTable } from '../../vocabulary/offer.ts'
import { NO_MEDIA } from '../../vocabulary/testing/no-media.ts'
import { capped, type HoldRow, PLAIN, testHolds } from './testing/hold-table.ts'
import { offerWith, SAGE, type TestCall, usd } from './testing/offers.ts'

const SEARCHING = { clientTools: 0, serverTools: true, steps: 30, searchResultTokens: 8_000 }
const uncached = (textTokens: number, rest: Partial<TestCall> = {}) =>
  capped(0, { textTokens, ...rest })
const NONE = capped(0)
const sage = { offer: SAGE }
const unknownWindow = { offer: { contextTokens: null } }
const priced = (prices: Partial<PriceTable>) => ({ offer: offerWith(prices) })
const fast = (prices: Partial<PriceTable>) => ({ offer: { fastPrices: offerWith(prices).prices } })
const MARKED: Partial<TestCall> = capped(0, { cacheWrites: 'short', unmarkedTokens: 400 })

const PROMPTS: readonly HoldRow[] = [
  ['text is never held above the window', uncached(500_000), 105_000],
  ['text is held in full if the window is unknown', uncached(499_600), 525_000, unknownWindow],
  [
    'each prompt of legacy completions has the window to itself',
    uncached(500_000, { endpoint: 'completions', completions: 3 }),
    315_000,
  ],
  // (600 + 400 + 600) × 1.05
  [
    "tools add the provider's instructions for them",
    capped(0, { tools: { ...SEARCHING, clientTools: 1, serverTools: false } }),
    1_680,
  ],
  ['embeddings are held at their text without a template', { endpoint: 'embeddings' }, 630],
  [
    'embeddings of many inputs are held above the window',
    { endpoint: 'embeddings', textTokens: 500_000 },
    525_000,
  ],
  // 1,000 × 6 × 1.05: the one-hour write
  [
    'with a cache mark of an hour every token may be the most expensive write',
    capped(0, { cacheWrites: 'long' }),
    6_300,
    sage,
  ],
  // 1,000 × 3.75 × 1.05 = 3,937.5: the five-minute write
  [
    'with cache marks of five minutes every token may be a write at the price of five minutes',
    capped(0, { cacheWrites: 'short' }),
    3_938,
    sage,
  ],
  // 1,000 × 3 × 1.05: its writes are priced by lifetime, which only a mark can choose
  ['without them a model that prices writes by lifetime writes nothing', NONE, 3_150, sage],
  // 1,000 × 6 × 1.05
  [
    'without them every token may be the most expensive write at a server that marks bodies itself',
    NONE,
    6_300,
    { offer: { ...SAGE, marksUnmarked: true } },
  ],
  [
    'with cache marks of five minutes too, because that server may add marks of an hour',
    capped(0, { cacheWrites: 'short' }),
    6_300,
    { offer: { ...SAGE, marksUnmarked: true } },
  ],
  // (600 × 3.75 + 400 × 3) × 1.05
  [
    'text behind the last mark is not written where the vendor documents so',
    MARKED,
    3_623,
    { offer: { ...SAGE, cachesOnlyMarked: true } },
  ],
  // (1,000 × 3.75 × 2 + 8,192 × 15) × 1.05
  [
    'text behind the last mark may be written where the provider may summarize the conversation',
    { ...MARKED, compacts: true },
    136_899,
    { offer: { ...SAGE, cachesOnlyMarked: true } },
  ],
  ['text behind the last mark may be written where no vendor says otherwise', MARKED, 3_938, sage],
  [
    'without them another model may write unasked',
    NONE,
    1_313,
    priced({
      input: usd('0.000001'),
      cacheWrite: usd('0.00000125'),
      cacheWriteLong: usd('0.00000125'),
    }),
  ],
  [
    'cache reads count if they are higher than input',
    NONE,
    2_100,
    priced({ input: usd('0.000001'), cacheRead: usd('0.000002') }),
  ],
  ['a prompt at the threshold has the lower price', uncached(199_600), 630_000, sage],
  // 200,001 × 6 × 1.05 = 1,260,006.3
  ['a prompt above the threshold has the higher price', uncached(199_601), 1_260_007, sage],
  // (200,001 × 6 + 100 × 22.5) × 1.05 = 1,262,368.8
  [
    'a prompt above the threshold gives its output the higher price too',
    capped(100, { textTokens: 199_601 }),
    1_262_369,
    sage,
  ],
  // (1,000 × 6 + 500 × 12 + 1,000) × 1.05
  [
    'a more expensive tier without a sibling counts token prices six times and others once',
    capped(500, { priorityTier: true }),
    13_650,
    priced({ input: usd('0.000001'), output: usd('0.000002'), request: usd('0.001') }),
  ],
  // (1,000 × 4 + 500 × 9 + 2,000) × 1.05
  [
    'a more expensive tier with a sibling counts its prices',
    capped(500, { priorityTier: true }),
    11_025,
    fast({ input: usd('0.000004'), output: usd('0.000009'), request: usd('0.002') }),
  ],
  // (1,000 × 4 + 500 × 2) × 1.05: what the sibling has cheaper may be served at the model's own price
  [
    'a more expensive tier is never below the prices of the model itself',
    capped(500, { priorityTier: true }),
    5_250,
    fast({ input: usd('0.000004'), output: usd('0.000001') }),
  ],
  // (1,000 × 2 + 8,000 × 2 + 500 × 2) × 1.05: the model's answers have 8,000 tokens at most
  [
    'a conversation that may be summarized is read twice, and the summary written',
    capped(500, { compacts: true }),
    19_950,
  ],
  // (1,000 × 2 + 20,000 × 2 × 2) × 1.05: under a longer cap the summary may be longer
  ['a summary may be as long as an answer', capped(20_000, { compacts: true }), 86_100],
  ['the price of the request is added', NONE, 18_900, priced({ request: usd('0.018') })],
]

describe('the prompt', () => {
  testHolds(PROMPTS)
})

// A prompt: 600 + 400 + 600 = 1,600 tokens. A step: a search at the upstream's highest price, 30,000
// micro-dollars, 1,600 tokens, and the results so far, 8,000 tokens a search.
const searching = (tools: Partial<Call['tools']> = {}) =>
  capped(500, { tools: { ...SEARCHING, ...tools } })
const SEARCHES: readonly HoldRow[] = [
  // 1,600 + 30 × (30,000 + 9,600) + 500 × 2 = 1,190,600 × 1.05
  ['30 steps', searching(), 1_250_130],
  // 1,600 + 2 × 31,600 + (1 + 2) × 8,000 + 1,000 = 89,800 × 1.05
  [
    'the steps that the request allows, each with all earlier results',
    searching({ steps: 2 }),
    94_290,
  ],
  // 19,600 + 2 × 49,600 + 3 × 8,000 + 1,000 = 143,800 × 1.05
  [
    'the price of the request at each step',
    searching({ steps: 2 }),
    150_990,
    priced({ ...PLAIN.prices, request: usd('0.018') }),
  ],
  // 1,600 + 7 × 31,600 + 28 × 8,000 + 1,000 = 447,800 × 1.05
  ['seven steps with everything that they can read', searching({ steps: 7 }), 470_190],
  // 1,600 + 8 × 31,600 + 28 × 8,000 + 1,000 = 479,400 × 1.05
  ['an eighth step without more results', searching({ steps: 8 }), 503_370],
  // A window of 10,000 has room for 8,400: 1,600 + 30 × 31,600 + 30 × 8,000 + 1,000
  [
    'results within the room of the window',
    searching(),
    1_250_130,
    { offer: { contextTokens: 10_000 } },
  ],
  // An image costs 2,000 as an image, and has 2,000 tokens: 5,600 + 30 × 35,600 + 30 × 8,000 + 1,000
  [
    'results in the room of an image that may not count as tokens',
    { ...searching(), media: { ...NO_MEDIA, imagesInline: 1 } },
    1_380_330,
    { offer: { prices: { ...PLAIN.prices, imageInput: usd('0.002') }, contextTokens: 10_000 } },
  ],
  // A window of 2,000 has room for 400: 1,600 + 30 × 32,000 + 1,000
  [
    'no more than the window at any step',
    searching(),
    1_010_730,
    { offer: { contextTokens: 2_000 } },
  ],
  // 1,600 + 30 × 31,600 + 30 × 25,000 + 1,000 = 1,700,600 × 1.05: the window has room for three searches
  ['larger results if requested', searching({ searchResultTokens: 25_000 }), 1_785_630],
  // 7 searches bring 56,000 tokens: 1,600 × 2 + 30 × (30,000 + 1,600 × 2) + 30 × 8,000 × 2 + 1,000
  [
    'the prices of the longest prompt',
    searching(),
    1_554_210,
    priced({
      ...PLAIN.prices,
      tiers: [{ ...PLAIN.prices, inputTokensAbove: 57_599, input: usd('0.000002') }],
    }),
  ],
  // 1,600 + 30 × (50,000 + 9,600) + 1,000
  [
    'the search price of the model if it is higher',
    searching(),
    1_880_130,
    priced({ input: usd('0.000001'), output: usd('0.000002'), search: usd('0.05') }),
  ],
  // 1,190,600 + 7,500 × 2: the cap is the whole maximum, 8,000
  ['the cap is sent and never lowered', { tools: SEARCHING }, 1_265_880, { cap: 8_000 }],
]

describe('tools that the provider runs', () => {
  testHolds(SEARCHES)
})
