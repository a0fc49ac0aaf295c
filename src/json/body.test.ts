import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Problem } from '../vocabulary/problem.ts'
import { parseAnswer, parseJsonBody, parseModelAnswer } from './body.ts'
import { decimalAt, valueSource } from './edit.ts'
import {
  type JsonText,
  jsonObjectTexts,
  jsonTexts,
  meaningOf,
  meaningOfValue,
  printJson,
} from './testing/json-text.ts'
import type { JsonBody } from './walk.ts'

/** The bytes of the value at a path, as text; null: none is there. */
const sourceIn = (body: JsonBody, path: readonly string[]) =>
  valueSource(body, path)?.toString() ?? null
const parse = (text: string | Buffer) => parseJsonBody(Buffer.from(text))

/** The problem that a body is refused with. */
function refusalOf(text: string | Buffer): Problem {
  try {
    parse(text)
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
  throw new Error('the body was taken')
}

describe('a body', () => {
  test.each([
    ['', 'The body is empty: send a JSON object.'],
    ['{"a":', 'The body is not valid JSON: it ends too early.'],
    ['{"secret" 1}', 'The body is not valid JSON: see line 1, column 11.'],
    ['{\n"a": secret}', 'The body is not valid JSON: see line 2, column 6.'],
    [
      '{"a": "\\"}", "b":\n\t[1, -2.5e+3, true, []], "c":NaN}',
      'The body is not valid JSON: see line 2, column 30.',
    ],
    ['{"a":tru}', 'The body is not valid JSON: see line 1, column 6.'],
    ['{"a":}', 'The body is not valid JSON: see line 1, column 6.'],
    ['{"a":[1,]}', 'The body is not valid JSON: see line 1, column 9.'],
    ['{"a":[,1]}', 'The body is not valid JSON: see line 1, column 7.'],
    ['model=a', 'The body is not valid JSON: see line 1, column 1.'],
    ["{'a':1}", 'The body is not valid JSON: see line 1, column 2.'],
    [`{"a":"${'x'.repeat(300_000)}","b":NaN}`, 'The body is not valid JSON.'],
    ['{"a":1}}', 'The body is not valid JSON: see line 1, column 8.'],
    [
      '\ufeff{}',
      'The body begins with a byte order mark, which JSON does not have: send it without.',
    ],
    ['[1]', 'The body is JSON, but not an object.'],
    ['null', 'The body is JSON, but not an object.'],
    ['"secret"', 'The body is JSON, but not an object.'],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'The body is not valid UTF-8.'],
    // A surrogate written as UTF-8.
    [
      Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
      'The body is not valid UTF-8.',
    ],
  ])('%j is refused: %s', (text, message) => {
    const refusal = refusalOf(text)
    expect(refusal).toMatchObject({ code: 'invalid_json', message })
    expect(refusal.message).not.toContain('secret')
  })

  test('keeps its bytes and reads as JSON does', () => {
    const bytes = Buffer.from(' {"a": [1.0, "\\u00e9"], "__proto__": {"b": null}} ')
    const body = parseJsonBody(bytes)
    expect(body.bytes).toBe(bytes)
    expect(JSON.stringify(body.root)).toBe('{"a":[1,"é"],"__proto__":{"b":null}}')
  })

  test('may be 500 levels deep, with a duplicate at the bottom', () => {
    const nested = (inside: string) => `${'{"a":['.repeat(250)}${inside}${']}'.repeat(250)}`
    expect(parse(nested('1')).root).toBeDefined()
    expect(refusalOf(nested('{"b":1,"b":2}'))).toMatchObject({ code: 'invalid_json' })
  })

  test('is not misread by an engine that takes an escaped key for one that it has seen', () => {
    // `mode\` is as long as `model`, and starts as `mode\u006c` does in the source.
    parse('{"model":"a","mode\\\\":1}')
    expect(refusalOf('{"model":"cheap","mode\\u006c":"dear"}')).toMatchObject({ param: 'model' })
    expect(parse('{"models":"a","mode\\u006c":"b"}').root).toEqual({ models: 'a', model: 'b' })
    expect(parse('{"model":"a","\\"":1,"\\\\":2}').root['model']).toBe('a')
    // Read as a backslash the first time, the same key would be two.
    parse('{"y":"a","\\\\":0,"\\"":1}')
    expect(refusalOf('{"y":"a","\\"":0,"\\"":0}')).toMatchObject({ code: 'invalid_json' })
  })
})

