import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
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

  test('is the text that a parser finds, whatever it is and however it was written', () => {
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

describe('an event that differs from a remembered one in its text alone', () => {
  const chunk = (content: string) => `{"id":"gen-1","delta":{"content":${content}},"index":0}`
  const afterRemembering = (data: string) => {
    const text = new StreamText(MEMBERS)
    text.read(eventOf(data))
    text.remember()
    return text
  }

  test.each([
    ['"Hello"', '" you"', ' you'],
    ['"Hello"', '""', ''],
    ['""', '"x"', 'x'],
    ['"Hello"', String.raw`"a\nb"`, null],
    ['"Hello"', '"a","arguments":"b"', null],
    ['"Hello"', '"a"}},"usage":{"x":"b"', null],
    [String.raw`"a\nb"`, '"x"', null],
    ['null', '"x"', null],
    ['"Hello"', '"', null],
    ['"Hello","arguments":"x"', '"Hello","arguments":"y"', null],
  ])('after %s, that of %s is %j', (remembered, content, text) => {
    expect(afterRemembering(chunk(remembered)).readAlike(eventOf(chunk(content)))).toBe(text)
  })

  test('has its name as well', () => {
    const text = afterRemembering(chunk('"Hello"'))
    expect(text.readAlike({ name: 'error', data: chunk('"x"') })).toBeNull()
    expect(text.readAlike(eventOf(chunk('"x"')))).toBe('x')
  })

  test('is nothing else than what reading it whole finds, whatever follows whatever', () => {
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
    const anyData = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(anyData, anyData, (first, second) => {
        const alike = afterRemembering(first).readAlike(eventOf(second))
        if (alike !== null) expect(textOf(second)).toBe(alike)
      }),
      { numRuns: 2_000 },
    )
  })
})
