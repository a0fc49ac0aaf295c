import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pricesAtTier } from '../../upstreams/listing/price-table.ts'
import type { CacheWrites } from '../../vocabulary/call.ts'
import { chargeForCost, type Micros, micros, type Picos } from '../../vocabulary/money.ts'
import type { Offer, PriceTable } from '../../vocabulary/offer.ts'
import type { TokenUsage } from '../../vocabulary/outcome.ts'
import { costOfUsage, estimateUsage } from '../settle/usage-charge.ts'
import { capForGrant, sizeHold } from './hold.ts'
import { callWith, offerWith, type TestCall } from './testing/offers.ts'

/** A hold covers its charge, for any call, offer and grant, and any answer within its bounds. */

const picos = fc
  .bigInt({ min: 0n, max: 200_000_000n })
  .map((price) => (price < 20_000_000n ? 0n : price))
const tierAbove = (prices: Omit<PriceTable, 'tiers'>, inputTokensAbove: number, higher: Picos) => ({
  inputTokensAbove,
  input: prices.input + higher,
  output: prices.output + higher,
  cacheRead: prices.cacheRead + higher,
  cacheWrite: prices.cacheWrite + higher,
  cacheWriteLong: prices.cacheWriteLong + higher,
})

const prices: fc.Arbitrary<PriceTable> = fc
  .record({
    writesByLifetime: fc.boolean(),
    table: fc.record({
      input: picos,
      output: picos,
      cacheRead: picos,
      cacheWrite: picos,
      cacheWriteLong: picos,
      reasoning: picos,
      imageOutput: picos,
      audioOutput: picos,
      imageInput: picos,
      imageInputToken: picos,
      audioInput: picos,
      search: fc.bigInt({ min: 0n, max: 60_000_000_000n }),
      request: picos,
      imageFlat: picos,
    }),
    thresholds: fc.uniqueArray(fc.integer({ min: 0, max: 60_000 }), { maxLength: 3 }),
    higher: picos,
  })
  .map(({ table: { cacheWriteLong, ...rest }, writesByLifetime, thresholds, higher }) => ({
    table: { ...rest, cacheWriteLong: writesByLifetime ? cacheWriteLong : rest.cacheWrite },
    thresholds,
    higher,
  }))
  .map(({ table, thresholds, higher }) => ({
    ...table,
    tiers: thresholds
      .sort((a, b) => a - b)
      .map((threshold, i) => tierAbove(table, threshold, higher * BigInt(i + 1))),
  }))

const tokens = (max: number) => fc.integer({ min: 1, max })
const offer: fc.Arbitrary<Offer> = fc
  .record({
    prices,
    contextTokens: fc.option(tokens(50_000)),
    outputTokensMax: fc.option(tokens(50_000)),
    fastPrices: fc.option(prices),
    cap: fc.subarray(['max_tokens', 'max_completion_tokens']),
    outputs: fc.subarray(['image', 'audio']),
    cachesOnlyMarked: fc.boolean(),
    marksUnmarked: fc.boolean(),
    feeBasisPoints: fc.oneof(fc.constantFrom(0, 500, 10_000), fc.integer({ min: 0, max: 10_000 })),
  })
  .map(({ prices, cap, outputs, cachesOnlyMarked, marksUnmarked, ...rest }) =>
    offerWith(prices, {
      ...rest,
      ...(cachesOnlyMarked ? { cachesOnlyMarked } : {}),
      ...(marksUnmarked ? { marksUnmarked } : {}),
      supportedParameters: new Set(cap),
      outputModalities: new Set(['text', ...outputs]),
    }),
  )

const few = fc.integer({ min: 0, max: 3 })
const call: fc.Arbitrary<TestCall> = fc
  .record({
    endpoint: fc.constantFrom('chat', 'completions', 'messages', 'responses', 'embeddings'),
    outputCapTokens: fc.option(fc.integer({ min: 0, max: 60_000 })),
    completions: fc.integer({ min: 1, max: 5 }),
    media: fc.record({
      files: few,
      firstFilePath: fc.constant(null),
      imagesInline: few,
      imagesByUrl: few,
      videosInline: few,
      videosByUrl: few,
    }),
    tools: fc.record({
      clientTools: few,
      serverTools: fc.boolean(),
      steps: fc.integer({ min: 0, max: 30 }),
      searchResultTokens: fc.integer({ min: 0, max: 20_000 }),
    }),
    cacheWrites: fc.constantFrom<CacheWrites>('none', 'short', 'long'),
    outputKinds: fc.record({ image: fc.boolean(), audio: fc.boolean() }),
    priorityTier: fc.boolean(),
    reasoningTokens: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 60_000 })),
    predictionTokens: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 60_000 })),
    compacts: fc.boolean(),
    textTokens: fc.integer({ min: 0, max: 80_000 }),
    unmarkedTokens: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 80_000 })),
  })
  .map((fields) =>
    callWith({
      ...fields,
      unmarkedTokens: Math.min(fields.textTokens, fields.unmarkedTokens),
      completions:
        fields.endpoint === 'chat' || fields.endpoint === 'completions' ? fields.completions : 1,
    }),
  )

