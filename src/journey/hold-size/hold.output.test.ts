import { describe, expect, test } from 'vitest'
import type { Call } from '../../vocabulary/call.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { sizeHold } from './hold.ts'
import { capped, type HoldRow, testHolds } from './testing/hold-table.ts'
import { callWith, OPEN, offerWith, SAGE, type TestCall, usd } from './testing/offers.ts'

/** An offer of a model that lists this longest answer, and this window. */
const lists = (outputTokensMax: number | null, contextTokens: number | null = 100_000) => ({
  offer: { outputTokensMax, contextTokens },
})
/** An offer of a model that takes these parameters: a cap in one of them, or none. */
const takes = (...names: readonly string[]) => ({ offer: { supportedParameters: new Set(names) } })
const HUGE = capped(999_999)
const FROM_16 = { least: 1_084, cap: 8_000 }

const CHAT_CAPS: readonly HoldRow[] = [
  // (1,000 × 1 + 500 × 2) micro-dollars × 1.05
  ['set by the client: held and unchanged', capped(500), 2_100],
  // (1,000 + 9,999 × 2) × 1.05 = 22,047.9
  ['set above the maximum: held in full, since it is sent', capped(9_999), 22_048],
  // (1,000 + 100,000 × 2) × 1.05
  ['set above the window: held at the window', HUGE, 211_050],
  // (1,000 + 8,000 × 2) × 1.05
  ['set above a window that is below the maximum: the maximum', HUGE, 17_850, lists(8_000, 5_000)],
  ['set above the window, no maximum listed: the window', HUGE, 106_050, lists(null, 50_000)],
  ['set, neither known: held in full', HUGE, 2_101_048, lists(null, null)],
  // least: (1,000 + 16 × 2) × 1.05 = 1,083.6, rounded up
  ['not set: the maximum, which may be lowered to 16', {}, 17_850, FROM_16],
  ['not set on legacy completions: the same', { endpoint: 'completions' }, 17_850, FROM_16],
  // (1,000 + 32,768 × 2) × 1.05 = 69,862.8
  [
    'not set, a higher maximum: 32,768',
    {},
    69_863,
    { ...lists(32_769), least: 1_084, cap: 32_768 },
  ],
  [
    'not set, no maximum listed: the window',
    {},
    43_050,
    { ...lists(null, 20_000), least: 1_084, cap: 20_000 },
  ],
  [
    'not set, nothing known: 32,768',
    {},
    69_863,
    { ...lists(null, null), least: 1_084, cap: 32_768 },
  ],
  ['not set, a maximum below 16: the maximum, not lowered', {}, 1_071, { ...lists(10), cap: 10 }],
  [
    'not set, a model that ignores caps: its maximum, even above 32,768, and none is sent',
    {},
    85_050,
    { offer: { ...lists(40_000).offer, ...takes('temperature').offer } },
  ],
  ['set, a model that ignores caps: its maximum', capped(5), 17_850, takes()],
  [
    'not set, a model that lists the other name: sent',
    {},
    17_850,
    { ...takes('max_completion_tokens'), ...FROM_16 },
  ],
  // (1,000 + 9_999 × 2) × 1.05
  [
    'set above the maximum, a model that ignores caps: held in full',
    capped(9_999),
    22_048,
    takes(),
  ],
  // (1,000 + 9_000 × 2) × 1.05
  ['below the budget for reasoning: the budget', capped(500, { reasoningTokens: 9_000 }), 19_950],
  ['above the budget for reasoning: the cap', capped(500, { reasoningTokens: 400 }), 2_100],
  // (1,000 + (500 + 400) × 2) × 1.05
  [
    'beside a budget for thinking that a server may not count in it: both',
    capped(500, { thinkingTokens: 400 }),
    2_940,
  ],
  // (1,000 + (500 + 700) × 2) × 1.05
  [
    'beside the thinking of a server that never counts it in the cap: both',
    capped(500),
    3_570,
    { offer: { uncappedThinkingTokens: 700 } },
  ],
  [
    'the same, with a lower budget, which the server may not obey: the thinking of the server',
    capped(500, { thinkingTokens: 400 }),
    3_570,
    { offer: { uncappedThinkingTokens: 700 } },
  ],
  [
    'the same, with a higher budget: the budget',
    capped(500, { thinkingTokens: 700 }),
    3_570,
    { offer: { uncappedThinkingTokens: 400 } },
  ],
  // (1,000 + (5,000 + 4,000) × 2) × 1.05
  [
    'below the budget for reasoning, a part of which may be counted beside it: the budget, once',
    capped(500, { reasoningTokens: 9_000, thinkingTokens: 4_000 }),
    19_950,
  ],
  // (1,000 + 9,000 × 2) × 1.05
  [
    'not set and below the budget for reasoning: the budget, not lowered; the maximum is sent',
    { reasoningTokens: 9_000 },
    19_950,
    { cap: 8_000 },
  ],
  // least: (1,000 + 5,000 × 2) × 1.05
  [
    'not set and above the budget for reasoning: lowered to the budget at most',
    { reasoningTokens: 5_000 },
    17_850,
    { least: 11_550, cap: 8_000 },
  ],
  // (1,000 + 500 × 2 + 300 × 2) × 1.05
  ['with a prediction: the prediction in addition', capped(500, { predictionTokens: 300 }), 2_730],
  // (1,000 + (500 × 2 + 300 × 2) × 3) × 1.05
  [
    'with a prediction, for each of several completions',
    capped(500, { predictionTokens: 300, completions: 3 }),
    6_090,
  ],
  // (1,000 × 2 + 8,000 × 2 × 2) × 1.05
  ['not set, with a possible summary: not lowered', { compacts: true }, 35_700, { cap: 8_000 }],
  ['for each of several completions', capped(500, { completions: 3 }), 4_200],
]

