import { describe, expect, test } from 'vitest'
import { completions } from './completions.ts'
import { callOf, refusalOf } from './testing/exchange.ts'

const base = { model: 'acme/legacy-instruct', prompt: 'Once' }

function callWith(members: { readonly [member: string]: unknown }) {
  return callOf(completions, { ...base, ...members })
}

describe('prompts', () => {
  test.each([
    ['Once', 1],
    ['', 1],
    [[], 1],
    [['First', 'Second'], 2],
    [[1212, 318, 257], 1],
    [
      [
        [1212, 318, 257],
        [1332, 13],
      ],
      2,
    ],
    [[[], []], 2],
  ])('%j counts as %j', (prompt, count) => {
    expect(callWith({ prompt }).completions).toBe(count)
  })

  test.each([
    [{ n: 2 }, 4],
    [{ best_of: 5 }, 10],
    [{ n: 2, best_of: 5 }, 10],
    [{ n: 5, best_of: 2 }, 10],
    [{ n: null, best_of: null }, 2],
    [{ n: Number.MAX_SAFE_INTEGER }, Number.MAX_SAFE_INTEGER],
  ])('two prompts with %j make %j completions', (members, count) => {
    expect(callWith({ prompt: ['a', 'b'], ...members }).completions).toBe(count)
  })

  test.each([[undefined], [null]])('a prompt of %j is missing', (prompt) => {
    expect(refusalOf(() => callWith({ prompt }))).toEqual({
      code: 'missing_prompt',
      param: 'prompt',
    })
  })

  test('messages do not replace a prompt', () => {
    expect(refusalOf(() => callWith({ prompt: null, messages: [] })).code).toBe('missing_prompt')
  })

  test.each([
    [7, 'prompt'],
    [true, 'prompt'],
    [{ text: 'Once' }, 'prompt'],
    [[null], 'prompt[0]'],
    [[{ content: [] }], 'prompt[0]'],
    [['Once', 7], 'prompt[1]'],
    [[7, 'Once'], 'prompt[1]'],
    [[7, [7]], 'prompt[1]'],
    [[7, -1], 'prompt[1]'],
    [[7, 1.5], 'prompt[1]'],
    [[[7], ['Once']], 'prompt[1]'],
    [[['Once']], 'prompt[0]'],
  ])('a prompt of %j is refused at %s', (prompt, param) => {
    expect(refusalOf(() => callWith({ prompt }))).toEqual({ code: 'invalid_parameter', param })
  })

  test('a prompt of token ids is estimated at one token an id at least', () => {
    const prompt = Array.from({ length: 5_000 }, (_, index) => index % 10)
    expect(callWith({ prompt }).textTokens).toBeGreaterThanOrEqual(5_000)
  })
})

test.each([
  [{ stream: true, stream_options: { include_usage: true } }, { stream: true }],
  [{ max_tokens: 16, max_completion_tokens: 32 }, { outputCapTokens: 32 }],
])('%j is read as %j', (members, expected) => {
  expect(callWith(members)).toMatchObject(expected)
})

test.each([
  [{ best_of: 0 }, 'best_of'],
  [{ n: '2' }, 'n'],
  [{ stream: 1 }, 'stream'],
  [{ stream_options: { include_usage: 'yes' } }, 'stream_options.include_usage'],
])('%j is refused', (members, param) => {
  expect(refusalOf(() => callWith(members))).toEqual({ code: 'invalid_parameter', param })
})

test('media in additional messages counts', () => {
  const content = [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }]
  expect(callWith({ messages: [{ role: 'user', content }] }).media.imagesByUrl).toBe(1)
})
