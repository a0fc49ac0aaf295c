import { describe, expect, test } from 'vitest'
import { usageOf } from '../../upstreams/openrouter/testing/exchange.ts'
import { NO_MEDIA } from '../../vocabulary/call.ts'
import { NOTHING_REPORTED, type Outcome, type TokenUsage } from '../../vocabulary/outcome.ts'
import { callWith, offerWith, type TestCall } from '../hold-size/testing/offers.ts'
import { withPossibleCounts } from './usage-charge.ts'

const OFFER = offerWith({}, { contextTokens: 100_000, outputTokensMax: 8_000 })

function completed(counts: Partial<TokenUsage>): Outcome {
  const usage = usageOf({ inputTokens: 100, outputTokens: 25, ...counts })
  return { kind: 'completed', reported: { ...NOTHING_REPORTED, usage, countsAreCost: true } }
}

function believed(counts: Partial<TokenUsage>, call: Partial<TestCall> = {}, offer = OFFER) {
  const outcome = completed(counts)
  return withPossibleCounts(outcome, { call: callWith(call), offer }) === outcome
}

const UNCOUNTED: Outcome = { kind: 'completed', reported: NOTHING_REPORTED }

describe('counts that no call of this size can count are as if none were sent', () => {
  test.each<[string, Partial<TokenUsage>]>([
    ['a prompt above the window', { inputTokens: 100_001 }],
    ['a cached prompt above the window', { inputTokens: 1, cacheReadTokens: 100_000 }],
    ['an answer above the window', { outputTokens: 100_001 }],
    ['more searches than any call runs', { searches: 301 }],
  ])('%s', (_, counts) => {
    const outcome = completed(counts)
    expect(withPossibleCounts(outcome, { call: callWith(), offer: OFFER })).toEqual(UNCOUNTED)
  })

  test('a window that is not known is a million tokens', () => {
    const offer = offerWith({}, { contextTokens: null, outputTokensMax: null })
    expect(believed({ inputTokens: 900_000, outputTokens: 900_000 }, {}, offer)).toBe(true)
    expect(believed({ inputTokens: 1_000_001 }, {}, offer)).toBe(false)
    expect(believed({ outputTokens: 1_000_001 }, {}, offer)).toBe(false)
  })
})

describe('counts are believed', () => {
  test.each<[string, Partial<TokenUsage>, Partial<TestCall>]>([
    [
      'of a prompt and an answer that fill the window each',
      { inputTokens: 1e5, outputTokens: 1e5 },
      {},
    ],
    [
      'of a prompt above a window that is listed too low',
      { inputTokens: 300_000 },
      { textTokens: 300_000 },
    ],
    [
      'of an answer up to a cap above the window',
      { outputTokens: 150_000 },
      { outputCapTokens: 150_000 },
    ],
    ['of several answers', { outputTokens: 300_000 }, { completions: 3 }],
    [
      'of embeddings of many inputs',
      { inputTokens: 5e6 },
      { endpoint: 'embeddings', textTokens: 5e6 },
    ],
    [
      'of short inputs to embed, each behind an instruction of the server',
      { inputTokens: 460_000 },
      { endpoint: 'embeddings', textTokens: 50_000 },
    ],
    [
      'of files, each up to a whole window',
      { inputTokens: 3_000_000 },
      { media: { ...NO_MEDIA, files: 3, firstFilePath: 'messages' } },
    ],
    [
      'of a prompt that is read again at each step',
      { inputTokens: 3_000_000, searches: 30 },
      { tools: { clientTools: 0, serverTools: true, steps: 30, searchResultTokens: 8_000 } },
    ],
    ['of a prompt that is also summarized', { inputTokens: 200_000 }, { compacts: true }],
    [
      'of images, whose charge has a bound of its own',
      { outputTokens: 1e6 },
      { endpoint: 'images' },
    ],
  ])('%s', (_, counts, call) => {
    expect(believed(counts, call)).toBe(true)
  })
})

test('an ending without counts stays as it is', () => {
  const neverOpened: Outcome = { kind: 'neverOpened' }
  const both = { call: callWith(), offer: OFFER }
  expect(withPossibleCounts(neverOpened, both)).toBe(neverOpened)
  expect(withPossibleCounts(UNCOUNTED, both)).toBe(UNCOUNTED)
})

test('counts that are not the cost are kept: the provider reports the cost, or is asked for it', () => {
  const usage = usageOf({ outputTokens: 1e9 })
  const outcome: Outcome = { kind: 'completed', reported: { ...NOTHING_REPORTED, usage } }
  expect(withPossibleCounts(outcome, { call: callWith(), offer: OFFER })).toBe(outcome)
})