describe('the output cap of chat and legacy completions', () => {
  testHolds(CHAT_CAPS)
})

const messages = (outputCapTokens: number | null, reasoningTokens = 0): Partial<TestCall> => ({
  endpoint: 'messages',
  outputCapTokens,
  reasoningTokens,
})
const responses = (outputCapTokens: number | null): Partial<TestCall> => ({
  endpoint: 'responses',
  outputCapTokens,
})
const sage = { offer: SAGE }
const open = { offer: OPEN }

const OWN_CAPS: readonly HoldRow[] = [
  // (1,000 × 3 + 1,000 × 15) × 1.05
  ['messages: held in full', messages(1_000), 18_900, sage],
  // (3,000 + 64,000 × 15) × 1.05
  ['messages: held up to the maximum', messages(70_000), 1_011_150, sage],
  ['messages, not set: the whole maximum, even above 32,768', messages(null), 1_011_150, sage],
  // (3,000 + 70,000 × 15) × 1.05
  ['messages: held at a larger budget for reasoning', messages(1_000, 70_000), 1_105_650, sage],
  // (3,000 + 70,000 × 15) × 1.05
  ['responses: held above the maximum, since it is sent', responses(70_000), 1_105_650, sage],
  // (1,000 × 0.2 + 131,072 × 0.8) × 1.05 = 110,310.48
  ['responses: held up to the window', responses(999_999), 110_311, open],
  // (1,000 × 0.2 + 2,000 × 0.8) × 1.05
  ['messages, no maximum listed: held in full', messages(2_000), 1_890, open],
  ['responses: held in full', responses(1_000), 18_900, sage],
  ['responses, not set: the whole maximum', responses(null), 1_011_150, sage],
]

describe('the output cap of messages and responses', () => {
  testHolds(OWN_CAPS)

  test.each([
    ['messages', 'max_tokens'],
    ['responses', 'max_output_tokens'],
  ] as const)('%s without %s is refused if the model lists no maximum', (endpoint, param) => {
    const refused = () => sizeHold(callWith({ endpoint }), OPEN)
    expect(refused).toThrow(Problem)
    expect(refused).toThrow(expect.objectContaining({ code: 'output_cap_required', param }))
  })
})

const expensive = offerWith({
  output: usd('0.000001'),
  reasoning: usd('0.000002'),
  imageOutput: usd('0.00003'),
  audioOutput: usd('0.00004'),
})
const answering = (made: Partial<Call['outputKinds']>, rest = {}, outputCapTokens = 1_000) =>
  capped(outputCapTokens, { outputKinds: { image: false, audio: false, ...made }, ...rest })
const ofExpensive = { offer: expensive }
const HIGHEST: readonly HoldRow[] = [
  ['reasoning, which any answer may have', answering({}), 2_100, ofExpensive],
  // (8,192 × 30 + 1,000 × 2) × 1.05: an image, and reasoning up to the cap beside it
  ['images, if requested', answering({ image: true }), 260_148, ofExpensive],
  // 10,000 × 30 × 1.05
  ['images that fill a long cap', answering({ image: true }, {}, 10_000), 315_000, ofExpensive],
  // 3 × (0.25 + 0.01 + 1,000 × 0.000001) + 0.01 for the request itself
  [
    'an image for each completion, at a flat price that is higher than its tokens',
    answering({ image: true }, { completions: 3 }),
    832_650,
    {
      offer: offerWith({
        output: usd('0.000001'),
        imageOutput: usd('0.00001'),
        imageFlat: usd('0.25'),
        request: usd('0.01'),
      }),
    },
  ],
  ['audio, if requested', answering({ audio: true }), 42_000, ofExpensive],
  [
    'images, if the model makes them unasked',
    answering({}),
    260_148,
    { offer: { ...expensive, outputModalities: new Set(['text', 'image']) } },
  ],
]

describe('the most expensive output', () => {
  testHolds(HIGHEST)
})
