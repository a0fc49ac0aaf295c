import { describe, expect, test } from 'vitest'
import type { Call } from '../../vocabulary/call.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { sizeHold } from './hold.ts'
import { type HoldRow, PLAIN, plainWith, testHolds } from './testing/hold-table.ts'
import { callWith, OPEN, offerWith, SAGE, usd } from './testing/offers.ts'

const CHAT_CAPS: readonly HoldRow[] = [
  // (1,000 × 1 + 500 × 2) micro-dollars × 1.05
  {
    name: 'set by the client: held and unchanged',
    call: { outputCapTokens: 500 },
    offer: PLAIN,
    neededMicros: 2_100,
  },
  // (1,000 + 9,999 × 2) × 1.05 = 22,047.9
  {
    name: 'set above the maximum: held in full, since it is sent',
    call: { outputCapTokens: 9_999 },
    offer: PLAIN,
    neededMicros: 22_048,
  },
  // (1,000 + 100,000 × 2) × 1.05
  {
    name: 'set above the window: held at the window',
    call: { outputCapTokens: 999_999 },
    offer: PLAIN,
    neededMicros: 211_050,
  },
  // (1,000 + 8,000 × 2) × 1.05
  {
    name: 'set above a window that is below the maximum: held at the maximum',
    call: { outputCapTokens: 999_999 },
    offer: plainWith({ contextTokens: 5_000 }),
    neededMicros: 17_850,
  },
  {
    name: 'set above the window, no maximum listed: held at the window',
    call: { outputCapTokens: 999_999 },
    offer: plainWith({ outputTokensMax: null, contextTokens: 50_000 }),
    neededMicros: 106_050,
  },
  {
    name: 'set, neither known: held in full',
    call: { outputCapTokens: 999_999 },
    offer: plainWith({ outputTokensMax: null, contextTokens: null }),
    neededMicros: 2_101_048,
  },
  // least: (1,000 + 16 × 2) × 1.05 = 1,083.6, rounded up
  {
    name: 'not set: the maximum, which may be lowered to 16',
    call: {},
    offer: PLAIN,
    neededMicros: 17_850,
    leastMicros: 1_084,
    capTokens: 8_000,
  },
  {
    name: 'not set on legacy completions: the same',
    call: { endpoint: 'completions' },
    offer: PLAIN,
    neededMicros: 17_850,
    leastMicros: 1_084,
    capTokens: 8_000,
  },
  // (1,000 + 32,768 × 2) × 1.05 = 69,862.8
  {
    name: 'not set, a higher maximum: 32,768',
    call: {},
    offer: plainWith({ outputTokensMax: 32_769 }),
    neededMicros: 69_863,
    leastMicros: 1_084,
    capTokens: 32_768,
  },
  {
    name: 'not set, no maximum listed: the window',
    call: {},
    offer: plainWith({ outputTokensMax: null, contextTokens: 20_000 }),
    neededMicros: 43_050,
    leastMicros: 1_084,
    capTokens: 20_000,
  },
  {
    name: 'not set, nothing known: 32,768',
    call: {},
    offer: plainWith({ outputTokensMax: null, contextTokens: null }),
    neededMicros: 69_863,
    leastMicros: 1_084,
    capTokens: 32_768,
  },
  {
    name: 'not set, a maximum below 16: the maximum, not lowered',
    call: {},
    offer: plainWith({ outputTokensMax: 10 }),
    neededMicros: 1_071,
    capTokens: 10,
  },
  {
    name: 'not set, a model that ignores caps: its maximum, even above 32,768, and none is sent',
    call: {},
    offer: plainWith({ outputTokensMax: 40_000, supportedParameters: new Set(['temperature']) }),
    neededMicros: 85_050,
  },
  {
    name: 'set, a model that ignores caps: its maximum',
    call: { outputCapTokens: 5 },
    offer: plainWith({ supportedParameters: new Set() }),
    neededMicros: 17_850,
  },
  {
    name: 'not set, a model that lists the other name: sent',
    call: {},
    offer: plainWith({ supportedParameters: new Set(['max_completion_tokens']) }),
    neededMicros: 17_850,
    leastMicros: 1_084,
    capTokens: 8_000,
  },
  // (1,000 + 9_999 × 2) × 1.05
  {
    name: 'set above the maximum, a model that ignores caps: held in full',
    call: { outputCapTokens: 9_999 },
    offer: plainWith({ supportedParameters: new Set() }),
    neededMicros: 22_048,
  },
  // (1,000 + 9_000 × 2) × 1.05
  {
    name: 'below the budget for reasoning: the budget',
    call: { outputCapTokens: 500, reasoningTokens: 9_000 },
    offer: PLAIN,
    neededMicros: 19_950,
  },
  {
    name: 'above the budget for reasoning: the cap',
    call: { outputCapTokens: 500, reasoningTokens: 400 },
    offer: PLAIN,
    neededMicros: 2_100,
  },
  // (1,000 + (500 + 400) × 2) × 1.05
  {
    name: 'beside a budget for thinking that a server may not count in it: both',
    call: { outputCapTokens: 500, thinkingTokens: 400 },
    offer: PLAIN,
    neededMicros: 2_940,
  },
  // (1,000 + 9,000 × 2) × 1.05
  {
    name: 'not set and below the budget for reasoning: the budget, not lowered; the maximum is sent',
    call: { reasoningTokens: 9_000 },
    offer: PLAIN,
    neededMicros: 19_950,
    capTokens: 8_000,
  },
  // least: (1,000 + 5,000 × 2) × 1.05
  {
    name: 'not set and above the budget for reasoning: lowered to the budget at most',
    call: { reasoningTokens: 5_000 },
    offer: PLAIN,
    neededMicros: 17_850,
    leastMicros: 11_550,
    capTokens: 8_000,
  },
  // (1,000 + 500 × 2 + 300 × 2) × 1.05
  {
    name: 'with a prediction: the prediction in addition',
    call: { outputCapTokens: 500, predictionTokens: 300 },
    offer: PLAIN,
    neededMicros: 2_730,
  },
  // (1,000 + (500 × 2 + 300 × 2) × 3) × 1.05
  {
    name: 'with a prediction, for each of several completions',
    call: { outputCapTokens: 500, predictionTokens: 300, completions: 3 },
    offer: PLAIN,
    neededMicros: 6_090,
  },
  // (1,000 × 2 + 8,000 × 2 × 2) × 1.05
  {
    name: 'not set, with a possible summary: not lowered',
    call: { compacts: true },
    offer: PLAIN,
    neededMicros: 35_700,
    capTokens: 8_000,
  },
  {
    name: 'for each of several completions',
    call: { outputCapTokens: 500, completions: 3 },
    offer: PLAIN,
    neededMicros: 4_200,
  },
]

