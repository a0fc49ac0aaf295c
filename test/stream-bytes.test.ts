import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { createByteBudget } from '../src/journey/gate/byte-budget.ts'
import { openaiCompatible } from '../src/upstreams/openai-compatible/openai-compatible.ts'
import { type JourneyWorld, STREAM_BODY, startJourneyWorld } from './journey-world.ts'
import { peerLeft, wholeRequest } from './raw-server.ts'

const MIB = 1024 * 1024
const HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const EVENT = 'data: {"id":"gen-1","choices":[{"delta":{"content":"caf\u00e9"}}]}\n\n'
const USAGE = 'data: {"id":"gen-1","choices":[],"usage":{"prompt_tokens":1,"cost":0.001}}\n\n'
const DONE = 'data: [DONE]\n\n'
const LAST_CHUNK = '0\r\n\r\n'

function chunk(bytes: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from('\r\n'),
  ])
}

/** A provider that streams these pieces, each of them an HTTP chunk. */
function streaming(pieces: readonly (Buffer | string)[], ending = LAST_CHUNK) {
  return async (socket: Socket) => {
    await wholeRequest(socket)
    const chunks = pieces.map((piece) => chunk(Buffer.from(piece)))
    socket.end(Buffer.concat([Buffer.from(HEAD), ...chunks, Buffer.from(ending)]))
  }
}

/** The bytes that a client receives; `onFirst` is called with the first of them. */
async function relayed(to: JourneyWorld, onFirst: () => void = () => {}): Promise<Buffer> {
  const { statusCode, body } = await request(to.url, { method: 'POST', body: STREAM_BODY })
  expect(statusCode).toBe(200)
  body.once('data', onFirst)
  const parts: Buffer[] = []
  body.on('data', (part) => parts.push(part))
  await once(body, 'end')
  return Buffer.concat(parts)
}

