import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StreamEvent } from '../../formats/format.ts'
import { StreamText } from './stream-text.ts'

const MEMBERS = ['content', 'arguments']
const eventOf = (data: string) => ({ name: null, data })
const textOf = (data: string) => new StreamText(MEMBERS).read(eventOf(data))
const latin1 = (text: string) => Buffer.from(text, 'utf8').toString('latin1')

describe('the text in an event', () => {
  test.each([
    ['{"delta":{"content":"Hello"}}', 'Hello'],
    ['{"content" \t:\n "Hello"}', 'Hello'],
    ['{"content":"a","x":[{"content":"b"}]}', 'ab'],
    ['{"arguments":"b","content":"a"}', 'ab'],
    ['{"arguments":"a","content":"a"}', 'a'],
    ['[{"content":"a"},{"content":"a"}]', 'aa'],
    ['[{"content":"a","arguments":"a"},{"content":"a","arguments":"b"}]', 'aab'],
    ['{"content":""}', ''],
    ['{"content":null,"arguments":7}', ''],
    ['{"content":["not","this"]}', ''],
    ['{"content":[{"content":"this"}]}', 'this'],
    ['{"role":"content","x":"arguments"}', ''],
    ['{"contents":"no","xcontent":"no"}', ''],
    [String.raw`{"text":"\"content\":\"no\""}`, ''],
    [String.raw`{"content":"say \"content\": \"x\""}`, 'say "content": "x"'],
    [String.raw`{"content":"\\"}`, '\\'],
    [String.raw`{"content":"\\\\\"","arguments":"b"}`, '\\\\"b'],
    [String.raw`{"content":"a\nb\t\/"}`, 'a\nb\t/'],
    [String.raw`{"content":"\u0041\u00e9\u4f60"}`, latin1('Aé你')],
    [String.raw`{"content":"\ud83d\ude00"}`, latin1('😀')],
    [String.raw`{"content":"\\u4f60"}`, String.raw`\u4f60`],
    [latin1('{"content":"é你😀"}'), latin1('é你😀')],
    ['{"content":"cut o', ''],
    [String.raw`{"content":"cut \"`, ''],
    ['{"content"', ''],
    ['{"content":', ''],
    ['', ''],
  ])('of %j is %j', (data, text) => {
    expect(textOf(data)).toBe(text)
  })

  test('is the text that a parser finds, for any text in any notation', () => {
    const anyText = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: fc.constantFrom('\\', '"', '/', 'u', 'é', '😀', 'content') }),
    )
    fc.assert(
      fc.property(anyText, fc.boolean(), (text, escapesAll) => {
        const json = JSON.stringify({ index: 0, delta: { content: text } })
        const written = escapesAll
          ? json.replace(/[^ -~]/gu, (character) =>
              JSON.stringify(character)
                .slice(1, -1)
                .replace(
                  /[^ -~]/g,
                  (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
                ),
            )
          : json
        expect(textOf(latin1(written))).toBe(latin1(text))
      }),
    )
  })

  test('of a megabyte of escapes is found without exhausting the stack', () => {
    expect(textOf(`{"content":"${String.raw`\u4f60`.repeat(200_000)}"}`)).toBe(
      latin1('你'.repeat(200_000)),
    )
    expect(textOf(`{"content":"${'\\\\'.repeat(500_000)}"}`)).toBe('\\'.repeat(500_000))
  })
})

/** The text of an event by the template; null: it does not match, or not whole. */
function matched(text: StreamText, event: StreamEvent): string | null {
  const found = firstMatched(text, event)
  if (found !== null) expect(found.data).toBe(event.data)
  return found?.text ?? null
}

/** As `matched`, of data that may have an empty line, which ends an event: with the data before it. */
function firstMatched(
  text: StreamText,
  { name, data }: StreamEvent,
): { readonly data: string; readonly text: string } | null {
  const head = name === null ? '' : `event: ${name}\n`
  // In the middle of a chunk.
  const before = `xx${head}data: `
  const bytes = Buffer.from(`${before}${data}\n\nyy`, 'latin1')
  const end = text.matchTemplate(bytes, 2)
  if (end === -1) return null
  expect(bytes.toString('latin1', end - 2, end)).toBe('\n\n')
  return {
    data: bytes.toString('latin1', before.length, end - 2),
    text: Buffer.from(text.matched).toString('latin1'),
  }
}