describe('the output cap of chat and legacy completions', () => {
  testHolds(CHAT_CAPS)
})

const OWN_CAPS: readonly HoldRow[] = [
  // (1,000 × 3 + 1,000 × 15) × 1.05
  {
    name: 'messages: held in full',
    call: { endpoint: 'messages', outputCapTokens: 1_000 },
    offer: SAGE,
    neededMicros: 18_900,
  },
  // (3,000 + 64,000 × 15) × 1.05
  {
    name: 'messages: held up to the maximum',
    call: { endpoint: 'messages', outputCapTokens: 70_000 },
    offer: SAGE,
    neededMicros: 1_011_150,
  },
  {
    name: 'messages, not set: the whole maximum, even above 32,768',
    call: { endpoint: 'messages' },
    offer: SAGE,
    neededMicros: 1_011_150,
  },
  // (3,000 + 70,000 × 15) × 1.05
  {
    name: 'messages: held at a larger budget for reasoning',
    call: { endpoint: 'messages', outputCapTokens: 1_000, reasoningTokens: 70_000 },
    offer: SAGE,
    neededMicros: 1_105_650,
  },
  // (3,000 + 70,000 × 15) × 1.05
  {
    name: 'responses: held above the maximum, since it is sent',
    call: { endpoint: 'responses', outputCapTokens: 70_000 },
    offer: SAGE,
    neededMicros: 1_105_650,
  },
  // (1,000 × 0.2 + 131,072 × 0.8) × 1.05 = 110,310.48
  {
    name: 'responses: held up to the window',
    call: { endpoint: 'responses', outputCapTokens: 999_999 },
    offer: OPEN,
    neededMicros: 110_311,
  },
  // (1,000 × 0.2 + 2,000 × 0.8) × 1.05
  {
    name: 'messages, no maximum listed: held in full',
    call: { endpoint: 'messages', outputCapTokens: 2_000 },
    offer: OPEN,
    neededMicros: 1_890,
  },
  {
    name: 'responses: held in full',
    call: { endpoint: 'responses', outputCapTokens: 1_000 },
    offer: SAGE,
    neededMicros: 18_900,
  },
  {
    name: 'responses, not set: the whole maximum',
    call: { endpoint: 'responses' },
    offer: SAGE,
    neededMicros: 1_011_150,
  },
]

describe('the output cap of messages and responses', () => {
  testHolds(OWN_CAPS)

  test.each([
    ['messages', 'max_tokens'],
    ['responses', 'max_output_tokens'],
  ] as const)('%s without %s is refused where the model lists no maximum', (endpoint, param) => {
    const refused = () => sizeHold(callWith({ endpoint }), OPEN)
    expect(refused).toThrow(Problem)
    expect(refused).toThrow(expect.objectContaining({ code: 'output_cap_required', param }))
  })
})

const dear = offerWith({
  output: usd('0.000001'),
  reasoning: usd('0.000002'),
  imageOutput: usd('0.00003'),
  audioOutput: usd('0.00004'),
})
const answering = (outputKinds: Partial<Call['outputKinds']>): Partial<Call> => ({
  outputCapTokens: 1_000,
  outputKinds: { image: false, audio: false, ...outputKinds },
})
const DEAREST: readonly HoldRow[] = [
  {
    name: 'reasoning, which any answer may have',
    call: answering({}),
    offer: dear,
    neededMicros: 2_100,
  },
  // (8,192 × 30 + 1,000 × 2) × 1.05: an image, and reasoning up to the cap beside it
  {
    name: 'images, if requested',
    call: answering({ image: true }),
    offer: dear,
    neededMicros: 260_148,
  },
  // 10,000 × 30 × 1.05
  {
    name: 'images that fill a long cap',
    call: { ...answering({ image: true }), outputCapTokens: 10_000 },
    offer: dear,
    neededMicros: 315_000,
  },
  // 3 × (0.25 + 0.01 + 1,000 × 0.000001) + 0.01 for the request itself
  {
    name: 'an image for each completion, at a flat price that is dearer than its tokens',
    call: { ...answering({ image: true }), completions: 3 },
    offer: offerWith({
      output: usd('0.000001'),
      imageOutput: usd('0.00001'),
      imageFlat: usd('0.25'),
      request: usd('0.01'),
    }),
    neededMicros: 832_650,
  },
  {
    name: 'audio, if requested',
    call: answering({ audio: true }),
    offer: dear,
    neededMicros: 42_000,
  },
  {
    name: 'images, if the model makes them unasked',
    call: answering({}),
    offer: { ...dear, outputModalities: new Set(['text', 'image']) },
    neededMicros: 260_148,
  },
]

describe('the dearest output', () => {
  testHolds(DEAREST)
})
