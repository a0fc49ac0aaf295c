import { describe, expect, test } from 'vitest'
import { openaiCompatible } from './openai-compatible/openai-compatible.ts'
import { answerOf, usageOf } from './openrouter/testing/exchange.ts'
import { wire } from './testing/wires.ts'

type Counts = Parameters<typeof usageOf>[0]

/** The usage that is read from these counts of chat. */
function chatUsage(usage: object) {
  return wire(openaiCompatible, 'chat').readAnswer(answerOf({ usage })).reported.usage
}

function messagesUsage(usage: object) {
  return wire(openaiCompatible, 'messages').readAnswer(answerOf({ usage })).reported.usage
}

const SAID = { prompt_tokens: 100, completion_tokens: 20 }

describe('counts of chat that contradict each other', () => {
  test.each<[string, object, Counts]>([
    [
      'more read from a cache than there is prompt: it is the whole prompt',
      { ...SAID, prompt_tokens_details: { cached_tokens: 150 } },
      { cacheReadTokens: 100, outputTokens: 20 },
    ],
    [
      'the same, and a total that leaves no room for both',
      { ...SAID, total_tokens: 120, prompt_tokens_details: { cached_tokens: 150 } },
      { cacheReadTokens: 100, outputTokens: 20 },
    ],
    [
      'the same, and a total with both: the prompt was counted without them',
      { ...SAID, total_tokens: 270, prompt_tokens_details: { cached_tokens: 150 } },
      { inputTokens: 100, cacheReadTokens: 150, outputTokens: 20 },
    ],
    [
      'more written to a cache than there is prompt',
      { ...SAID, prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 900 } },
      { cacheReadTokens: 60, cacheWriteTokens: 40, outputTokens: 20 },
    ],
    [
      'more reasoning than output',
      { ...SAID, completion_tokens_details: { reasoning_tokens: 5_000 } },
      { inputTokens: 100, outputTokens: 20, reasoningTokens: 20 },
    ],
    [
      'more images and reasoning than output',
      { ...SAID, completion_tokens_details: { reasoning_tokens: 15, image_tokens: 15 } },
      { inputTokens: 100, outputTokens: 20, reasoningTokens: 15, imageOutputTokens: 5 },
    ],
    [
      'a total above both: the output was counted without its reasoning',
      { ...SAID, total_tokens: 170 },
      { inputTokens: 100, outputTokens: 70 },
    ],
    [
      'a total below both says nothing',
      { ...SAID, total_tokens: 7 },
      { inputTokens: 100, outputTokens: 20 },
    ],
    [
      'a total and no prompt: the rest is the prompt',
      { completion_tokens: 20, total_tokens: 120 },
      { inputTokens: 100, outputTokens: 20 },
    ],
  ])('%s', (_, usage, counts) => {
    expect(chatUsage(usage)).toEqual(usageOf(counts))
  })

  test.each([-1, 1.5, '20', 1e308, 1e15, null, true, [20], { tokens: 20 }])(
    'a count that is none, as %j, is left out',
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
      ).toEqual(usageOf({ inputTokens: 100, outputTokens: 20 }))
      expect(chatUsage({ prompt_tokens: none, completion_tokens: 20 })).toBeNull()
    },
  )
})

describe('cached tokens beside the prompt, and reasoning beside the output, are told by the total alone', () => {
  /** Of a prompt of 100 and an output of 20. By position: cached, reasoning, total. */
  test.each<[string, [number, number, number], Counts]>([
    ['both within', [60, 15, 120], { inputTokens: 40, cacheReadTokens: 60, outputTokens: 20 }],
    ['cached beside', [60, 15, 180], { inputTokens: 100, cacheReadTokens: 60, outputTokens: 20 }],
    [
      'as many as the prompt',
      [100, 0, 220],
      { inputTokens: 100, cacheReadTokens: 100, outputTokens: 20 },
    ],
    ['reasoning beside', [60, 15, 135], { inputTokens: 40, cacheReadTokens: 60, outputTokens: 35 }],
    ['both beside', [60, 15, 195], { inputTokens: 100, cacheReadTokens: 60, outputTokens: 35 }],
    [
      'as many of either: reasoning',
      [60, 60, 180],
      { inputTokens: 40, cacheReadTokens: 60, outputTokens: 80 },
    ],
    [
      'neither: output that is not told',
      [60, 15, 150],
      { inputTokens: 40, cacheReadTokens: 60, outputTokens: 50 },
    ],
    [
      'more cached than prompt, beside',
      [150, 15, 270],
      { inputTokens: 100, cacheReadTokens: 150, outputTokens: 20 },
    ],
    [
      'the same, and reasoning',
      [150, 15, 285],
      { inputTokens: 100, cacheReadTokens: 150, outputTokens: 35 },
    ],
    [
      'more cached than prompt, without room',
      [150, 15, 269],
      { cacheReadTokens: 100, outputTokens: 169 },
    ],
    ['nothing cached', [0, 15, 135], { inputTokens: 100, outputTokens: 35 }],
  ])('%s', (_, [cached, reasoning, total], counts) => {
    const usage = {
      ...SAID,
      total_tokens: total,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens_details: { reasoning_tokens: reasoning },
    }
    expect(chatUsage(usage)).toEqual(
      usageOf({ ...counts, reasoningTokens: Math.min(reasoning, counts.outputTokens ?? 0) }),
    )
  })

  test('tokens that are written to a cache count as those that are read from it', () => {
    const details = { cached_tokens: 30, cache_write_tokens: 20 }
    expect(chatUsage({ ...SAID, total_tokens: 170, prompt_tokens_details: details })).toEqual(
      usageOf({ inputTokens: 100, cacheReadTokens: 30, cacheWriteTokens: 20, outputTokens: 20 }),
    )
  })
})

describe('counts of messages that contradict each other', () => {
  const SENT = { input_tokens: 10, output_tokens: 20 }

  test.each<[string, object, Counts]>([
    [
      'more written for an hour than written',
      {
        ...SENT,
        cache_creation_input_tokens: 30,
        cache_creation: { ephemeral_1h_input_tokens: 900, ephemeral_5m_input_tokens: 0 },
      },
      { inputTokens: 10, cacheWriteLongTokens: 30, outputTokens: 20 },
    ],
    [
      'more thinking than output',
      { ...SENT, output_tokens_details: { thinking_tokens: 5_000 } },
      { inputTokens: 10, outputTokens: 20, reasoningTokens: 20 },
    ],
  ])('%s', (_, usage, counts) => {
    expect(messagesUsage(usage)).toEqual(usageOf(counts))
  })
})
