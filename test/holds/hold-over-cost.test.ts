import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { expect, test } from 'vitest'
import { chat } from '../../src/formats/chat.ts'
import { messages } from '../../src/formats/messages.ts'
import { responses } from '../../src/formats/responses.ts'
import { callOf } from '../../src/formats/testing/exchange.ts'
import { sizeHold } from '../../src/journey/hold-size/hold.ts'
import { offerWith, usd } from '../../src/journey/hold-size/testing/offers.ts'

/** How far holds are above costs: the table of docs/decisions/text-token-bound.md. */

const read = (path: string): string =>
  readFileSync(join(import.meta.dirname, '../..', path), 'utf8')
const prose =
  read('docs/decisions/hold-before-forward.md') + read('docs/decisions/streams-left-early.md')
const code = read('src/journey/hold-size/hold.ts')
const PROMPTS = {
  '100 words that are rare': ' lorem ipsum dolor sit amet consectetur'.repeat(7),
  'prose of 0.5 kB': prose.slice(0, 500),
  'prose of 8 kB': prose.repeat(2).slice(0, 8_000),
  'code of 8 kB': code.slice(0, 8_000),
} as const

/** OpenAI documents three tokens a message, and four around all of them. */
const MESSAGE_TOKENS = 7
const ANSWER_TOKENS = 50
const MODEL = 'acme/some-model'
const asked = (content: string) => ({ model: MODEL, messages: [{ role: 'user', content }] })

const FORMATS = [
  ['chat', (text: string) => callOf(chat, { ...asked(text), max_tokens: ANSWER_TOKENS })],
  ['messages', (text: string) => callOf(messages, { ...asked(text), max_tokens: ANSWER_TOKENS })],
  [
    'responses',
    (text: string) =>
      callOf(responses, { model: MODEL, input: text, max_output_tokens: ANSWER_TOKENS }),
  ],
] as const

test('a hold is above the cost, and below four times the cost of ordinary prompts', () => {
  const offer = offerWith({ input: usd('0.00001'), output: usd('0.00005') }, { feeBasisPoints: 0 })
  for (const [format, callFor] of FORMATS) {
    for (const [name, text] of Object.entries(PROMPTS)) {
      const promptTokens = encode(text).length + MESSAGE_TOKENS
      const costMicros = promptTokens * 10 + ANSWER_TOKENS * 50
      const { neededMicros } = sizeHold(callFor(text), offer)
      const ratio = neededMicros / costMicros
      console.log(
        `${format}: ${name}: ${promptTokens} tokens, cost ${costMicros}, hold ${neededMicros}, ${ratio.toFixed(2)}`,
      )
      expect(ratio).toBeGreaterThan(1)
      expect(ratio).toBeLessThan(4)
    }
  }
})