describe('a member given twice', () => {
  const tool = (inside: string) => `{"tools":[{${inside}}]}`
  const twice = '{"a":1,"a":2}'
  test.each([
    ['at the top', '{"model":"a","model":"b"}', 'model'],
    ['by another spelling', '{"model":"a","\\u006dodel":"b"}', 'model'],
    ['with the same value', '{"model":"a","model":"a"}', 'model'],
    ['named like what objects inherit', '{"constructor":1,"constructor":2}', 'constructor'],
    ['named __proto__', '{"__proto__":1,"__proto__":{}}', '__proto__'],
    ['in an array', '{"messages":[{},{"role":"a","role":"b"}]}', 'messages[1].role'],
    ['far down', '{"a":{"b":[[{"c":{"d":1,"d":2}}]]}}', 'a.b[0][0].c.d'],
    ['around containers', '{"a":{"b":[1,{"c":2}],"x":1,"b":{}}}', 'a.b'],
    ['in a value that another one replaces', '{"a":{"b":1,"b":2},"a":3}', 'a'],
    ['under a key that is no plain name', '{"a b":{"secret key":1,"secret key":2}}', '….…'],
    [
      'in the parameters of a provider-run tool',
      tool(`"type":"web_search","parameters":${twice}`),
      'tools[0].parameters.a',
    ],
    ['in parameters beside no name', tool(`"parameters":${twice}`), 'tools[0].parameters.a'],
    ['in a tool', tool('"type":"function","type":"web_search","parameters":{}'), 'tools[0].type'],
    ['that is a schema', tool('"input_schema":{},"input_schema":{}'), 'tools[0].input_schema'],
    ['in a schema of no json_schema', `{"a":{"schema":${twice}}}`, 'a.schema.a'],
    [
      'in the input of a body that calls itself a tool',
      `{"type":"tool_use","input":${twice}}`,
      'input.a',
    ],
    ['in a string like any other', '{"a":{"b\\n":1,"b\\u000a":2}}', 'a.…'],
  ])('%s is refused and named', (_, text, param) => {
    expect(refusalOf(text)).toMatchObject({
      code: 'invalid_json',
      message: `The body has the field \`${param}\` twice.`,
      param,
    })
  })

  test.each([
    [
      'a function of chat',
      tool(`"type":"function","function":{"name":"f","parameters":{"x":${twice}}}`),
    ],
    ['a function of responses', tool(`"type":"function","name":"f","parameters":${twice}`)],
    ['a tool of messages', tool(`"name":"f","input_schema":${twice}`)],
    [
      'a JSON format of chat',
      `{"response_format":{"type":"json_schema","json_schema":{"schema":${twice}}}}`,
    ],
    [
      'a JSON format of responses',
      `{"text":{"format":{"type":"json_schema","schema":[${twice}]}}}`,
    ],
    [
      'the input of a tool call',
      `{"messages":[{"content":[{"type":"tool_use","input":${twice}}]}]}`,
    ],
  ])('is unchanged in %s', (_, text) => {
    expect(parse(text).root).toBeDefined()
  })

  test('is distinguished from the same name in two objects, in strings and in values', () => {
    expect(
      parse('{"a":{"a":"a"},"b":["a","a",{"a":"\\"a\\":1,\\"a\\":2"}],"c":"{\\"a\\":1}"}').root,
    ).toBeDefined()
  })
})

/** Whether some object of the text gives a name twice; the generator uses no names of schemas. */
function hasDuplicate(node: JsonText): boolean {
  if (node.kind === 'raw') return false
  if (node.kind === 'array') return node.items.some((item) => hasDuplicate(item.node))
  const names = node.items.map(({ name }) => name)
  return new Set(names).size < names.length || node.items.some((item) => hasDuplicate(item.node))
}