/** A share of a maximum; mostly all of it, where a bound would break. */
const share = fc.oneof(fc.constant(1), fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true }))

/** The place of an answer within its bounds. */
const shares = fc.record({
  prompt: share,
  searches: share,
  cached: share,
  written: share,
  writtenLong: share,
  output: share,
  reasoning: share,
  image: share,
})
type Shares = typeof shares extends fc.Arbitrary<infer T> ? T : never

/** The text that a model reads at once. */
function textMax(
  { textTokens, endpoint, completions }: Pick<TestCall, 'textTokens' | 'endpoint' | 'completions'>,
  { contextTokens }: Pick<Offer, 'contextTokens'>,
): number {
  if (contextTokens === null || endpoint === 'embeddings') return textTokens
  return Math.min(textTokens, contextTokens * (endpoint === 'completions' ? completions : 1))
}

/** The most that one reading of the prompt may cost, written from the rules and not from the code. */
function promptMax(
  { textTokens, media, endpoint, completions }: TestCall,
  { contextTokens }: Offer,
): number {
  const window = contextTokens ?? 1_000_000
  const text = textMax({ textTokens, endpoint, completions }, { contextTokens })
  const byWindow = media.files + media.imagesByUrl + media.videosByUrl
  const video = media.videosInline > 0 ? Math.max(0, window - text) : 0
  return text + media.imagesInline * 2_000 + byWindow * Math.max(text, window) + video
}

/** The most that one completion may cost under the cap that it is sent with. */
function outputMax(call: TestCall, offer: Offer, sentCapTokens: number | null): number {
  if (call.endpoint === 'embeddings') return 0
  const isChat = call.endpoint === 'chat' || call.endpoint === 'completions'
  const obeys = !isChat || offer.supportedParameters.size > 0
  const cap = sentCapTokens ?? (obeys ? call.outputCapTokens : null)
  const known = offer.outputTokensMax ?? offer.contextTokens
  const window = Math.max(
    offer.contextTokens ?? Number.MAX_SAFE_INTEGER,
    offer.outputTokensMax ?? 0,
  )
  const atMost = call.endpoint === 'messages' ? (known ?? window) : window
  const answer = Math.min(cap ?? known ?? 1_000_000, atMost)
  return Math.max(answer, Math.min(call.reasoningTokens, window))
}

/** Output in addition to the answers: unused predictions, and a summary of the conversation. */
function extraTokensMax(call: TestCall, offer: Offer, answerTokens: number): number {
  if (call.endpoint === 'embeddings') return 0
  const summary = Math.max(answerTokens, Math.min(8_192, offer.outputTokensMax ?? 8_192))
  return call.predictionTokens * call.completions + (call.compacts ? summary : 0)
}

/**
 * The search results that each step reads: all so far, as far as the window has room;
 * of only one search, if there are more than seven.
 */
function resultTokensRead(
  prompt: number,
  { call, offer, searches }: { call: TestCall; offer: Offer; searches: number },
): number {
  const room = Math.max(0, (offer.contextTokens ?? 1_000_000) - prompt)
  let tokens = 0
  for (let step = 1; step <= searches; step++) {
    const results = (searches <= 7 ? step : 1) * call.tools.searchResultTokens
    tokens += Math.min(results, room)
  }
  return tokens
}

/** The most text before a mark: a vendor that documents it so writes only this to a cache. */
function markedMax(call: TestCall, offer: Offer): number {
  const { media, tools, compacts, textTokens, unmarkedTokens } = call
  const marksMore = tools.serverTools || compacts || media.videosInline > 0
  if (offer.cachesOnlyMarked !== true || marksMore) return Number.MAX_SAFE_INTEGER
  const unmarked = unmarkedTokens - Math.max(0, textTokens - textMax(call, offer))
  return promptMax(call, offer) - Math.max(0, unmarked)
}

