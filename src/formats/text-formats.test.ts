import { describe, expect, test } from 'vitest'
import { NO_MEDIA } from '../vocabulary/call.ts'
import { chat } from './chat.ts'
import { completions } from './completions.ts'
import type { WireFormat } from './format.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'
import { callOf, checkCall, refusalOf } from './testing/exchange.ts'

const model = 'acme/sage-pro'

/** What the formats that write text have in common: the least body, the field of its cap, and a file in a prompt. */
const ROWS = [
  { name: 'chat', format: chat, base: { model, messages: [] }, cap: 'max_tokens', file: null },
  {
    name: 'completions',
    format: completions,
    base: { model, prompt: 'Once' },
    cap: 'max_tokens',
    file: { messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: 'x' } }] }] },
  },
  {
    name: 'messages',
    format: messages,
    base: { model, messages: [] },
    cap: 'max_tokens',
    file: {
      messages: [
        {
          role: 'user',
          content: [{ type: 'document', source: { type: 'url', url: 'https://example.com/a' } }],
        },
      ],
    },
  },
  {
    name: 'responses',
    format: responses,
    base: { model, input: 'Hi' },
    cap: 'max_output_tokens',
    file: { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f_1' }] }] },
  },
] as const

interface Body {
  readonly format: WireFormat
  readonly base: object
}

function check({ format, base }: Body, members: object, overrides = {}): void {
  checkCall(format, callOf(format, { ...base, ...members }), overrides)
}

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
    [{ service_tier: 'priority' }, { priorityTier: true }],
    [{ service_tier: 'flex' }, { priorityTier: false }],
    [{ speed: 'fast' }, { priorityTier: true }],
    [{ cache_control: { type: 'ephemeral' } }, { cacheWrites: 'short' }],
    [{ cache_control: null }, { cacheWrites: 'none' }],
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

  test.each([
    [{ outputModalities: new Set(['embeddings']) }],
    [{ outputModalities: new Set(['image']) }],
  ])('the model %o is refused', (overrides) => {
    const refused = { code: 'unsupported_model', param: 'model' }
    expect(refusalOf(() => check({ format, base }, {}, overrides))).toEqual(refused)
  })
})

test.each(
  ROWS.flatMap(({ name, format, base, file }) => (file ? [{ name, format, base, file }] : [])),
)(
  'in $name a file is refused, with its place, unless the free parser or the model reads it',
  ({ format, base, file }) => {
    const body = { format, base: { ...base, ...file } }
    const parser = (engine: string) => ({ plugins: [{ id: 'file-parser', pdf: { engine } }] })
    const param = `${Object.keys(file)}[0].content[0]`
    const refused = { code: 'unsupported_parameter', param }
    expect(refusalOf(() => check(body, {}))).toEqual(refused)
    expect(refusalOf(() => check(body, parser('native')))).toEqual(refused)
    expect(() => check(body, parser('hosted-ai'))).not.toThrow()
    expect(() => check(body, {}, { inputModalities: new Set(['text', 'file']) })).not.toThrow()
  },
)