/** The text with one member of one of its objects repeated with another value. */
function withDuplicate(node: JsonText, choices: readonly number[]): JsonText {
  if (node.kind === 'raw' || node.items.length === 0) return node
  const [choice = 0, ...others] = choices
  const chosen = choice % (node.items.length + 1)
  if (node.kind === 'array') {
    const items = node.items.map((item, i) =>
      i === chosen ? { ...item, node: withDuplicate(item.node, others) } : item,
    )
    return { ...node, items }
  }
  const extra = node.items[(others[0] ?? 0) % node.items.length]
  if (chosen === node.items.length && extra !== undefined) {
    return { ...node, items: [...node.items, { ...extra, node: { kind: 'raw', source: '0' } }] }
  }
  const items = node.items.map((item, i) =>
    i === chosen ? { ...item, node: withDuplicate(item.node, others) } : item,
  )
  return { ...node, items }
}

describe('random bodies', () => {
  test('are read as they were meant', () => {
    fc.assert(
      fc.property(jsonObjectTexts, (text) => {
        const { root } = parse(printJson(text))
        expect(JSON.stringify(meaningOfValue(root))).toBe(JSON.stringify(meaningOf(text)))
      }),
      { numRuns: 1_000 },
    )
  })

  test('are refused exactly if a member occurs twice', () => {
    let duplicates = 0
    fc.assert(
      fc.property(jsonObjectTexts, fc.array(fc.nat(), { maxLength: 6 }), (text, choices) => {
        const spoilt = withDuplicate(text, choices)
        const isRefused = hasDuplicate(spoilt)
        if (isRefused) duplicates++
        const read = () => parse(printJson(spoilt))
        if (isRefused) expect(read).toThrow(Problem)
        else expect(read).not.toThrow()
      }),
      { numRuns: 1_500 },
    )
    expect(duplicates).toBeGreaterThan(150)
  })
})

describe('an answer', () => {
  test('is read after a byte order mark, with the exact digits of its numbers', () => {
    const answer = parseAnswer(Buffer.from('\ufeff{"usage":{"cost":0.10}}'))
    expect(answer?.root).toEqual({ usage: { cost: 0.1 } })
    expect(answer && sourceIn(answer, ['usage', 'cost'])).toBe('0.10')
  })

  test.each(['', '[]', '1', 'null', '<html>', '{"a":1'])('%j is none', (text) => {
    expect(parseAnswer(Buffer.from(text))).toBeNull()
  })

  const MIB = 1024 * 1024
  test.each([
    ['with more values than can be read', `{"x":[${'{},'.repeat(5 * MIB)}{}]}`],
    ['that never ends to open', '['.repeat(8 * MIB)],
    ['deeper than can be read', `{"x":${'['.repeat(MIB)}${']'.repeat(MIB)}}`],
  ])('%s is none', (_, text) => {
    expect(parseAnswer(Buffer.from(text))).toBeNull()
  })

  test('may have the embeddings of 2,048 texts, which are never made a tree', () => {
    const embedding = JSON.stringify(Array.from({ length: 3_072 }, (_, i) => i / 4_096))
    const data = `{"embedding":${embedding}},`.repeat(2_047)
    const text = `{"data":[${data}{"embedding":${embedding}}],"usage":{"cost":0.5}}`
    const answer = parseModelAnswer(Buffer.from(text))
    expect(answer?.root).toEqual({ data: [], usage: { cost: 0.5 } })
    expect(answer && sourceIn(answer, ['usage', 'cost'])).toBe('0.5')
  })

  test.each([
    ['is cut off in its data', '{"usage":{},"data":[{"b64_json":"@"},{'],
    ['is cut off in a string', '{"usage":{},"data":["@'],
    ['is cut off after its data', '{"data":["@"],"usage":{'],
    ['goes on after its end', '{"data":["@"]} {}'],
    ['has no quotes around a key', '{"data":["@"],usage:{}}'],
    ['has a number that JSON lacks', '{"data":["@",NaN],"usage":{}}'],
    ['has an infinite number', '{"data":["@",[-Infinity]],"usage":{}}'],
    ['hides an error in its data', '{"data":["@",{"error":1,"error":null}]}'],
  ])('of a megabyte that %s is none', (_, text) => {
    expect(parseModelAnswer(Buffer.from(text.replace('@', 'A'.repeat(2 * MIB))))).toBeNull()
  })

  test('of a megabyte is read with all members but the elements of its data', () => {
    const filler = 'A\\"]'.repeat(MIB)
    const text = `{ "id" : "\u2019x", "data":\n[["${filler}"],{"data":[1]}] , "more":{"data":[2]},"data" : {"a":"${filler}"} , "usage":{"cost":1e-2}, "data2":[3]}`
    const answer = parseModelAnswer(Buffer.from(text))
    const expected = { id: '’x', data: [], more: { data: [2] }, usage: { cost: 0.01 }, data2: [3] }
    expect(answer?.root).toEqual(expected)
    expect(answer && sourceIn(answer, ['usage', 'cost'])).toBe('1e-2')
  })

  test('may give a member twice: the last one counts', () => {
    const answer = parseAnswer(
      Buffer.from('{"usage":{"cost":1},"usage":{"cost":0.50,"cost":2.50}}'),
    )
    expect(answer?.root).toEqual({ usage: { cost: 2.5 } })
    expect(answer && sourceIn(answer, ['usage', 'cost'])).toBe('2.50')
  })
})

