import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readEvent } from './read-event.ts'

const read = (text: string) => readEvent(Buffer.from(text, 'latin1'))

describe('an event is read as the event-stream format says', () => {
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
    expect(read(text)).toBeNull()
  })
})

test('data comes byte for byte, one character a byte', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const data = Buffer.from(bytes.filter((byte) => byte !== 10 && byte !== 13))
      const event = Buffer.concat([Buffer.from('data: '), data, Buffer.from('\n\n')])
      expect(readEvent(event)?.data).toBe(data.toString('latin1'))
    }),
  )
})

test('lines of any order and ending are read as one reader of lines reads them', () => {
  const line = fc.constantFrom('data: a', 'data:b', 'data', 'event: e', ': c', 'id: 1', 'data:  d')
  const ending = fc.constantFrom('\n', '\r\n', '\r')
  fc.assert(
    fc.property(fc.array(fc.tuple(line, ending), { minLength: 1 }), (lines) => {
      const data = lines.flatMap(([text]) =>
        text.startsWith('data') ? [text.replace(/^data:? ?/, '')] : [],
      )
      const name = lines.some(([text]) => text === 'event: e') ? 'e' : null
      const text = `${lines.map(([each, end]) => each + end).join('')}\n`
      expect(read(text)).toEqual(data.length === 0 ? null : { name, data: data.join('\n') })
    }),
  )
})