function usageWithin(
  shares: Shares,
  call: TestCall,
  { offer, cap }: { offer: Offer; cap: number | null },
): TokenUsage {
  const part = (whole: number, share: number) => Math.floor(whole * share)
  const searches = call.tools.serverTools ? part(call.tools.steps, shares.searches) : 0
  const prompt = part(promptMax(call, offer), shares.prompt)
  const reads = 1 + searches + (call.compacts ? 1 : 0)
  const promptTokens = prompt * reads + resultTokensRead(prompt, { call, offer, searches })
  const cached = part(promptTokens, shares.cached)
  const prices = pricesAtTier(offer, call)
  const writesUnasked = [prices, ...prices.tiers].every(
    ({ cacheWrite, cacheWriteLong }) => cacheWriteLong === cacheWrite,
  )
  // A server that marks bodies itself does so for any lifetime, also beside the client's marks.
  const marksItself = offer.marksUnmarked === true
  const writes = call.cacheWrites !== 'none' || writesUnasked || marksItself
  const asked = writes ? part(cached, shares.written) : 0
  const written = writesUnasked || marksItself ? asked : Math.min(asked, markedMax(call, offer))
  const isLong = call.cacheWrites === 'long' || marksItself
  const writtenLong = isLong ? part(written, shares.writtenLong) : 0
  const answerTokens = outputMax(call, offer, cap)
  const most = answerTokens * call.completions + extraTokensMax(call, offer, answerTokens)
  const outputTokens = part(most, shares.output)
  const reasoningTokens = part(outputTokens, shares.reasoning)
  const makesImages = call.outputKinds.image || offer.outputModalities.has('image')
  return {
    inputTokens: promptTokens - cached,
    cacheReadTokens: cached - written,
    cacheWriteTokens: written - writtenLong,
    cacheWriteLongTokens: writtenLong,
    outputTokens,
    reasoningTokens,
    imageOutputTokens: makesImages ? part(outputTokens - reasoningTokens, shares.image) : 0,
    searches,
  }
}

function isSizable(call: TestCall, offer: Offer): boolean {
  const isCapRequired = call.endpoint === 'messages' || call.endpoint === 'responses'
  return !isCapRequired || call.outputCapTokens !== null || offer.outputTokensMax !== null
}

/** A grant between the least and the need. */
function grantBetween(least: Micros, needed: Micros, share: number): Micros {
  return micros(least + Math.floor((needed - least) * share))
}

test('a hold covers the charge of every answer within its bounds, at every grant', () => {
  fc.assert(
    fc.property(call, offer, shares, share, (call, offer, shares, granted) => {
      fc.pre(isSizable(call, offer))
      const size = sizeHold(call, offer)
      const grant = grantBetween(size.leastMicros, size.neededMicros, granted)
      const usage = usageWithin(shares, call, { offer, cap: capForGrant(size, grant) })
      const prices = pricesAtTier(offer, call)
      const charge = chargeForCost(costOfUsage({ usage, prices }), offer.feeBasisPoints)
      expect(charge).toBeLessThanOrEqual(grant)
    }),
    { numRuns: 5_000 },
  )
})

test('a hold covers the estimate for a call without counts', () => {
  fc.assert(
    fc.property(call, offer, fc.integer({ min: 0, max: 100_000 }), (call, offer, outputTokens) => {
      fc.pre(isSizable(call, offer))
      const prices = pricesAtTier(offer, call)
      const usage = estimateUsage({ call, offer, tokenFactor: 1, outputTokens })
      const charge = chargeForCost(costOfUsage({ usage, prices }), offer.feeBasisPoints)
      expect(charge).toBeLessThanOrEqual(sizeHold(call, offer).neededMicros)
    }),
    { numRuns: 5_000 },
  )
})

test('the smallest grant is never above the need, and equals it if no cap is sent', () => {
  fc.assert(
    fc.property(call, offer, (call, offer) => {
      fc.pre(isSizable(call, offer))
      const { leastMicros, neededMicros, capTokens } = sizeHold(call, offer)
      expect(leastMicros).toBeLessThanOrEqual(neededMicros)
      if (capTokens === null) expect(leastMicros).toBe(neededMicros)
    }),
    { numRuns: 2_000 },
  )
})