describe("a number's source", () => {
  const source = (text: string, ...path: readonly string[]) => sourceIn(parse(text), path)

  test.each(['0', '-0.0', '1.50', '12345678901234567890.1', '1e-7', '1E+10'])(
    '%s is kept as it was written',
    (digits) => {
      expect(
        source(
          `{"x":[{"usage":{"cost":9}}], "usage" : {"a":"cost","co\\u0073t": ${digits}\n}}`,
          'usage',
          'cost',
        ),
      ).toBe(digits)
      expect(source(`{"cost":${digits}}`, 'cost')).toBe(digits)
    },
  )

  test.each([
    ['nothing is there', '{"usage":{}}'],
    ['the way ends early', '{"usage":1}'],
    ['the way goes through an array', '{"usage":[{"cost":1}]}'],
    ['a string is there', '{"usage":{"cost":"1.5"}}'],
    ['null is there', '{"usage":{"cost":null}}'],
    ['an object is there', '{"usage":{"cost":{"total":1}}}'],
    ['the name is only inherited', '{"usage":{"toString":1}}'],
  ])('is no decimal if %s', (_, text) => {
    expect(decimalAt(parse(text), ['usage', 'cost'])).toBeNull()
  })

  test('of random members is kept as it was written', () => {
    fc.assert(
      fc.property(
        jsonTexts,
        jsonTexts,
        fc.integer({ min: 0, max: 99 }),
        (before, after, digits) => {
          const text = `{"p":${printJson(before)},"n":{"q":${printJson(after)},"m":${digits}.00},"r":${printJson(after)}}`
          expect(source(text, 'n', 'm')).toBe(`${digits}.00`)
        },
      ),
      { numRuns: 500 },
    )
  })
})

test.each([
  ['{"error":{"message":"x"},"error":null}', false],
  ['{"id":"a","choices":[{"\\u0065rror":"x","error":null}]}', false],
  ['{"err\\u006Fr" : 1, "error":null}', false],
  ['{"error":null,"choices":[{"error":null},{"error":{"error":null}}]}', true],
  ['{"content":"{\\"error\\":1,\\"error\\":2}","error":null}', true],
  ['{"tools":[{"parameters":{"properties":{"error":{}}}},{"input":{"error":1}}]}', true],
])('an answer that hides an error behind a second one is none: %s', (text, isRead) => {
  expect(parseAnswer(Buffer.from(text)) !== null).toBe(isRead)
})
