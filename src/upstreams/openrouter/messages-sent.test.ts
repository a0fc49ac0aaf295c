import { describe, expect, test } from 'vitest'
import { messages } from '../../formats/messages.ts'
import { sentBody } from './testing/exchange.ts'

describe('the body that is sent upstream', () => {
  test('a body that needs no change is sent unchanged, without a cap', () => {
    const source = '{"model":"acme/sage-pro","messages":[],"stream":true}'
    expect(sentBody(messages, source, { outputCapTokens: 4_096 })).toBe(source)
  })

  const sent = (tools: string, rest = '') =>
    sentBody(messages, `{"model":"acme/sage-pro","messages":[],"tools":[${tools}]${rest}}`)
  const TYPE = '"type":"web_search_20250305","name":"web_search"'

  test.each([
    ['"max_uses":500', '"max_uses":30'],
    ['"max_uses": 31 , "z":1.0', '"max_uses": 30 , "z":1.0'],
    ['"max_uses":0', '"max_uses":30'],
    ['"max_uses":-1', '"max_uses":30'],
    ['"max_uses":2.5', '"max_uses":30'],
    ['"max_uses":"5"', '"max_uses":30'],
    ['"max_uses":null', '"max_uses":30'],
    ['"max_uses":[1]', '"max_uses":30'],
    ['"max_uses":1e999', '"max_uses":30'],
    ['"max_uses":30', '"max_uses":30'],
    ['"max_uses":5', '"max_uses":5'],
    ['"z":1.0', '"z":1.0,"max_uses":30'],
  ])('a search tool with %s is sent with %s', (given, capped) => {
    const before = '{"name":"f","input_schema":{"max_uses":99}}'
    const after = '{"name":"g","input_schema":{},"cache_control":{"type":"ephemeral"}}'
    expect(sent(`${before},{${TYPE},${given}}, ${after}`)).toBe(
      `{"model":"acme/sage-pro","messages":[],"tools":[${before},{${TYPE},${capped}}, ${after}]}`,
    )
  })

  test('a search tool without a date is capped like a dated one', () => {
    const undated = '"type":"web_search","name":"web_search"'
    expect(sent(`{${undated}},{${undated},"max_uses":500}`)).toBe(
      `{"model":"acme/sage-pro","messages":[],"tools":[{${undated},"max_uses":30},{${undated},"max_uses":30}]}`,
    )
  })

  test.each([
    ['"max_uses":99,"parameters":{"max_uses":1}', '"max_uses":2,"parameters":{"max_uses":1}'],
    ['"max_uses":1,"parameters":{"max_uses":99}', '"max_uses":1,"parameters":{"max_uses":2}'],
    ['"max_uses":"9","parameters":{"max_uses":null}', '"max_uses":2,"parameters":{"max_uses":2}'],
  ])('both caps of one search tool are lowered: %s', (given, capped) => {
    for (const type of ['"type":"openrouter:web_search"', TYPE]) {
      expect(sent(`{${type},${given}}`, ',"max_tool_calls":2')).toBe(
        `{"model":"acme/sage-pro","messages":[],"tools":[{${type},${capped}}],"max_tool_calls":2}`,
      )
    }
  })

  test.each([
    ['"max_uses":5', ',"max_tool_calls":4', '"max_uses":4'],
    ['"max_uses":3', ',"max_tool_calls":4', '"max_uses":3'],
    ['"max_uses":50', ',"max_tool_calls":400', '"max_uses":30'],
    ['"max_uses":50', ',"max_tool_calls":0', '"max_uses":0'],
    ['"z":1.0', ',"max_tool_calls":0', '"z":1.0,"max_uses":0'],
    ['"max_uses":50', ',"max_tool_calls":4,"stop_server_tools_when":[]', '"max_uses":30'],
  ])('a search tool with %s beside %s is sent with %s', (given, rest, capped) => {
    expect(sent(`{${TYPE},${given}}`, rest)).toBe(
      `{"model":"acme/sage-pro","messages":[],"tools":[{${TYPE},${capped}}]${rest}}`,
    )
  })

  test.each([
    ['', ',"parameters":{"max_uses":30}'],
    [',"parameters":null', ',"parameters":{"max_uses":30}'],
    [',"parameters":{}', ',"parameters":{"max_uses":30}'],
    [',"parameters":{"max_uses":90,"mode":"x"}', ',"parameters":{"max_uses":30,"mode":"x"}'],
    [',"parameters":{"max_uses":2}', ',"parameters":{"max_uses":2}'],
  ])("the upstream's own search tool with %s is sent with %s", (given, capped) => {
    expect(sent(`{"type":"openrouter:web_search"${given}}`)).toBe(
      `{"model":"acme/sage-pro","messages":[],"tools":[{"type":"openrouter:web_search"${capped}}]}`,
    )
  })
})
