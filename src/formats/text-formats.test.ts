import { describe, expect, test } from 'vitest'
import { NO_MEDIA } from '../vocabulary/testing/no-media.ts'
import { chat } from './chat.ts'
import { completions } from './completions.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'
import { callOf, refusalOf } from './testing/exchange.ts'

const model = 'acme/sage-pro'

/** The formats that write text, each with its least body and the field of its cap. */
const ROWS = [
  { name: 'chat', format: chat, base: { model, messages: [] }, cap: 'max_tokens' },
  { name: 'completions', format: completions, base: { model, prompt: 'Once' }, cap: 'max_tokens' },
  { name: 'messages', format: messages, base: { model, messages: [] }, cap: 'max_tokens' },
  { name: 'responses', format: responses, base: { model, input: 'Hi' }, cap: 'max_output_tokens' },
] as const

describe.each(ROWS)('in $name', ({ format, base, cap }) => {
  const callWith = (members: object) => callOf(format, { ...base, ...members })

  test('a plain body asks for one answer, without a cap and without anything that is billed apart', () => {
    expect(callWith({})).toEqual({
      rules: format.rules,
      modelName: model,
      stream: false,
      outputCapTokens: null,
      completions: 1,
      media: NO_MEDIA,
      tools: { clientTools: 0, serverTools: false, steps: 30, searchResultTokens: 8_000 },
      cacheWrites: 'none',
      outputKinds: { image: false, audio: false },
      priorityTier: false,
      reasoningTokens: 0,
      thinkingTokens: 0,
      unmarkedTokens: 0,
      predictionTokens: 0,
      compacts: false,
      fileParser: 'none',
      textTokens: expect.any(Number),
      promptGuess: expect.any(Number),
      inlineImages: [],
    })
  })

  test.each([
    [{ stream: true }, { stream: true }],
    [{ stream: null }, { stream: false }],
    [{ [cap]: 64 }, { outputCapTokens: 64 }],
    [{ [cap]: null }, { outputCapTokens: null }],
    [{ [cap]: 1e300 }, { outputCapTokens: Number.MAX_SAFE_INTEGER }],
    [{ cache_control: { type: 'ephemeral' } }, { cacheWrites: 'short' }],
  ])('%j is read as %j', (members, expected) => {
    expect(callWith(members)).toMatchObject(expected)
  })

  test.each([
    [{ stream: 'true' }, 'invalid_parameter', 'stream'],
    [{ [cap]: 0 }, 'invalid_parameter', cap],
    [{ [cap]: -1 }, 'invalid_parameter', cap],
    [{ [cap]: 1.5 }, 'invalid_parameter', cap],
    [{ [cap]: '64' }, 'invalid_parameter', cap],
  ])('%j is refused: %s at %s', (members, code, param) => {
    expect(refusalOf(() => callWith(members))).toEqual({ code, param })
  })
})
