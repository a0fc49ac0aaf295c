import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FORMATS } from '../../formats/formats.ts'
import { openrouter } from '../../upstreams/openrouter/openrouter.ts'
import type { StreamObserver } from '../../upstreams/wire.ts'
import type { HeldRequest } from '../held-request.ts'
import { StreamReader } from './stream-reader.ts'

/** The result of a stream: the relayed bytes, the kind of each event, the report and the counts. */
function readAll(
  format: (typeof FORMATS)[number],
  { chunks, takesAlike }: { readonly chunks: readonly Buffer[]; readonly takesAlike: boolean },
) {
  const wire = openrouter.wires.get(format.endpoint)
  if (wire === undefined) throw new Error(format.endpoint)
  const relayed: Buffer[] = []
  const kinds: string[] = []
  let alike = 0
  const observer = wire.observeStream({})
  const held = {
    wire,
    observeStream: (): StreamObserver => ({
      onEvent: (event) => observer.onEvent(event),
      takeAlike: (chunk, start) => (takesAlike ? observer.takeAlike(chunk, start) : start),
      reported: () => observer.reported(),
      relayedTokens: () => observer.relayedTokens(),
      textTokens: () => observer.textTokens(),
    }),
    limits: { eventBytesMax: 1_000_000 },
    request: { format },
  }
  // The parts of a held request that a reader uses.
  const reader = new StreamReader(
    held as unknown as HeldRequest,
    {},
    {
      onEvent(event) {
        const kind = event.data === '' ? 'relay' : reader.observe(event).kind
        if (kind === 'relay' || kind === 'terminal') relayed.push(event.bytes)
        if (kind !== 'relay') kinds.push(`${kind} after ${Buffer.concat(relayed).length}`)
      },
      onMatched(events) {
        alike++
        relayed.push(events)
      },
    },
  )
  for (const chunk of chunks) expect(reader.push(chunk)).toBe(true)
  reader.end()
  return {
    alike,
    stream: {
      text: Buffer.concat(relayed).toString('latin1'),
      kinds,
      reported: reader.reported(),
      relayedTokens: reader.relayedTokens(),
    },
  }
}

const TEXTS = ['', 'a', ' the', 'é你😀', '\\n', '\\"', '\\u00e9', '\\', '"', '\t', ' "content":"x"']
const NAMES = [
  '',
  '',
  '',
  'event: ping\n',
  'event: two words\n',
  'event: error\n',
  ': note\n',
  'id: 1\n',
]
const ENDS = ['\n\n', '\n\n', '\n\n', '\n\n', '\r\n\r\n', '\r\r', '\n', '\n\n\n']
const HEADS = ['data: ', 'data: ', 'data: ', 'data:', 'data:  ', 'data: {}\ndata: ']

/** Events of each format by their text and their place in the stream. */
const DATA: readonly ((text: string, place: number) => string)[] = [
  (text) => `{"id":"gen-1","choices":[{"delta":{"content":"${text}"}}]}`,
  (text) => `{"id":"gen-1","choices":[{"delta":{"content":"${text}"}}]}`,
  (text) => `{"id":"gen-1","choices":[{"delta":{"reasoning":"${text}"}}]}`,
  (text) => `{"id":"gen-1","choices":[{"text":"${text}"}]}`,
  (text) =>
    `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}`,
  (text, place) =>
    `{"type":"response.output_text.delta","delta":"${text}","sequence_number":${place},"x":1}`,
  (text, place) => `{"sequence_number":0${place},"delta":"${text}"}`,
  () => '{"id":"gen-1","usage":{"prompt_tokens":3,"completion_tokens":4,"cost":0.25}}',
  () => '{"type":"message_delta","usage":{"output_tokens":4}}',
  () =>
    '{"type":"response.completed","response":{"id":"gen-9","usage":{"input_tokens":1,"output_tokens":2}}}',
  () => '{"type":"message_stop"}',
  () => '{"error":{"message":"no","code":500}}',
  () => '[DONE]',
  () => '{"cut',
]

const events = fc.array(
  fc.record({
    kind: fc.nat(DATA.length * 3),
    text: fc.constantFrom(...TEXTS),
    name: fc.constantFrom(...NAMES),
    head: fc.constantFrom(...HEADS),
    end: fc.constantFrom(...ENDS),
  }),
  { maxLength: 30 },
)

test.each(FORMATS.map((format) => [format.endpoint, format] as const))(
  'any stream of %s, cut anywhere, is relayed, read and counted as if each of its events was parsed',
  (_, format) => {
    fc.assert(
      fc.property(
        events,
        fc.nat(DATA.length - 1),
        fc.array(fc.nat(4_000), { maxLength: 12 }),
        (list, usual, places) => {
          // Most events of a stream are of one kind, in its usual lines.
          const text = list
            .map(({ kind, text, name, head, end }, place) => {
              const isUsual = kind >= DATA.length
              const data = DATA[isUsual ? usual : kind]?.(text, place) ?? ''
              return isUsual ? `data: ${data}\n\n` : `${name}${head}${data}${end}`
            })
            .join('')
          const bytes = Buffer.from(text)
          const edges = [...new Set([0, ...places.map((place) => place % (bytes.length + 1))])]
          edges.sort((a, b) => a - b)
          const chunks = edges.map((edge, at) => bytes.subarray(edge, edges[at + 1]))
          expect(readAll(format, { chunks, takesAlike: true }).stream).toEqual(
            readAll(format, { chunks: [bytes], takesAlike: false }).stream,
          )
        },
      ),
      { numRuns: 1_000 },
    )
  },
)

test.each([
  ['chat', DATA[0], ''],
  ['completions', DATA[3], ''],
  ['messages', DATA[4], 'event: content_block_delta\n'],
  ['responses', DATA[5], 'event: response.output_text.delta\n'],
] as const)(
  'in a stream of %s, all events after the first ones match the template',
  (endpoint, data, name) => {
    const format = FORMATS.find((each) => each.endpoint === endpoint)
    if (format === undefined || data === undefined) throw new Error(endpoint)
    const chunks = Array.from({ length: 100 }, (_, place) =>
      Buffer.from(`${name}data: ${data(` word${place}`, place)}\n\n`),
    )
    expect(readAll(format, { chunks, takesAlike: true }).alike).toBeGreaterThanOrEqual(98)
    const [first, second, ...others] = chunks
    const joined = [first, second, Buffer.concat(others)].filter((chunk) => chunk !== undefined)
    expect(readAll(format, { chunks: joined, takesAlike: true }).alike).toBeLessThanOrEqual(2)
  },
)

test.each([
  ['chat', DATA[0], 'event: ping\n'],
  ['messages', DATA[4], 'event: LEAK LEAK\n'],
] as const)(
  'in a stream of %s, an event with a line that is not relayed does not match the template',
  (endpoint, data, name) => {
    const format = FORMATS.find((each) => each.endpoint === endpoint)
    if (format === undefined || data === undefined) throw new Error(endpoint)
    const chunks = Array.from({ length: 5 }, (_, place) =>
      Buffer.from(`${name}data: ${data(` word${place}`, place)}\n\n`),
    )
    const { alike, stream } = readAll(format, { chunks, takesAlike: true })
    expect([alike, stream.text.includes(name)]).toEqual([0, false])
  },
)
