import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EventSplitter } from './stream-reader.ts'

const UNLIMITED = Number.MAX_SAFE_INTEGER
const TAKES_NOTHING = (_chunk: Buffer, start: number): number => start

interface Split {
  readonly events: readonly string[]
  readonly tail: string
}

/** The events in these chunks, in latin-1, and the rest. */
function split(chunks: readonly Buffer[]): Split {
  const splitter = new EventSplitter(UNLIMITED)
  const events: string[] = []
  const sink = {
    onEvent: (bytes: Buffer) => void events.push(bytes.toString('latin1')),
    takeAlike: TAKES_NOTHING,
  }
  for (const chunk of chunks) {
    if (!splitter.push(chunk, sink)) throw new Error('over the limit')
  }
  return { events, tail: splitter.takeTail().toString('latin1') }
}

function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const edges = [0, ...[...places].sort((a, b) => a - b), bytes.length]
  return edges.slice(1).map((end, index) => bytes.subarray(edges[index], end))
}

const CORPUS: readonly (readonly [string, readonly string[], string])[] = [
  ['LF', ['data: {"a":1}\n\n', 'data: [DONE]\n\n'], ''],
  ['CRLF', ['event: x\r\ndata: 1\r\n\r\n', 'data: 2\r\n\r\n'], ''],
  ['CR', ['data: 1\r\r', 'data: 2\r\r', 'data: 3\r\r'], ''],
  ['all three at once', ['data: 1\r\n\n', 'data: 2\n\r\n', 'data: 3\r\r\n', 'data: 4\n\r'], ''],
  ['comments', [': OPENROUTER PROCESSING\n\n', ':\n\n', ': a\ndata: 1\n\n'], ''],
  ['blank lines between events', ['data: 1\n\n', '\n', '\n', '\r\n', 'data: 2\n\n'], ''],
  ['several data lines', ['event: x\ndata: {\ndata:  "a": 1\ndata: }\nid: 7\n\n'], ''],
  ['no UTF-8', ['data: \xff\xfe\xc3\n\n', 'data: \xe2\x82\n\n'], ''],
  ['a byte order mark', ['\xef\xbb\xbfdata: 1\n\n', 'data: 2\n\n'], ''],
  ['NUL bytes', ['data: \0\0\n\n'], ''],
  ['an unfinished event', ['data: 1\n\n'], 'data: 2\n'],
  ['an unfinished line', ['data: 1\n\n'], 'data: 2'],
  ['an unfinished event of CRLF', ['data: 1\r\n\r\n'], 'data: 2\r\n'],
  ['a line of nothing else', [], 'data'],
  ['nothing at all', [], ''],
]

describe('a stream has the same events for any division into chunks', () => {
  test.each(CORPUS)('%s', (_, events, tail) => {
    const bytes = Buffer.from(events.join('') + tail, 'latin1')
    const whole = split([bytes])
    // An LF may still follow a final CR, so that the CR alone does not end the event yet.
    const open = bytes.at(-1) === 13 && tail === '' ? (events.at(-1) ?? '') : null
    expect(whole).toEqual(
      open === null ? { events, tail } : { events: events.slice(0, -1), tail: open },
    )
    expect(split([...bytes].map((byte) => Buffer.from([byte])))).toEqual(whole)
    for (let place = 0; place <= bytes.length; place++) {
      expect(split(cutAt(bytes, [place])), `cut at ${place}`).toEqual(whole)
    }
  })

  test('any stream, cut anywhere', () => {
    const piece = fc.constantFrom(
      '\n',
      '\r',
      '\r\n',
      'data: ',
      ':',
      'x',
      '\xff',
      'event: e',
      '{"a":1}',
    )
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 40, size: 'max' }),
        fc.array(fc.nat(400), { maxLength: 40, size: 'max' }),
        (pieces, places) => {
          const bytes = Buffer.from(pieces.join(''), 'latin1')
          const whole = split([bytes])
          expect(
            split(
              cutAt(
                bytes,
                places.map((place) => place % (bytes.length + 1)),
              ),
            ),
          ).toEqual(whole)
          expect(whole.events.join('') + whole.tail).toBe(bytes.toString('latin1'))
          for (const event of whole.events) expect(event).toMatch(/(^|\r\n|\n|\r)(\r\n|\n|\r)$/)
        },
      ),
    )
  })
})

test('events end where a reader of lines sees a blank line', () => {
  const byte = fc.constantFrom('\n', '\r', 'a')
  fc.assert(
    fc.property(fc.string({ unit: byte, maxLength: 30 }), (text) => {
      const { events } = split([Buffer.from(text, 'latin1')])
      // A line end at the very end of the text counts only if nothing could lengthen it.
      const lines = text.replace(/\r$/, '').split(/\r\n|\n|\r/)
      expect(events.length).toBe(lines.slice(0, -1).filter((line) => line === '').length)
    }),
  )
})

test('an event of 5 MB in pieces of 1 KB is one event, and each byte is read once', () => {
  const event = Buffer.concat([
    Buffer.from('data: '),
    Buffer.alloc(5 * 1024 * 1024, 'x'),
    Buffer.from('\n\n'),
  ])
  const places = Array.from({ length: 5 * 1024 }, (_, index) => index * 1024)
  const { events, tail } = split(cutAt(event, places))
  expect(events).toEqual([event.toString('latin1')])
  expect(tail).toBe('')
})

test('events of one chunk are slices of it, not copies', () => {
  const chunk = Buffer.from('data: 1\n\ndata: 2\n\n')
  const splitter = new EventSplitter(UNLIMITED)
  splitter.push(chunk, {
    onEvent: (bytes) => expect(bytes.buffer).toBe(chunk.buffer),
    takeAlike: TAKES_NOTHING,
  })
})

describe('the limit of an event', () => {
  const push = (splitter: EventSplitter, text: string): boolean =>
    splitter.push(Buffer.from(text), { onEvent: () => {}, takeAlike: TAKES_NOTHING })

  test('applies only to the unfinished event, not to earlier events', () => {
    const splitter = new EventSplitter(16)
    for (let event = 0; event < 100; event++) expect(push(splitter, 'data: 123456\n\n')).toBe(true)
    expect(push(splitter, 'data: 1234567890')).toBe(true)
    expect(push(splitter, '1')).toBe(false)
  })

  test('counts the pieces of an event together', () => {
    const splitter = new EventSplitter(16)
    expect(push(splitter, 'data: 12')).toBe(true)
    expect(push(splitter, '34567890')).toBe(true)
    expect(push(splitter, '\n')).toBe(false)
  })

  test.each(['\n', '\r', '\r\n'])('applies to lines too, however they end: %j', (lineEnd) => {
    const splitter = new EventSplitter(UNLIMITED)
    const lines = `data: 1${lineEnd}`.repeat(5_000)
    for (let event = 0; event < 3; event++) expect(push(splitter, lines + lineEnd)).toBe(true)
    expect(push(splitter, lines)).toBe(true)
    expect(push(splitter, lines)).toBe(true)
    expect(push(splitter, lines)).toBe(false)
  })
})
