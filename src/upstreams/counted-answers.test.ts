import { expect, test } from 'vitest'
import { usageOf } from '../vocabulary/testing/token-usage.ts'
import { openai } from './openai/openai.ts'
import { openaiCompatible } from './openai-compatible/openai-compatible.ts'
import { answerOf } from './openrouter/testing/exchange.ts'
import { wire } from './testing/wires.ts'

/* Whole answers of providers that bill by their counts are believed as far as streams are. */

const NOTHING = { usage: null, costUsd: null, generationId: null }
const chat = wire(openaiCompatible, 'chat')
const prompt = { prompt_tokens: 30 }
const ofPrompt = usageOf('30 in, 0 out')

test('an answer with counts of only its prompt is not counted, unless it is of embeddings', () => {
  const answer = answerOf({ usage: prompt })
  expect(chat.readAnswer(answer).reported).toEqual({ ...NOTHING, usage: ofPrompt })
  const counted = { ...NOTHING, usage: ofPrompt, countsAreCost: true }
  expect(wire(openaiCompatible, 'embeddings').readAnswer(answer).reported).toEqual(counted)
  const total = answerOf({ usage: { ...prompt, total_tokens: 30 } })
  expect(chat.readAnswer(total).reported).toEqual(counted)
})

test.each([{ total_tokens: 30 }, { total_tokens: 30, prompt_tokens: 0 }])(
  'the total of embeddings is their prompt, where nothing else is counted: %j',
  (usage) => {
    const counted = { ...NOTHING, usage: ofPrompt, countsAreCost: true }
    for (const dialect of [openai, openaiCompatible]) {
      const embeddings = wire(dialect, 'embeddings')
      expect(embeddings.readAnswer(answerOf({ usage })).reported).toEqual(counted)
    }
    expect(chat.readAnswer(answerOf({ usage })).reported.countsAreCost).toBeUndefined()
  },
)

test('an answer with counts of its prompt and none of its text is estimated like a stream', () => {
  const ofCounts = (usage: object, choice: object = { message: { content: 'Hello there.' } }) =>
    answerOf({ choices: [choice], usage })
  const partly = { ...NOTHING, usage: ofPrompt }
  const estimated = { ...partly, uncountedTokens: 3 }
  for (const usage of [
    { ...prompt, completion_tokens: 0 },
    { ...prompt, completion_tokens: 0, total_tokens: 30 },
    { ...prompt, completion_tokens: -7 },
    { ...prompt, completion_tokens: '7' },
    { ...prompt, completion_tokens: 7.5 },
    { ...prompt, completion_tokens: 1e308 },
    { ...prompt, total_tokens: 30 },
    prompt,
  ]) {
    expect(chat.readAnswer(ofCounts(usage)).reported, JSON.stringify(usage)).toEqual(estimated)
    // OpenAI counts: missing counts are not guessed.
    expect(wire(openai, 'chat').readAnswer(ofCounts(usage)).reported).toEqual(partly)
  }
  const called = { message: { tool_calls: [{ function: { name: 'f', arguments: '{"a":1234}' } }] } }
  const none = { ...prompt, completion_tokens: 0 }
  expect(chat.readAnswer(ofCounts(none, called)).reported).toEqual(estimated)
})

test.each([
  ['completions', { choices: [{ text: 'Hello there.' }] }],
  [
    'responses',
    { output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hello there.' }] }] },
  ],
  ['messages', { content: [{ type: 'text', text: 'Hello there.' }] }],
  ['messages', { content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 'bcd' } }] }],
] as const)('an answer of %s with text %j and no count of it is estimated', (format, text) => {
  const usage = { prompt_tokens: 30, completion_tokens: 0, input_tokens: 30, output_tokens: 0 }
  const { reported } = wire(openaiCompatible, format).readAnswer(answerOf({ ...text, usage }))
  expect(reported).toMatchObject({ usage: ofPrompt, uncountedTokens: expect.any(Number) })
  expect(reported.countsAreCost).toBeUndefined()
})

test('an answer without text can have a count of zero', () => {
  const answer = answerOf({
    choices: [{ message: { role: 'assistant', content: '' } }],
    usage: { ...prompt, completion_tokens: 0 },
  })
  const counted = { ...NOTHING, usage: ofPrompt, countsAreCost: true }
  expect(chat.readAnswer(answer).reported).toEqual(counted)
  expect(wire(openai, 'chat').readAnswer(answer).reported).toEqual(counted)
})
