import { describe, expect, test } from 'vitest'
import type { Decimal } from '../../vocabulary/money.ts'
import { NOTHING_REPORTED, type Outcome } from '../../vocabulary/outcome.ts'
import { NO_MEDIA } from '../../vocabulary/testing/no-media.ts'
import { usageOf } from '../../vocabulary/testing/token-usage.ts'
import { callWith, offerWith, type TestCall } from '../hold-size/testing/offers.ts'
import { withPossibleCounts } from './usage-charge.ts'

const OFFER = offerWith({}, { contextTokens: 100_000, outputTokensMax: 8_000 })

/** An answer that counted 100 tokens in and 25 out, with these counts instead. */
function completed(counts: string): Outcome {
  const usage = usageOf(`100 in, 25 out, ${counts}`)
  return { kind: 'completed', reported: { ...NOTHING_REPORTED, usage, countsAreCost: true } }
}

function believed(counts: string, call: Partial<TestCall> = {}, offer = OFFER) {
  const outcome = completed(counts)
  return withPossibleCounts(outcome, { call: callWith(call), offer }) === outcome
}

const UNCOUNTED: Outcome = { kind: 'completed', reported: NOTHING_REPORTED }

describe('counts that are too large for a call of this size are ignored', () => {
  test.each<[string, string]>([
    ['a prompt above the window', '100,001 in'],
    ['a cached prompt above the window', '1 in, 100,000 read'],
    ['an answer above the window', '100,001 out'],
    ['more searches than any call runs', '301 searches'],
  ])('%s', (_, counts) => {
    const outcome = completed(counts)
    expect(withPossibleCounts(outcome, { call: callWith(), offer: OFFER })).toEqual(UNCOUNTED)
  })

  test('of an answer that the provider does not bill, with a cost of zero', () => {
    const free = { ...NOTHING_REPORTED, costUsd: { digits: 0n, exponent: 0 } }
    const usage = usageOf('100,001 in, 0 out')
    const outcome: Outcome = {
      kind: 'completed',
      reported: { ...free, usage, countsAreCost: true },
    }
    const bounded = withPossibleCounts(outcome, { call: callWith(), offer: OFFER })
    expect(bounded).toEqual({ kind: 'completed', reported: free })
  })

  test('an unknown window counts as a million tokens', () => {
    const offer = offerWith({}, { contextTokens: null, outputTokensMax: null })
    expect(believed('900,000 in, 900,000 out', {}, offer)).toBe(true)
    expect(believed('1,000,001 in', {}, offer)).toBe(false)
    expect(believed('1,000,001 out', {}, offer)).toBe(false)
  })
})

describe('counts are accepted', () => {
  test.each<[string, string, Partial<TestCall>]>([
    ['of a prompt and an answer that fill the window each', '100,000 in, 100,000 out', {}],
    ['of a prompt above a window that is listed too low', '300,000 in', { textTokens: 300_000 }],
    ['of an answer up to a cap above the window', '150,000 out', { outputCapTokens: 150_000 }],
    [
      'of thoughts that are counted in addition to a cap above the window',
      '180,000 out',
      { outputCapTokens: 150_000, thinkingTokens: 30_000 },
    ],
    [
      'of an answer up to a reasoning budget above the cap and the window',
      '150,000 out',
      { outputCapTokens: 1_000, reasoningTokens: 150_000 },
    ],
    ['of several answers', '300,000 out', { completions: 3 }],
    ['of embeddings of many inputs', '5,000,000 in', { endpoint: 'embeddings', textTokens: 5e6 }],
    [
      'of short inputs to embed, each behind an instruction of the server',
      '460,000 in',
      { endpoint: 'embeddings', textTokens: 50_000 },
    ],
    [
      'of files, each up to a whole window',
      '3,000,000 in',
      { media: { ...NO_MEDIA, files: 3, firstFilePath: 'messages' } },
    ],
    [
      'of a prompt that is read again at each step',
      '3,000,000 in, 30 searches',
      { tools: { clientTools: 0, serverTools: true, steps: 30, searchResultTokens: 8_000 } },
    ],
    ['of a prompt that is also summarized', '200,000 in', { compacts: true }],
    ['of images, whose charge has a bound of its own', '1,000,000 out', { endpoint: 'images' }],
  ])('%s', (_, counts, call) => {
    expect(believed(counts, call)).toBe(true)
  })
})

test('counts are accepted of thoughts that the server never counts in a cap', () => {
  const offer = offerWith({}, { contextTokens: 100_000, uncappedThinkingTokens: 30_000 })
  expect(believed('130,000 out', {}, offer)).toBe(true)
  expect(believed('130,001 out', {}, offer)).toBe(false)
})

test('an ending without counts is unchanged', () => {
  const neverOpened: Outcome = { kind: 'neverOpened' }
  const both = { call: callWith(), offer: OFFER }
  expect(withPossibleCounts(neverOpened, both)).toBe(neverOpened)
  expect(withPossibleCounts(UNCOUNTED, both)).toBe(UNCOUNTED)
})

test('counts of a stream that are too large are replaced by an estimate of its text, where streams are estimated', () => {
  const usage = usageOf('100,001 in, 25 out')
  const outcome: Outcome = {
    kind: 'completed',
    reported: { ...NOTHING_REPORTED, usage, countsAreCost: true, textTokens: 7 },
  }
  expect(withPossibleCounts(outcome, { call: callWith(), offer: OFFER })).toEqual({
    kind: 'completed',
    reported: { ...NOTHING_REPORTED, uncountedTokens: 7 },
  })
})

describe('counts that are too large', () => {
  const usage = usageOf('1,000,000,000 out')
  const both = { call: callWith(), offer: OFFER }
  const withCost = (costUsd: Decimal | null): Outcome => ({
    kind: 'completed',
    reported: { ...NOTHING_REPORTED, usage, costUsd, generationId: 'gen-1' },
  })

  test('are kept if the provider states the cost', () => {
    const outcome = withCost({ digits: 9n, exponent: -3 })
    expect(withPossibleCounts(outcome, both)).toBe(outcome)
  })

  test.each([
    ['no cost', null],
    ['a cost above any real one', { digits: 1n, exponent: 12 }],
  ])('are ignored with %s, also if the provider can be asked for it later', (_, costUsd) => {
    const outcome = withCost(costUsd)
    const kept = { ...NOTHING_REPORTED, costUsd, generationId: 'gen-1' }
    expect(withPossibleCounts(outcome, both)).toEqual({ kind: 'completed', reported: kept })
  })
})
