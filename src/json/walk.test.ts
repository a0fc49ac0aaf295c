import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isJsonObject, type JsonObject, type JsonValue, walkJson } from './walk.ts'

function walked(root: JsonObject): readonly [string, JsonObject][] {
  const seen: [string, JsonObject][] = []
  walkJson(root, (node, path) => seen.push([path(), node]))
  return seen
}

const pathsIn = (root: JsonObject) => walked(root).map(([path]) => path)

describe('a walk', () => {
  test('visits every object in document order with its place', () => {
    const inner = { type: 'text' }
    const root = { a: [inner, 1, [{}], []], b: { c: { d: [] } }, e: null, f: 'x' }
    expect(walked(root)).toEqual([
      ['', root],
      ['a[0]', inner],
      ['a[2][0]', {}],
      ['b', root.b],
      ['b.c', root.b.c],
    ])
  })

  test('visits members named like inherited properties', () => {
    const root: JsonValue = JSON.parse('{"__proto__":{"constructor":[{"toString":{}}]}}')
    if (!isJsonObject(root)) throw new TypeError('not an object')
    expect(pathsIn(root)).toEqual([
      '',
      '__proto__',
      '__proto__.constructor[0]',
      '__proto__.constructor[0].toString',
    ])
  })

  test('skips only schemas and the input of tool calls', () => {
    const root = {
      tools: [
        { type: 'function', function: { name: 'f', parameters: { a: {} } } },
        { type: 'function', name: 'g', parameters: { a: {} } },
        { name: 'h', input_schema: { a: {} } },
        { type: 'web_search', name: 'w', parameters: { a: {} } },
      ],
      response_format: { type: 'json_schema', json_schema: { schema: { a: {} }, other: {} } },
      text: { format: { type: 'json_schema', schema: { a: {} } } },
      messages: [{ content: [{ type: 'tool_use', input: { a: {} } }] }],
      input: { a: {} },
      schema: { a: {} },
    }
    expect(pathsIn(root)).toEqual([
      '',
      'tools[0]',
      'tools[0].function',
      'tools[1]',
      'tools[2]',
      'tools[3]',
      'tools[3].parameters',
      'tools[3].parameters.a',
      'response_format',
      'response_format.json_schema',
      'response_format.json_schema.other',
      'text',
      'text.format',
      'messages[0]',
      'messages[0].content[0]',
      'input',
      'input.a',
      'schema',
      'schema.a',
    ])
  })

  test('gives no content back in a place, however odd or deep', () => {
    expect(pathsIn({ 'a secret': { ['k'.repeat(65)]: {} } })).toEqual(['', '…', '….…'])
    const deep: JsonValue = JSON.parse(`${'{"a":'.repeat(100)}{}${'}'.repeat(100)}`)
    if (!isJsonObject(deep)) throw new TypeError('not an object')
    expect(pathsIn(deep).at(-1)).toBe(`a${'.a'.repeat(23)}…`)
  })

  test('descends through 100,000 objects and arrays', () => {
    const deep: JsonValue = JSON.parse(`${'{"a":['.repeat(100_000)}${']}'.repeat(100_000)}`)
    if (!isJsonObject(deep)) throw new TypeError('not an object')
    let visited = 0
    walkJson(deep, () => visited++)
    expect(visited).toBe(100_000)
  })

  test('of a random value visits the same values as a recursive walk', () => {
    const visit = (value: JsonValue, path: string): readonly [string, JsonObject][] => {
      if (Array.isArray(value)) return value.flatMap((item, i) => visit(item, `${path}[${i}]`))
      if (!isJsonObject(value)) return []
      const below = Object.entries(value).flatMap(([name, member]) =>
        visit(member, path === '' ? name : `${path}.${name}`),
      )
      return [[path, value], ...below]
    }
    const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom<JsonValue>(null, 1, 'x', true),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('value'), { noNullPrototype: true }),
      ),
    }))
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('a', 'b'), value, { noNullPrototype: true }),
        (root) => {
          expect(walked(root)).toEqual(visit(root, ''))
        },
      ),
      { numRuns: 500 },
    )
  })
})
