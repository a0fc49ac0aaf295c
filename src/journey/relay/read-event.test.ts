import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EventReader } from './stream-reader.ts'

/** The first event of a stream. */
function read(text: string) {
  const { name, data } = new EventReader({ namesEvents: true }).read(Buffer.from(text, 'latin1'))
  return { name, data }
}

/** The bytes of a stream's first event that are relayed. */
function relayed(text: string, namesEvents = true): string {
  const { bytes } = new EventReader({ namesEvents }).read(Buffer.from(text, 'latin1'))
  return bytes.toString('latin1')
}

describe('an event is read by the rules of the event-stream format', () => {
  test.each<[string, string | null, string]>([
    ['data: {"a":1}\n\n', null, '{"a":1}'],
    ['data: {"a":1}\r\n\r\n', null, '{"a":1}'],
    ['data: {"a":1}\r\r', null, '{"a":1}'],
    ['data:{"a":1}\n\n', null, '{"a":1}'],
    ['data:  x\n\n', null, ' x'],
    ['data: \n\n', null, ''],
    ['data:\n\n', null, ''],
    ['data\n\n', null, ''],
    ['data: a:b\n\n', null, 'a:b'],
    ['event: error\ndata: 1\n\n', 'error', '1'],
    ['data: 1\nevent: error\n\n', 'error', '1'],
    ['event:error\r\ndata:1\r\n\r\n', 'error', '1'],
    ['event: first\nevent: last\ndata: 1\n\n', 'last', '1'],
    ['data: 1\ndata: 2\n\n', null, '1\n2'],
    ['data: 1\rdata: 2\n\n', null, '1\n2'],
    ['data: 1\ndata\ndata: 2\n\n', null, '1\n\n2'],
    [': a comment\nid: 7\nretry: 10\ndata: 1\n\n', null, '1'],
    ['\ndata: 1\n\n', null, '1'],
    ['data: 1', null, '1'],
    ['data: 1\n', null, '1'],
    ['\xef\xbb\xbfdata: 1\n\n', null, '1'],
    ['\xef\xbb\xbfevent: error\ndata: 1\n\n', 'error', '1'],
  ])('%j', (text, name, data) => {
    expect(read(text)).toEqual({ name, data })
  })

  test.each([
    '\n',
    '\r\n',
    ':\n\n',
    ': OPENROUTER PROCESSING\n\n',
    'event: ping\n\n',
    'id: 1\n\n',
    'Data: 1\n\n',
    ' data: 1\n\n',
    'database: 1\n\n',
  ])('%j has no data', (text) => {
    expect(read(text).data).toBe('')
  })

  test('a byte order mark counts only at the start of a stream', () => {
    const events = new EventReader({ namesEvents: false })
    const marked = Buffer.from('\ufeffdata: 1\n\n')
    expect(events.read(marked).data).toBe('1')
    expect(events.read(marked)).toEqual({ name: null, data: '', bytes: Buffer.alloc(0) })
  })
})

describe('an event with only lines of its format is relayed byte for byte', () => {
  test.each([
    'data: {"a":1}\n\n',
    'data:{"a":1}\r\n\r\n',
    'data: {"a":1}\r\r',
    'data: {"a":1,\ndata: "b":2}\n\n',
    'data: 1\ndata\n\n',
    'event: ping\ndata: {"type":"ping"}\n\n',
    'event: ping\r\ndata: {"type":"ping"}\r\n\r\n',
    'data: 1\nevent: response.output_text.delta\n\n',
    '\xef\xbb\xbfdata: 1\n\n',
    ':\n\n',
    ':\ndata: 1\n\n',
    '\n',
    '\r\n',
  ])('%j', (text) => {
    expect(relayed(text)).toBe(text)
  })
})

describe('of any other event, the lines of its format are relayed', () => {
  test.each([
    [': LEAK\n\n', ':\n\n'],
    [': LEAK\r\n: LEAK\r\n\r\n', ':\n\n'],
    [': LEAK\ndata: 1\n\n', ':\ndata: 1\n\n'],
    ['data: 1\n: LEAK\n\n', ':\ndata: 1\n\n'],
    ['id: LEAK\ndata: 1\n\n', 'data: 1\n\n'],
    ['id: LEAK\n\n', ''],
    ['id\n\n', ''],
    ['retry: 1\nx-note: LEAK\nLEAK\n\n', ''],
    ['LEAK: 1\ndata: 1\ndata: 2\n\n', 'data: 1\ndata: 2\n\n'],
    ['Data: LEAK\n\n', ''],
    ['event: a LEAK\ndata: 1\n\n', 'data: 1\n\n'],
    ['event: LEAK\nevent: ping\ndata: 1\n\n', 'event: ping\ndata: 1\n\n'],
    ['\xef\xbb\xbfid: LEAK\ndata: 1\n\n', 'data: 1\n\n'],
    ['data: \n\n', ''],
    ['data\n\n', ''],
    ['event: ping\ndata:\n\n', ''],
    ['event: ping\n\n', ''],
    ['event: ping\n: LEAK\n\n', ':\n\n'],
  ])('%j', (text, expected) => {
    expect(relayed(text)).toBe(expected)
  })

  test.each([
    ['event: LEAK\ndata: 1\n\n', 'data: 1\n\n'],
    ['event: LEAK\n\n', ''],
    ['data: 1\n\n', 'data: 1\n\n'],
  ])('%j, in a format that does not name its events', (text, expected) => {
    expect(relayed(text, false)).toBe(expected)
  })

  test('and they have the same meaning when read again', () => {
    const line = fc.constantFrom(
      ...['data: a', 'data:b', 'data', 'event: e', 'event: a b', ': c', ':', 'id: 1', 'é: 2'],
    )
    const ending = fc.constantFrom('\n', '\r\n', '\r')
    fc.assert(
      fc.property(fc.array(fc.tuple(line, ending), { minLength: 1 }), (lines) => {
        const text = `${lines.map(([each, end]) => each + end).join('')}\n`
        const again = relayed(text)
        expect(read(again).data).toBe(read(text).data)
        expect(relayed(again)).toBe(again)
        for (const out of again.split(/\r\n|\n|\r/)) expect(out).toMatch(/^(data|event: e$|:?$)/)
      }),
    )
  })
})

test('data has one character for each byte', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const data = Buffer.from(bytes.filter((byte) => byte !== 10 && byte !== 13))
      const event = Buffer.concat([Buffer.from('data: '), data, Buffer.from('\n\n')])
      expect(read(event.toString('latin1')).data).toBe(data.toString('latin1'))
    }),
  )
})

test('lines in any order and with any ending are read as a simple reader of lines reads them', () => {
  const line = fc.constantFrom('data: a', 'data:b', 'data', 'event: e', ': c', 'id: 1', 'data:  d')
  const ending = fc.constantFrom('\n', '\r\n', '\r')
  fc.assert(
    fc.property(fc.array(fc.tuple(line, ending), { minLength: 1 }), (lines) => {
      const data = lines.flatMap(([text]) =>
        text.startsWith('data') ? [text.replace(/^data:? ?/, '')] : [],
      )
      const name = lines.some(([text]) => text === 'event: e') ? 'e' : null
      const text = `${lines.map(([each, end]) => each + end).join('')}\n`
      expect(read(text)).toEqual({ name, data: data.join('\n') })
    }),
  )
})
