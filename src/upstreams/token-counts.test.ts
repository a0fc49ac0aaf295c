import { describe, expect, test } from 'vitest'
import { eventOf } from '../formats/testing/exchange.ts'
import type { Reported } from '../vocabulary/outcome.ts'
import { countsIn, usageOf } from '../vocabulary/testing/token-usage.ts'
import { openaiCompatible } from './openai-compatible/openai-compatible.ts'
import { answerOf } from './openrouter/testing/exchange.ts'
import { wire } from './testing/wires.ts'

/** The usage that is read from these counts of chat. */
function chatUsage(usage: object) {
  return wire(openaiCompatible, 'chat').readAnswer(answerOf({ usage })).reported.usage
}

function messagesUsage(usage: object) {
  return wire(openaiCompatible, 'messages').readAnswer(answerOf({ usage })).reported.usage
}

const SAID = { prompt_tokens: 100, completion_tokens: 20 }

describe('counts of chat that contradict each other', () => {
  test.each<[string, object, string]>([
    [
      'more read from a cache than there is prompt: it is the whole prompt',
      { ...SAID, prompt_tokens_details: { cached_tokens: 150 } },
      '100 read, 20 out',
    ],
    [
      'the same, and a total that leaves no room for both',
      { ...SAID, total_tokens: 120, prompt_tokens_details: { cached_tokens: 150 } },
      '100 read, 20 out',
    ],
    [
      'the same, and a total with both: the prompt was counted without them',
      { ...SAID, total_tokens: 270, prompt_tokens_details: { cached_tokens: 150 } },
      '100 in, 150 read, 20 out',
    ],
    [
      'more written to a cache than there is prompt',
      { ...SAID, prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 900 } },
      '60 read, 40 written, 20 out',
    ],
    [
      'more reasoning than output',
      { ...SAID, completion_tokens_details: { reasoning_tokens: 5_000 } },
      '100 in, 20 out, 20 reasoning',
    ],
    [
      'more images and reasoning than output',
      { ...SAID, completion_tokens_details: { reasoning_tokens: 15, image_tokens: 15 } },
      '100 in, 20 out, 15 reasoning, 5 images',
    ],
    [
      'a total above both: the output was counted without its reasoning',
      { ...SAID, total_tokens: 170 },
      '100 in, 70 out',
    ],
    ['a total below both says nothing', { ...SAID, total_tokens: 7 }, '100 in, 20 out'],
    [
      'a total and no prompt: the rest is the prompt',
      { completion_tokens: 20, total_tokens: 120 },
      '100 in, 20 out',
    ],
  ])('%s', (_, usage, counts) => {
    expect(chatUsage(usage)).toEqual(usageOf(counts))
  })

  test.each([-1, 1.5, '20', 1e308, 1e15, null, true, [20], { tokens: 20 }])(
    'a count that is not a number of tokens, such as %j, is left out',
    (none) => {
      const details = { cached_tokens: none, cache_write_tokens: none }
      const parts = { reasoning_tokens: none, image_tokens: none }
      expect(
        chatUsage({
          ...SAID,
          total_tokens: none,
          prompt_tokens_details: details,
          completion_tokens_details: parts,
          server_tool_use: { web_search_requests: none },
        }),
      ).toEqual(usageOf('100 in, 20 out'))
      expect(chatUsage({ prompt_tokens: none, completion_tokens: 20 })).toBeNull()
    },
  )
})

