import { describe, expect, test } from 'vitest'
import { estimateTextTokens } from '../tokens/testing/estimate-text.ts'
import { sizeCall } from './format.ts'
import { messages } from './messages.ts'
import { bodyOf, callOf, DEFAULT_PUBLIC_NAMES } from './testing/exchange.ts'

const FIVE_MINUTES = { cache_control: { type: 'ephemeral' } }
const HOUR = { cache_control: { type: 'ephemeral', ttl: '1h' } }

const text = (said: string, mark = {}) => ({ type: 'text', text: said, ...mark })
const user = (...content: readonly object[]) => ({ role: 'user', content })
const assistant = (...content: readonly object[]) => ({ role: 'assistant', content })
const tool = (name: string, mark = {}) => ({ name, input_schema: { type: 'object' }, ...mark })
const result = (content: unknown, mark = {}) => ({
  type: 'tool_result',
  tool_use_id: 't',
  content,
  ...mark,
})

const FIRST = user(text('one'))
const SECOND = assistant(text('two'))
const THIRD = user(text('three'), text('four'))
const SPOKEN = [FIRST, SECOND, THIRD]
const BODY = { model: 'x', max_tokens: 1, system: 'rules', messages: SPOKEN }

/** The texts of a body behind its last mark. */
function unmarkedOf(source: object): string {
  const { texts } = messages.readCall(bodyOf({ ...BODY, ...source }), DEFAULT_PUBLIC_NAMES)
  return Buffer.concat(texts.unmarked).toString()
}

/** The text in the body, after the mark. */
const behind = (...values: readonly unknown[]) =>
  values.map((value) => `,${JSON.stringify(value)}`).join('')

describe('after its last mark, a body of messages has', () => {
  test.each<[string, object, string]>([
    [
      'its system prompt and messages, if a tool is marked',
      { tools: [tool('f', HOUR)] },
      `"rules"${JSON.stringify(SPOKEN)}`,
    ],
    [
      'its messages, if the end of the system prompt is marked',
      { system: [text('a'), text('b', FIVE_MINUTES)] },
      `]${JSON.stringify(SPOKEN)}`,
    ],
    [
      'the rest of the system prompt too, if a part of it is marked',
      { system: [text('a', HOUR), text('b')] },
      `${behind(text('b'))}]${JSON.stringify(SPOKEN)}`,
    ],
    [
      'what follows a marked message',
      { messages: [user(text('one', FIVE_MINUTES)), SECOND, THIRD] },
      `]}${behind(SECOND, THIRD)}]`,
    ],
    [
      'what follows a marked part',
      { messages: [FIRST, SECOND, user(text('three', HOUR), text('four'))] },
      `${behind(text('four'))}]}]`,
    ],
    [
      'what follows a result of a tool that is marked',
      { messages: [FIRST, SECOND, user(result('r', FIVE_MINUTES), text('four'))] },
      `${behind(text('four'))}]}]`,
    ],
    [
      'what follows a result of a tool with a mark in it',
      {
        messages: [FIRST, SECOND, user(result([text('r', FIVE_MINUTES), text('s')]), text('four'))],
      },
      `${behind(text('four'))}]}]`,
    ],
    [
      'what follows a message that is marked whole',
      { messages: [{ ...FIRST, ...HOUR }, SECOND, THIRD] },
      `${behind(SECOND, THIRD)}]`,
    ],
    [
      'what follows the last of several marks, of any lifetimes',
      {
        tools: [tool('f', HOUR)],
        system: [text('a', HOUR)],
        messages: [user(text('one', FIVE_MINUTES)), assistant(text('two', FIVE_MINUTES)), THIRD],
      },
      `]}${behind(THIRD)}]`,
    ],
    [
      'no words, if the last part is marked',
      { messages: [FIRST, SECOND, user(text('three'), text('four', HOUR))] },
      ']}]',
    ],
  ])('%s', (_, source, unmarked) => {
    expect(unmarkedOf(source)).toBe(unmarked)
  })

  test('the same in any order of its members', () => {
    const { model, max_tokens } = BODY
    const source = {
      messages: SPOKEN,
      system: [text('a', HOUR), text('b')],
      tools: [],
      model,
      max_tokens,
    }
    const { texts } = messages.readCall(bodyOf(source), DEFAULT_PUBLIC_NAMES)
    expect(Buffer.concat(texts.unmarked).toString()).toBe(
      `${JSON.stringify(SPOKEN)}${behind(text('b'))}]`,
    )
    expect(texts.written.map((view) => Buffer.from(view).toString())).toEqual([
      '{"messages":',
      `,"system":[${JSON.stringify(text('a', HOUR))}`,
      ',"tools":[],"model":"x","max_tokens":1}',
    ])
  })

  test('the text that follows a call whose input is named like a mark', () => {
    const call = { type: 'tool_use', id: 't', name: 'f', input: FIVE_MINUTES }
    const system = [text('a', FIVE_MINUTES)]
    expect(unmarkedOf({ system, messages: [FIRST, assistant(call)] })).toBe(
      `]${JSON.stringify([FIRST, assistant(call)])}`,
    )
  })
})

const MARKED = { system: [text('a', FIVE_MINUTES)] }
const IMAGE = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
}

test.each<[string, object]>([
  ['nothing is marked', {}],
  ['the body is marked itself', { ...MARKED, cache_control: { type: 'ephemeral' } }],
  ['an option is for the whole prompt', { ...MARKED, prompt_cache_key: 'k' }],
  ['the only mark is at a place that has none', { metadata: FIVE_MINUTES }],
  [
    'instructions stand between the messages',
    { ...MARKED, messages: [FIRST, { role: 'system', content: 'x' }] },
  ],
  [
    'there are results of a search of the provider',
    {
      ...MARKED,
      messages: [
        FIRST,
        assistant({ type: 'web_search_tool_result', tool_use_id: 't', content: [] }),
      ],
    },
  ],
  ['a part is of an unknown type', { ...MARKED, messages: [user({ type: 'later', text: 'x' })] }],
  ['an image is in the body', { ...MARKED, messages: [user(IMAGE)] }],
])('all of a prompt may be written to a cache where %s', (_, source) => {
  expect(unmarkedOf(source)).toBe('')
})

test('no text is left out of a call for a mark in it', () => {
  const words = user(text('the zq \u0301 code(); '.repeat(200)))
  const body = { ...BODY, ...MARKED, messages: [FIRST, words] }
  const { textTokens, unmarkedTokens } = callOf(messages, body)
  const { textTokens: whole } = callOf(messages, { ...body, prompt_cache_key: null, metadata: {} })
  const bytes = Buffer.from(JSON.stringify(body))
  expect(textTokens).toBeGreaterThanOrEqual(estimateTextTokens(bytes))
  expect(whole).toBeGreaterThanOrEqual(textTokens)
  expect(unmarkedTokens).toBeGreaterThan(estimateTextTokens(Buffer.from(JSON.stringify(words))))
})

test('a mark at the very end leaves only the brackets after it unmarked', () => {
  const call = sizeCall(
    messages.readCall(
      bodyOf({ ...BODY, messages: [user(text('word '.repeat(9_000), HOUR))] }),
      DEFAULT_PUBLIC_NAMES,
    ),
  )
  expect(call.unmarkedTokens).toBeLessThanOrEqual(3)
})
