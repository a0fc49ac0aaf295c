import { describe, expect, test } from 'vitest'
import { Problem } from '../vocabulary/problem.ts'
import { chat } from './chat.ts'
import {
  type BodySource,
  callOf,
  checkCall,
  DEFAULT_PUBLIC_NAMES,
  refusalOf,
} from './testing/exchange.ts'

const base = { model: 'acme/sage-pro', messages: [] }
const FILE = {
  type: 'file',
  file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
}

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
    [{ service_tier: 'fast' }, { priorityTier: true }],
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

  test('has a cache mark at any depth, and null is none', () => {
    const marked = (mark: unknown) =>
      callWith({
        messages: [{ role: 'user', content: [{ type: 'text', text: 'x', cache_control: mark }] }],
      })
    expect(marked({ type: 'ephemeral' }).cacheWrites).toBe('short')
    expect(marked(null).cacheWrites).toBe('none')
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

  test('a member of the prototype is not read from the body', () => {
    expect(refusalOf(() => callOf(chat, '{"__proto__":{"model":"a/b"},"messages":[]}'))).toEqual({
      code: 'missing_model',
      param: 'model',
    })
  })
})

describe('models', () => {
  const check = (members: { readonly [member: string]: unknown }, overrides = {}) =>
    checkCall(chat, callWith(members), overrides)

  test('are refused with the name of their endpoint', () => {
    const messageFor = (kind: string) => {
      try {
        check({}, { outputModalities: new Set([kind]) })
      } catch (error) {
        return error instanceof Problem ? error.message : ''
      }
      return ''
    }
    expect(messageFor('embeddings')).toContain('POST /v1/embeddings')
    expect(messageFor('image')).toContain('POST /v1/images')
    expect(messageFor('audio')).toContain('no endpoint')
  })

  test.each([[[]], [[{ id: 'file-parser', pdf: { engine: 'native' } }]]])(
    'a file is no reason to refuse a model that reads none: plugins %j',
    (plugins) => {
      expect(() => check({ plugins, messages: [{ role: 'user', content: [FILE] }] })).not.toThrow()
    },
  )
})

test('the format has no headers of its own', () => {
  expect(chat.forwardedHeaders(DEFAULT_PUBLIC_NAMES)).toEqual([])
  expect(chat.returnsHeader('x-should-retry', DEFAULT_PUBLIC_NAMES)).toBe(false)
})

test('text of digits is estimated at one token a digit at least', () => {
  const digits = '7'.repeat(3_000)
  const messages = [{ role: 'user', content: digits }]
  expect(callOf(chat, { ...base, messages }).textTokens).toBeGreaterThanOrEqual(3_000)
})