describe('only the total shows whether cached tokens are part of the prompt, and reasoning part of the output', () => {
  /** A prompt of 100 and an output of 20. By position: cached, reasoning, total. */
  test.each<[string, [number, number, number], string]>([
    ['both within', [60, 15, 120], '40 in, 60 read, 20 out'],
    ['cached beside', [60, 15, 180], '100 in, 60 read, 20 out'],
    ['as many as the prompt', [100, 0, 220], '100 in, 100 read, 20 out'],
    ['reasoning beside', [60, 15, 135], '40 in, 60 read, 35 out'],
    ['both beside', [60, 15, 195], '100 in, 60 read, 35 out'],
    ['as many of either: reasoning', [60, 60, 180], '40 in, 60 read, 80 out'],
    ['neither: output that is not counted', [60, 15, 150], '40 in, 60 read, 50 out'],
    ['more cached than prompt, beside', [150, 15, 270], '100 in, 150 read, 20 out'],
    ['the same, and reasoning', [150, 15, 285], '100 in, 150 read, 35 out'],
    ['more cached than prompt, without room', [150, 15, 269], '100 read, 169 out'],
    ['nothing cached', [0, 15, 135], '100 in, 35 out'],
  ])('%s', (_, [cached, reasoning, total], counts) => {
    const usage = {
      ...SAID,
      total_tokens: total,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens_details: { reasoning_tokens: reasoning },
    }
    const { outputTokens = 0 } = countsIn(counts)
    const reasoningTokens = Math.min(reasoning, outputTokens)
    expect(chatUsage(usage)).toEqual({ ...usageOf(counts), reasoningTokens })
  })

  test('tokens that are written to a cache count like tokens that are read from it', () => {
    const details = { cached_tokens: 30, cache_write_tokens: 20 }
    expect(chatUsage({ ...SAID, total_tokens: 170, prompt_tokens_details: details })).toEqual(
      usageOf('100 in, 30 read, 20 written, 20 out'),
    )
  })
})

describe('cache writes are counted under each name that a server has for them', () => {
  const ALIBABA = {
    cached_tokens: 10,
    cache_creation_input_tokens: 60,
    cache_creation: { ephemeral_5m_input_tokens: 60 },
    cache_type: 'ephemeral',
  }
  const LITELLM = {
    cached_tokens: 10,
    cache_creation_tokens: 60,
    cache_creation_token_details: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 20 },
  }

  test.each<[string, object, string]>([
    ['Alibaba', { ...SAID, prompt_tokens_details: ALIBABA }, '30 in, 10 read, 60 written, 20 out'],
    [
      'LiteLLM, with lifetimes',
      { ...SAID, cache_creation_input_tokens: 60, prompt_tokens_details: LITELLM },
      '30 in, 10 read, 40 written, 20 written long, 20 out',
    ],
    [
      'LiteLLM, beside the details',
      { ...SAID, cache_creation_input_tokens: 60, prompt_tokens_details: { cached_tokens: 10 } },
      '30 in, 10 read, 60 written, 20 out',
    ],
    [
      'lifetimes alone',
      {
        ...SAID,
        prompt_tokens_details: {
          cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 15 },
        },
      },
      '80 in, 5 written, 15 written long, 20 out',
    ],
    [
      'a zero under the name of OpenAI, and more under another',
      { ...SAID, prompt_tokens_details: { ...LITELLM, cache_write_tokens: 0 } },
      '30 in, 10 read, 40 written, 20 written long, 20 out',
    ],
    [
      'more of the longest lifetime than was written, and more written than there is prompt',
      {
        ...SAID,
        cache_creation_input_tokens: 900,
        cache_creation: { ephemeral_1h_input_tokens: 990 },
      },
      '100 written long, 20 out',
    ],
  ])('%s', (_, usage, counts) => {
    expect(chatUsage(usage)).toEqual(usageOf(counts))
  })
})

test('reasoning is counted outside of the details too, where SGLang has it', () => {
  const usage = { ...SAID, reasoning_tokens: 15, completion_tokens_details: null }
  expect(chatUsage(usage)).toEqual(usageOf('100 in, 20 out, 15 reasoning'))
})

