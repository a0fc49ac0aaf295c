import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chat } from '../../src/formats/chat.ts'
import { callOf } from '../../src/formats/testing/exchange.ts'
import { offerWith } from '../../src/journey/hold-size/testing/offers.ts'
import { sizePrompt } from '../../src/journey/hold-size/token-size.ts'
import { ENGLISH_PROSE } from '../../src/tokens/testing/prose.ts'
import { TOKENIZERS } from '../../src/tokens/testing/tokenizers.ts'
import { OPENAI_ADDITIONS } from '../../src/upstreams/openai/openai.ts'

/* The prompt of a call to OpenAI, as its cookbook counts it, against the tokens that a hold is sized by. */

const OFFER = offerWith({}, { promptAdditions: OPENAI_ADDITIONS })
const words = ENGLISH_PROSE.join(' ').split(' ')
const text = fc.oneof(
  fc.array(fc.constantFrom(...words), { maxLength: 60 }).map((all) => all.join(' ')),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
)
const name = fc.stringMatching(/^[a-z_]{1,20}$/)
const message = fc.record({ role: fc.constantFrom('system', 'user', 'assistant'), content: text })
const tool = fc.record({
  name,
  description: text,
  properties: fc.dictionary(name, fc.record({ type: fc.constant('string'), description: text })),
})
type Tool = typeof tool extends fc.Arbitrary<infer Value> ? Value : never

/** By the cookbook: 7 around a function, 3 around its properties and each of them, 12 around all. */
function toolTokens(tools: readonly Tool[], count: (text: string) => number): number {
  if (tools.length === 0) return 0
  return tools.reduce((sum, { name, description, properties }) => {
    const each = Object.entries(properties).map(
      ([key, { type, description }]) => 3 + count(`${key}:${type}:${description}`),
    )
    return sum + 7 + 3 + count(`${name}:${description}`) + each.reduce((all, one) => all + one, 0)
  }, 12)
}

test.each(TOKENIZERS.filter(({ name }) => name === 'o200k' || name === 'cl100k'))(
  'no prompt of messages and tools has more $name tokens than its hold covers',
  ({ countTokens }) => {
    fc.assert(
      fc.property(
        fc.array(message, { minLength: 1, maxLength: 12 }),
        fc.array(tool, { maxLength: 4 }),
        (messages, tools) => {
          const own = messages.map(
            ({ role, content }) => 3 + countTokens(role) + countTokens(content),
          )
          const counted = own.reduce((sum, each) => sum + each, 3) + toolTokens(tools, countTokens)
          const call = callOf(chat, {
            model: OFFER.modelId,
            messages,
            tools: tools.map(({ properties, ...rest }) => ({
              type: 'function',
              function: { ...rest, parameters: { type: 'object', properties } },
            })),
          })
          expect(sizePrompt(call, OFFER).textTokens).toBeGreaterThanOrEqual(counted)
        },
      ),
      { numRuns: 500 },
    )
  },
)
