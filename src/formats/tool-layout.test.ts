import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonValue } from '../json/walk.ts'
import { TOKENIZERS } from '../tokens/testing/tokenizers.ts'
import { chat } from './chat.ts'
import { messages } from './messages.ts'
import { callOf, LEAST_BODIES } from './testing/exchange.ts'

/* Templates of chat print the definitions of tools again, with spaces or one value a line: that may be more tokens than the body has. */

/** As most templates print JSON: a space after each comma and colon. */
function spaced(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isArray(value)) return `[${value.map(spaced).join(', ')}]`
  const members = Object.entries(value).map(
    ([name, of]) => `${JSON.stringify(name)}: ${spaced(of)}`,
  )
  return `{${members.join(', ')}}`
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}

const nested = (value: JsonValue, depth: number): JsonValue =>
  depth === 0 ? value : nested([value], depth - 1)
const many = (value: JsonValue): JsonValue => new Array<JsonValue>(300).fill(value)

const tokensOf = (format: typeof chat, members: object): number =>
  callOf(format, { ...LEAST_BODIES[format.endpoint], ...members }).textTokens

describe.each(TOKENIZERS)(
  'the definitions of tools are held as $name counts them',
  ({ countTokens }) => {
    const expectHeld = (parameters: JsonValue): void => {
      const tool = { type: 'function', function: { name: 'f', parameters } }
      const heldTokens = tokensOf(chat, { tools: [tool] })
      expect(countTokens(spaced(tool))).toBeLessThanOrEqual(heldTokens)
      expect(countTokens(JSON.stringify(tool, null, 4))).toBeLessThanOrEqual(heldTokens)
    }

    test.each<[string, JsonValue]>([
      ['numbers', { enum: many(0) }],
      ['lists', { enum: many([0]) }],
      ['objects', { enum: many({ a: 0 }) }],
      ['short texts', { enum: many('a') }],
      ['numbers, deep', nested(many(0), 60)],
      ['members', Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`${at}`, at]))],
    ])('%s', (_, parameters) => {
      expectHeld(parameters)
    })

    test('any', () => {
      const anyValue = fc.jsonValue({ maxDepth: 5 })
      fc.assert(fc.property(anyValue, (value) => expectHeld(JSON.parse(JSON.stringify(value)))))
    })

    test('and so are the arguments of a call that is sent back', () => {
      const input = { list: many(0) }
      const call = {
        id: 'a',
        type: 'function',
        function: { name: 'f', arguments: JSON.stringify(input) },
      }
      const said = tokensOf(chat, { messages: [{ role: 'assistant', tool_calls: [call] }] })
      expect(countTokens(spaced(input))).toBeLessThanOrEqual(said)
      const content = [{ type: 'tool_use', id: 'a', name: 'f', input }]
      const used = tokensOf(messages, { messages: [{ role: 'assistant', content }] })
      expect(countTokens(spaced(input))).toBeLessThanOrEqual(used)
    })
  },
)