describe('the last counts of a chat stream', () => {
  const counts = { prompt_tokens: 30, completion_tokens: 7, total_tokens: 37 }
  const counted = usageOf('30 in, 7 out')

  type Chunk = readonly [choice: object | null, members?: object]

  /** The report of these chunks, of which each has one choice and other members. */
  function reportOf(...chunks: readonly Chunk[]): Reported {
    const observer = wire(openaiCompatible, 'chat').observeStream({})
    for (const [choice, members] of chunks) {
      const choices = choice === null ? [] : [{ index: 0, finish_reason: null, ...choice }]
      const data = JSON.stringify({ object: 'chat.completion.chunk', choices, ...members })
      observer.onEvent(eventOf(data, null))
    }
    return observer.reported()
  }

  const text = { delta: { content: 'Hello there.' } }
  const end = { delta: {}, finish_reason: 'stop' }

  test('are those of the whole answer if they come with its end, even if the server never sends [DONE]', () => {
    expect(reportOf([text], [end, { usage: counts }])).toMatchObject({
      usage: counted,
      countsAreCost: true,
    })
    expect(reportOf([{ ...text, finish_reason: 'stop' }, { usage: counts }])).toMatchObject({
      usage: counted,
      countsAreCost: true,
    })
  })

  test.each([null, '', 'error'])(
    'are not those of the whole answer with %j for its end',
    (none) => {
      const { usage, countsAreCost } = reportOf([
        { ...text, finish_reason: none },
        { usage: counts },
      ])
      expect([usage, countsAreCost]).toEqual([counted, undefined])
    },
  )

  test('are not those of the whole answer if more text follows, as of another choice', () => {
    const { countsAreCost } = reportOf([end, { usage: counts }], [{ ...text, index: 1 }])
    expect(countsAreCost).toBeUndefined()
  })

  test('may be in the only choice, as Moonshot sends them', () => {
    expect(reportOf([text], [{ ...end, usage: counts }])).toMatchObject({
      usage: counted,
      countsAreCost: true,
    })
    const elsewhere = { ...counts, prompt_tokens: 40, total_tokens: 47 }
    expect(reportOf([{ ...end, usage: counts }], [null, { usage: elsewhere }]).usage).toEqual(
      usageOf('40 in, 7 out'),
    )
  })

  test('may be in `x_groq`, as Groq sends them if it is not asked for usage', () => {
    const groq = { x_groq: { id: 'req_1', usage: counts } }
    expect(reportOf([text, { x_groq: { id: 'req_1' } }], [end, groq])).toMatchObject({
      usage: counted,
      countsAreCost: true,
    })
    expect(reportOf([text], [{ ...text, index: 1 }], [end, groq]).usage).toEqual(counted)
    const asked = { usage: { ...counts, completion_tokens: 9, total_tokens: 39 } }
    expect(reportOf([end, groq], [null, asked]).usage).toEqual(usageOf('30 in, 9 out'))
  })

  const secondEnd = { ...end, index: 1 }
  const own = { usage: { ...counts, completion_tokens: 2, total_tokens: 32 } }

  const ends = {
    choices: [
      { index: 0, ...end, ...own },
      { ...secondEnd, ...own },
    ],
  }

  test.each<[string, readonly Chunk[]]>([
    [
      'one choice ends before the other begins',
      [[{ ...end, ...own }], [{ ...text, index: 1 }], [{ ...secondEnd, ...own }]],
    ],
    [
      'they end together',
      [[text], [{ ...text, index: 1 }], [{ ...end, ...own }], [{ ...secondEnd, ...own }]],
    ],
    ['a chunk has both', [[text, ends]]],
  ])('of each of several choices are not those of the answer, if %s', (_, chunks) => {
    expect(reportOf(...chunks).usage).toBeNull()
    expect(reportOf(...chunks, [null, { usage: counts }]).usage).toEqual(counted)
  })
})

describe('counts of messages that contradict each other', () => {
  const SENT = { input_tokens: 10, output_tokens: 20 }

  test.each<[string, object, string]>([
    [
      'more written for an hour than written',
      {
        ...SENT,
        cache_creation_input_tokens: 30,
        cache_creation: { ephemeral_1h_input_tokens: 900, ephemeral_5m_input_tokens: 0 },
      },
      '10 in, 30 written long, 20 out',
    ],
    [
      'more thinking than output',
      { ...SENT, output_tokens_details: { thinking_tokens: 5_000 } },
      '10 in, 20 out, 20 reasoning',
    ],
  ])('%s', (_, usage, counts) => {
    expect(messagesUsage(usage)).toEqual(usageOf(counts))
  })
})
