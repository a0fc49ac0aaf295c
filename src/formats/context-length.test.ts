import { expect, test } from 'vitest'
import { problemForProviderError } from './provider-error.ts'
import { NOTHING_SENT } from './sent-facts.ts'

/** The code and the message that clients get for a provider's 400 with these words. */
function refusalOf(message: string, kinds: readonly string[] = []) {
  const error = { httpStatus: 400, kinds, messagesType: null, message }
  const problem = problemForProviderError(error, { retryAfter: undefined, sent: NOTHING_SENT })
  return { code: problem.code, message: problem.message }
}

// As these vendors and servers word it.
test.each([
  ['Anthropic', 'prompt is too long: 204813 tokens > 200000 maximum'],
  ['Anthropic', 'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000'],
  ['OpenAI', "This model's maximum context length is 8192 tokens. Please reduce the length."],
  ['OpenAI', 'Your input exceeds the context window of this model.'],
  [
    'Gemini',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  ],
  ['xAI', "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
  ['Moonshot', 'Invalid request: Your request exceeded model token limit: 131072'],
  ['Z.ai', 'Prompt exceeds max length'],
  ['vLLM', 'The decoder prompt (length 4122) is longer than the maximum model length of 4096.'],
  ['SGLang', "The input (5000 tokens) is longer than the model's context length (4096 tokens)."],
  ['llama.cpp', 'request (5000 tokens) exceeds the available context size (4096 tokens)'],
])('an overlong prompt is recognized by the words of %s: %s', (_, message) => {
  expect(refusalOf(message)).toEqual({
    code: 'context_length_exceeded',
    message: expect.stringMatching(/^prompt is too long/),
  })
})

test.each(['context_length_exceeded', 'exceed_context_size_error'])(
  'an overlong prompt is recognized by the kind %s',
  (kind) => expect(refusalOf('', [kind]).code).toBe('context_length_exceeded'),
)

test.each([
  ['max_tokens: 300000 > 64000, which is the maximum allowed number of output tokens'],
  ['`max_tokens` is too large: the model supports at most 4096 completion tokens'],
  ['`stop` exceeds max length'],
])('a value that is too long is not an overlong prompt: %s', (message) => {
  expect(refusalOf(message).code).toBe('invalid_parameter')
})