describe('an event that differs from the template only in its text', () => {
  const chunk = (content: string) => `{"id":"gen-1","delta":{"content":${content}},"index":0}`
  const afterTemplate = (data: string) => {
    const text = new StreamText(MEMBERS)
    text.read(eventOf(data))
    text.learnTemplate()
    return text
  }

  test.each([
    ['"Hello"', '" you"', ' you'],
    ['"Hello"', '""', ''],
    ['""', '"x"', 'x'],
    ['"Hello"', String.raw`"a\nb\u00e9\""`, 'a\nb\xc3\xa9"'],
    ['"Hello"', String.raw`"a\x"`, null],
    ['"Hello"', String.raw`"\u12g4"`, null],
    ['"Hello"', '"\\"', null],
    ['"Hello"', '"a\tb"', null],
    ['"Hello"', '"a\nb"', null],
    ['"Hello"', '"a","arguments":"b"', null],
    ['"Hello"', '"a"}},"usage":{"x":"b"', null],
    [String.raw`"a\nb"`, '"x"', 'x'],
    ['null', '"x"', null],
    ['"Hello"', '"', null],
    ['"Hello","arguments":"x"', '"Hello","arguments":"y"', null],
  ])('after %s, that of %s is %j', (template, content, text) => {
    expect(matched(afterTemplate(chunk(template)), eventOf(chunk(content)))).toBe(text)
  })

  test('must have the same name', () => {
    const text = afterTemplate(chunk('"Hello"'))
    expect(matched(text, { name: 'error', data: chunk('"x"') })).toBeNull()
    expect(matched(text, eventOf(chunk('"x"')))).toBe('x')
  })

  test.each<[string, string, string | null]>([
    ['{"delta":"a","n":7}', '{"delta":"b","n":8}', 'b'],
    ['{"delta":"a","n":9}', '{"delta":"b","n":10}', 'b'],
    ['{"delta":"a","n":0,"x":[]}', '{"delta":"","n":123,"x":[]}', ''],
    ['{"n":99,"x":1,"delta":"a","y":""}', '{"n":100,"x":1,"delta":"b","y":""}', 'b'],
    ['{"delta":"a","n":7}', '{"delta":"b","n":08}', null],
    ['{"delta":"a","n":7}', '{"delta":"b","n":00}', null],
    ['{"delta":"a","n":7}', '{"delta":"b","n":}', null],
    ['{"delta":"a","n":7}', '{"delta":"b","n":-8}', null],
    ['{"delta":"a","n":7}', '{"delta":"b","n":8.5}', null],
    ['{"n":7,"delta":"a"}', '{"n":,"delta":"b"}', null],
    ['{"n":7,"delta":"a"}', '{"n":08,"delta":"b"}', null],
    ['{"n":7.5,"delta":"a"}', '{"n":8.5,"delta":"b"}', null],
    ['{"delta":"a","n":7}', '{"delta":"b","error":1,"n":8}', null],
  ])('after %s with the counter n, that of %s is %j', (template, data, text) => {
    const counted = new StreamText(['delta'], 'n')
    counted.read(eventOf(template))
    counted.learnTemplate()
    expect(matched(counted, eventOf(data))).toBe(text)
  })

  test('is JSON if the template is', () => {
    const counter = fc.constantFrom('0', '7', '10', '010', '', '-1', '1.5', '1e3')
    const piece = fc.constantFrom('a', '"', '\\', 'n', 'u00e9', 'u12', '\t', '\n', '\0', '}')
    const content = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''))
    const inOrder = (first: boolean) => (delta: string, n: string) =>
      first ? `{"n":${n},"delta":"${delta}"}` : `{"delta":"${delta}","n":${n}}`
    fc.assert(
      fc.property(fc.boolean(), content, counter, (first, delta, n) => {
        const eventWith = inOrder(first)
        const counted = new StreamText(['delta'], 'n')
        counted.read(eventOf(eventWith('x', '3')))
        counted.learnTemplate()
        const found = firstMatched(counted, eventOf(eventWith(delta, n)))
        if (found === null) return
        expect(() => JSON.parse(found.data)).not.toThrow()
        expect(found.text).toBe(latin1(JSON.parse(found.data).delta))
      }),
      // Two events where one was meant, which the template must find the end of.
      { numRuns: 2_000, examples: [[true, '"}\n\n', '0']] },
    )
  })

  test('has the text that a full reading finds, in any surroundings', () => {
    const part = fc.constantFrom(
      '"content":',
      '"a"',
      '"',
      '\\',
      'b',
      ',',
      '{',
      '}',
      '"usage":',
      ' ',
    )
    const parts = fc.array(part, { maxLength: 6 }).map((found) => found.join(''))
    let matches = 0
    fc.assert(
      fc.property(parts, parts, parts, parts, (head, first, second, tail) => {
        const dataOf = (content: string) => `${head}"content":"${content}"${tail}`
        // In JSON, no value that ends with a name is followed by a colon.
        if (dataOf(second).includes(String.raw`\"content":`)) return
        const found = matched(afterTemplate(dataOf(first)), eventOf(dataOf(second)))
        if (found === null) return
        matches++
        expect(textOf(dataOf(second))).toBe(found)
      }),
      { numRuns: 2_000 },
    )
    expect(matches).toBeGreaterThan(0)
  })
})
