import { describe, expect, test } from 'vitest'
import { chat } from './chat.ts'
import { type BodySource, callOf, refusalOf } from './testing/exchange.ts'

const base = { model: 'acme/sage-pro', messages: [] }

function callWith(members: { readonly [member: string]: unknown }) {
  return callOf(chat, { ...base, ...members })
}

describe('a call', () => {
  test.each([
    [{ max_completion_tokens: 65 }, 65],
    [{ max_tokens: 64, max_completion_tokens: 65 }, 65],
    [{ max_tokens: 66, max_completion_tokens: 65 }, 66],
    [{ max_tokens: null, max_completion_tokens: 65 }, 65],
    [{ max_tokens: null, max_completion_tokens: null }, null],
  ])('has, of %j, the cap %j', (members, cap) => {
    expect(callWith(members).outputCapTokens).toBe(cap)
  })

  test.each([
    [{ stream: null, stream_options: null }, { stream: false }],
    [{ n: 3 }, { completions: 3 }],
    [{ n: null }, { completions: 1 }],
    [{ best_of: 4 }, { completions: 4 }],
    [{ n: 5, best_of: 4 }, { completions: 5 }],
    [{ prompt: ['a', 'b'], n: 3 }, { completions: 6 }],
    [{ prompt: [[1, 2], [3]] }, { completions: 2 }],
    [{ prompt: [1, 2, 3] }, { completions: 1 }],
    [{ prompt: 'a' }, { completions: 1 }],
    [{ modalities: ['image', 'text'] }, { outputKinds: { image: true, audio: false } }],
    [{ modalities: ['text', 'audio'] }, { outputKinds: { image: false, audio: true } }],
    [{ modalities: null }, { outputKinds: { image: false, audio: false } }],
    [
      { functions: [{ name: 'f' }] },
      { tools: { clientTools: 1, serverTools: false, steps: 30, searchResultTokens: 8_000 } },
    ],
    [
      { web_search_options: {} },
      { tools: { clientTools: 0, serverTools: true, steps: 30, searchResultTokens: 8_000 } },
    ],
    [
      { web_search_options: null },
      { tools: { clientTools: 0, serverTools: false, steps: 30, searchResultTokens: 8_000 } },
    ],
  ])('%j is read as %j', (members, expected) => {
    expect(callWith(members)).toMatchObject(expected)
  })
})

describe('refusals', () => {
  const cases: readonly (readonly [BodySource, string, string])[] = [
    [{ model: 'a/b' }, 'invalid_parameter', 'messages'],
    [{ ...base, messages: null }, 'invalid_parameter', 'messages'],
    [{ ...base, messages: 'Hi' }, 'invalid_parameter', 'messages'],
    [{ ...base, messages: ['Hi'] }, 'invalid_parameter', 'messages[0]'],
    [{ ...base, stream_options: true }, 'invalid_parameter', 'stream_options'],
    [
      { ...base, stream_options: { include_usage: 1 } },
      'invalid_parameter',
      'stream_options.include_usage',
    ],
    ['{"model":"a/b","messages":[],"max_tokens":1e999}', 'invalid_parameter', 'max_tokens'],
    [{ ...base, max_completion_tokens: false }, 'invalid_parameter', 'max_completion_tokens'],
    [{ ...base, n: 0 }, 'invalid_parameter', 'n'],
    [{ ...base, n: [] }, 'invalid_parameter', 'n'],
    [{ ...base, modalities: 'image' }, 'invalid_parameter', 'modalities'],
    [{ ...base, modalities: [['image']] }, 'invalid_parameter', 'modalities'],
    [{ ...base, web_search_options: true }, 'invalid_parameter', 'web_search_options'],
  ]
  test.each(cases)('%j: %s at %s', (source, code, param) => {
    expect(refusalOf(() => callOf(chat, source))).toEqual({ code, param })
  })
})

test('text of digits is estimated at one token a digit at least', () => {
  const digits = '7'.repeat(3_000)
  const messages = [{ role: 'user', content: digits }]
  expect(callOf(chat, { ...base, messages }).textTokens).toBeGreaterThanOrEqual(3_000)
})