/** The HTTP chunks that a client receives, as the gateway writes them. */
async function relayedChunks(to: JourneyWorld): Promise<Buffer[]> {
  const socket = connect(to.port, '127.0.0.1')
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n` +
      `content-length: ${STREAM_BODY.length}\r\n\r\n${STREAM_BODY}`,
  )
  const parts: Buffer[] = []
  socket.on('data', (part) => parts.push(part))
  await once(socket, 'end')
  const answer = Buffer.concat(parts)
  return unframed(answer.subarray(answer.indexOf('\r\n\r\n') + 4))
}

/** The HTTP chunks of a whole body. */
function unframed(body: Buffer): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const sizeEnd = body.indexOf('\r\n', at)
    const sizeText = body.toString('latin1', at, sizeEnd)
    expect(sizeText).toMatch(/^[0-9a-f]+$/)
    const size = Number.parseInt(sizeText, 16)
    const end = sizeEnd + 2 + size
    expect(body.toString('latin1', end, end + 2)).toBe('\r\n')
    if (size === 0) {
      expect(body.length).toBe(end + 2)
      return chunks
    }
    chunks.push(body.subarray(sizeEnd + 2, end))
    at = end + 2
  }
}

/** An event that has, together with its usage and the end of the stream, this many bytes. */
function eventFor(bytes: number): string {
  const event = (text: string) =>
    `data: {"id":"gen-1","choices":[{"delta":{"content":"${text}"}}]}\n\n`
  return event('x'.repeat(bytes - event('').length - USAGE.length - DONE.length))
}

// On both sides of what is framed in one piece, 16 KB.
test.each([1_000, 16_383, 16_384, 16_385, 40_000])(
  'a stream of %i bytes is framed for a client of HTTP/1.1, and not for one of HTTP/1.0',
  async (bytes) => {
    const event = eventFor(bytes)
    const { port } = await startJourneyWorld({ upstream: streaming([event, USAGE, DONE]) })
    const answered = async (head: string): Promise<Buffer> => {
      const socket = connect(port, '127.0.0.1')
      socket.write(
        `POST /v1/chat/completions ${head}\r\ncontent-length: ${STREAM_BODY.length}\r\n\r\n${STREAM_BODY}`,
      )
      const parts: Buffer[] = []
      socket.on('data', (part) => parts.push(part))
      await once(socket, 'end')
      const answer = Buffer.concat(parts)
      return answer.subarray(answer.indexOf('\r\n\r\n') + 4)
    }
    const stream = `${event}${USAGE}${DONE}`
    expect(stream.length).toBe(bytes)
    expect((await answered('HTTP/1.0')).toString()).toBe(stream)
    const chunks = unframed(await answered('HTTP/1.1\r\nhost: x\r\nconnection: close'))
    expect(Buffer.concat(chunks).toString()).toBe(stream)
  },
)

test.each([
  ['LF', EVENT],
  ['CRLF', EVENT.replaceAll('\n', '\r\n')],
])(
  'an event with %s that comes in two pieces, cut at any byte, goes out in one',
  async (_, text) => {
    const event = Buffer.from(text)
    const pieces: Buffer[] = []
    for (let place = 1; place < event.length; place++) {
      pieces.push(event.subarray(0, place), event.subarray(place))
    }
    const to = await startJourneyWorld({ upstream: streaming([...pieces, DONE]) })
    const chunks = await relayedChunks(to)
    expect(Buffer.concat(chunks)).toEqual(Buffer.concat([...pieces, Buffer.from(DONE)]))
    for (const each of chunks) expect(each.toString('latin1')).toMatch(/(\n\n|\r\n\r\n)$/)
  },
)

describe('a stream arrives byte for byte', () => {
  const broken = Buffer.from(
    'data: {"choices":[{"delta":{"content":"\xff\xfe\xc3"}}]}\n\n',
    'latin1',
  )
  const huge = `data: {"choices":[{"delta":{"content":"${'x'.repeat(5 * MIB)}"}}]}\n\n`

  test.each<[string, readonly (Buffer | string)[]]>([
    ['with bare comments', [':\n\n', EVENT, ':\n\n', USAGE, DONE]],
    ['with CRLF', [`${EVENT}${USAGE}${DONE}`.replaceAll('\n', '\r\n')]],
    ['with CR alone', [`${EVENT}${USAGE}${DONE}`.replaceAll('\n', '\r')]],
    ['with several events in one piece', [EVENT + EVENT + USAGE + DONE]],
    ['with blank lines', ['\n\n', EVENT, '\r\n', USAGE, DONE]],
    [
      'with an event of several data lines',
      ['data: {"id":"gen-1",\ndata: "choices":[]}\n\n', USAGE, DONE],
    ],
    ['with bytes that are no UTF-8', [EVENT, broken, USAGE, DONE]],
    ['with an event of 5 MB', [EVENT, huge, USAGE, DONE]],
    ['with a byte order mark', [`\ufeff${EVENT}`, USAGE, DONE]],
  ])('%s', async (_, pieces) => {
    const to = await startJourneyWorld({ upstream: streaming(pieces) })
    const sent = Buffer.concat(pieces.map((piece) => Buffer.from(piece)))
    expect((await relayed(to)).equals(sent)).toBe(true)
    expect(await to.onlyRequest()).toMatchObject({
      state: 'provisional',
      backedChargeMicros: 1_050,
      errorCode: null,
    })
  })
})

describe('events outside the format are not relayed', () => {
  const id = Buffer.from('id: LEAK\r')
  test.each<[string, readonly (Buffer | string)[], string]>([
    [
      'the words of a comment',
      [': LEAK\n\n', EVENT, `: LEAK\n${USAGE}`, DONE],
      `:\n\n${EVENT}:\n${USAGE}${DONE}`,
    ],
    [
      'other fields',
      ['id: LEAK\nretry: 1\nx: LEAK\nLEAK\n', EVENT, 'id: LEAK\n\n', USAGE, DONE],
      EVENT + USAGE + DONE,
    ],
    [
      'other fields, cut at every byte',
      [...[...id].map((byte) => Buffer.from([byte])), EVENT, USAGE, DONE],
      EVENT + USAGE + DONE,
    ],
    ['the name of an event', [`event: LEAK\n${EVENT}`, USAGE, DONE], EVENT + USAGE + DONE],
    [
      'an event without data',
      [EVENT, 'data\n\n', 'data: \r\n\r\n', 'event: ping\n\n', USAGE, DONE],
      EVENT + USAGE + DONE,
    ],
    ['half an event at the end', [EVENT, USAGE, DONE, 'data: {"LEAK'], EVENT + USAGE + DONE],
    ['a comment at the end', [EVENT, USAGE, DONE, ': LEAK'], EVENT + USAGE + DONE],
  ])('%s', async (_, pieces, expected) => {
    const to = await startJourneyWorld({ upstream: streaming(pieces) })
    expect((await relayed(to)).toString()).toBe(expected)
    expect(await to.onlyRequest()).toMatchObject({ state: 'provisional', errorCode: null })
  })

  test('the last event may lack its blank line', async () => {
    const to = await startJourneyWorld({ upstream: streaming([EVENT, USAGE, 'data: [DONE]']) })
    expect((await relayed(to)).toString()).toBe(`${EVENT}${USAGE}data: [DONE]`)
    expect(await to.onlyRequest()).toMatchObject({ state: 'provisional', errorCode: null })
  })

  test('an error in several data lines is joined before it is read', async () => {
    const error = 'data: {"error":\ndata: {"message":"LEAK","code":429}}\n\n'
    const to = await startJourneyWorld({ upstream: streaming([EVENT, error, DONE]) })
    const text = (await relayed(to)).toString()
    expect(text).not.toContain('LEAK')
    expect(text).toContain('"code":"provider_rate_limited"')
    expect(await to.onlyRequest()).toMatchObject({
      state: 'released',
      errorCode: 'provider_rate_limited',
    })
  })
})

test('a last chunk in several data lines gets its empty choice and is still one event', async () => {
  const usage = '"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}'
  const last = `data: {"id":"1","choices":[],\ndata: ${usage}}\n\n`
  const to = await startJourneyWorld({
    dialect: openaiCompatible,
    upstream: streaming([EVENT, last, DONE]),
  })
  const choice = '{"index":0,"delta":{},"finish_reason":null}'
  expect((await relayed(to)).toString()).toBe(
    `${EVENT}data: {"id":"1","choices":[${choice}],\ndata: ${usage}}\n\n${DONE}`,
  )
})

test.each<[string, (socket: Socket) => void]>([
  ['reset', (socket) => socket.resetAndDestroy()],
  ['closed', (socket) => socket.end()],
  ['closed within a chunk', (socket) => socket.end('5\r\nda')],
])(
  'the unfinished event of a stream that is %s is dropped, and the client sees an orderly end',
  async (_, drop) => {
    const provider = Promise.withResolvers<Socket>()
    const to = await startJourneyWorld({
      upstream: async (socket) => {
        await wholeRequest(socket)
        const unfinished = Buffer.from('data: {"id":"gen-1","choices":[{"delta":{"cont')
        socket.write(
          Buffer.concat([Buffer.from(HEAD), chunk(Buffer.from(EVENT)), chunk(unfinished)]),
        )
        provider.resolve(socket)
      },
    })
    const bytes = await relayed(to, () => void provider.promise.then(drop))
    expect(bytes.toString()).toBe(EVENT)
    expect(await to.onlyRequest()).toMatchObject({
      state: 'released',
      errorCode: 'upstream_disconnected',
    })
  },
)

test('an event over its limit ends the stream and the call to the provider', async () => {
  const left = Promise.withResolvers<void>()
  const to = await startJourneyWorld({
    upstream: async (socket) => {
      await wholeRequest(socket)
      socket.write(Buffer.concat([Buffer.from(HEAD), chunk(Buffer.from(EVENT))]))
      socket.write(chunk(Buffer.alloc(2 * MIB, 'x')))
      void peerLeft(socket).then(left.resolve)
    },
    eventBytesMax: MIB,
  })
  expect((await relayed(to)).toString()).toBe(EVENT)
  await left.promise
  expect(await to.onlyRequest()).toMatchObject({ state: 'unresolved', errorCode: 'upstream_error' })
})

test('a large event that is not whole takes memory of the budget, and ends the stream if none is left', async () => {
  const left = Promise.withResolvers<void>()
  const to = await startJourneyWorld({
    upstream: async (socket) => {
      await wholeRequest(socket)
      socket.write(Buffer.concat([Buffer.from(HEAD), chunk(Buffer.from(EVENT))]))
      socket.write(chunk(Buffer.alloc(4 * MIB, 'x')))
      void peerLeft(socket).then(left.resolve)
    },
    replace: () => ({ byteBudget: createByteBudget({ bytesMax: 2 * MIB }) }),
  })
  expect((await relayed(to)).toString()).toBe(EVENT)
  await left.promise
  expect(await to.onlyRequest()).toMatchObject({
    state: 'unresolved',
    errorCode: 'service_unavailable',
  })
})
