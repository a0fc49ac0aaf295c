import type { Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { refusingPort, wholeRequest } from '../../test/raw-server.ts'
import {
  closeOpened,
  Diary,
  PATIENT,
  reportedLines,
  type SendInput,
  SHORT_MS,
  SMALL_BODY,
  send,
  serverThat,
  upstreamAt,
} from './testing/attempts.ts'
import type { Upstream } from './upstream.ts'

const MIB = 1024 * 1024
// More than the socket buffers of both sides can hold.
const LARGE = Buffer.alloc(32 * MIB, 'x')
const WHOLE = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'

afterEach(closeOpened)

/** An upstream whose connections do this. */
async function upstreamThat(act: (socket: Socket) => unknown): Promise<Upstream> {
  return upstreamAt((await serverThat(act)).baseUrl)
}

/** An upstream whose connections do this once a request was read in full. */
const afterRequest = (act: (socket: Socket) => unknown) =>
  upstreamThat(async (socket) => {
    await wholeRequest(socket)
    act(socket)
  })

async function expectNeverOpened(upstream: Upstream, input?: SendInput): Promise<void> {
  expect(await reportedLines(upstream, send(upstream, input))).toEqual([
    'neverOpened beforeHeaders',
  ])
}

describe('a request that was not written in full was never opened', () => {
  test('the connection is refused', async () => {
    const upstream = upstreamAt(`http://127.0.0.1:${await refusingPort()}/v1`)
    await expectNeverOpened(upstream)
  })

  test('the host name is unknown', async () => {
    const upstream = upstreamAt('http://tollgate.invalid/v1')
    await expectNeverOpened(upstream)
  })

  test('the TLS handshake fails', async () => {
    const { port } = await serverThat((socket) => socket.end('this is no TLS'))
    const upstream = upstreamAt(`https://127.0.0.1:${port}/v1`)
    await expectNeverOpened(upstream)
  })

  test('the connection does not open in time, or before a deadline of the request', async () => {
    const { port } = await serverThat((socket) => socket.resume())
    const baseUrl = `https://127.0.0.1:${port}/v1`
    await expectNeverOpened(upstreamAt(baseUrl, SHORT_MS))
    await expectNeverOpened(upstreamAt(baseUrl), { deadlines: { headersTimeoutMs: SHORT_MS } })
  })

  test.each<[string, (socket: Socket) => void]>([
    ['resets', (socket) => socket.resetAndDestroy()],
    ['closes', (socket) => socket.destroy()],
  ])('the provider %s the connection in the middle of a large body', async (_, leave) => {
    const upstream = await upstreamThat((socket) => socket.once('data', () => leave(socket)))
    await expectNeverOpened(upstream, { body: LARGE })
  })

  test('a deadline passes in the middle of a large body', async () => {
    // The provider reads nothing: only the buffers take bytes.
    const upstream = await upstreamThat((socket) => socket.pause())
    await expectNeverOpened(upstream, { body: LARGE, deadlines: { headersTimeoutMs: 200 } })
  })

  test('the upstream was closed earlier', async () => {
    const upstream = upstreamAt('http://127.0.0.1:9/v1')
    await upstream.destroy()
    await expectNeverOpened(upstream)
  })

  test('a header of the client cannot be sent', async () => {
    const upstream = upstreamAt('http://127.0.0.1:9/v1')
    const diary = new Diary()
    upstream.forward(
      {
        path: '/messages',
        headers: ['compat-beta', 'a\r\nb'],
        body: [SMALL_BODY],
        deadlines: PATIENT,
      },
      diary,
    )
    expect(await reportedLines(upstream, { diary })).toEqual(['neverOpened beforeHeaders'])
  })
})

describe('a request that was written in full, without a whole answer, is lost', () => {
  test.each<[string, (socket: Socket) => unknown, string[]]>([
    ['a reset', (socket) => socket.resetAndDestroy(), ['lost beforeHeaders']],
    ['a close', (socket) => socket.end(), ['lost beforeHeaders']],
    ['half a head', (socket) => socket.end('HTTP/1.1 200 OK\r\ncont'), ['lost beforeHeaders']],
    [
      'an unrequested switch of protocols',
      (socket) => socket.write('HTTP/1.1 101 Switching\r\nupgrade: h2c\r\n\r\n'),
      ['lost beforeHeaders'],
    ],
    ['bytes that are not HTTP', (socket) => socket.end('hello\r\n\r\n'), ['lost beforeHeaders']],
    [
      'a head of 100 KB',
      (socket) => socket.end(`HTTP/1.1 200 OK\r\nx-a: ${'a'.repeat(100_000)}\r\n\r\n`),
      ['lost beforeHeaders'],
    ],
    [
      'a body that ends early',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{"a"'),
      ['start 200', 'data', 'lost afterHeaders'],
    ],
    [
      'chunks without the last',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n'),
      ['start 200', 'data', 'lost afterHeaders'],
    ],
    [
      'chunks that are none',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'),
      ['start 200', 'lost afterHeaders'],
    ],
  ])('%s', async (_, act, lines) => {
    const upstream = await afterRequest(act)
    expect(await reportedLines(upstream, send(upstream))).toEqual(lines)
  })

  test('a head, a beginning, and a reset', async () => {
    const begun = Promise.withResolvers<Socket>()
    const upstream = await afterRequest((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{"a"', () => begun.resolve(socket))
    })
    const sent = send(upstream)
    // A reset discards unread bytes.
    sent.diary.onData = () => void begun.promise.then((socket) => socket.resetAndDestroy())
    expect(await reportedLines(upstream, sent)).toEqual(['start 200', 'data', 'lost afterHeaders'])
  })

  test('a large body that was read completely, and a close', async () => {
    const upstream = await afterRequest((socket) => socket.end())
    const sent = send(upstream, { body: LARGE })
    expect(await reportedLines(upstream, sent)).toEqual(['lost beforeHeaders'])
  })

  test('a kept connection that is reset during its next call', async () => {
    let requests = 0
    const upstream = await upstreamThat((socket) => {
      socket.on('data', () => {
        requests++
        if (requests === 2) socket.resetAndDestroy()
        else socket.write(WHOLE)
      })
    })
    await send(upstream).diary.ended
    // Not repeated: the provider may have run it.
    expect(await reportedLines(upstream, send(upstream))).toEqual(['lost beforeHeaders'])
    expect(requests).toBe(2)
  })
})

describe('a whole answer', () => {
  test.each<[string, string, string]>([
    ['of a known length', 'content-length: 2\r\n\r\n{}', '{}'],
    ['in chunks', 'transfer-encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n', '{}'],
    [
      'in chunks, with a trailer',
      'transfer-encoding: chunked\r\ntrailer: x-cost\r\n\r\n2\r\n{}\r\n0\r\nx-cost: 1\r\n\r\n',
      '{}',
    ],
    ['to the end of the connection', 'connection: close\r\n\r\n{}', '{}'],
  ])('%s', async (_, rest, body) => {
    const upstream = await afterRequest((socket) => socket.end(`HTTP/1.1 200 OK\r\n${rest}`))
    const sent = send(upstream)
    expect(await reportedLines(upstream, sent)).toEqual(['start 200', 'data', 'end'])
    expect(sent.diary.body).toBe(body)
  })

  test('after early hints', async () => {
    const upstream = await afterRequest((socket) => {
      socket.end(
        `HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n${WHOLE}`,
      )
    })
    expect(await reportedLines(upstream, send(upstream))).toEqual(['start 200', 'data', 'end'])
  })

  test.each([
    ['a small body', SMALL_BODY],
    ['the middle of a large one', LARGE],
  ])('after an unrequested 100, at %s', async (_, body) => {
    const upstream = await upstreamThat(async (socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 100 Continue\r\n\r\n'))
      await wholeRequest(socket)
      socket.end(`HTTP/1.1 100 Continue\r\n\r\n${WHOLE}`)
    })
    expect(await reportedLines(upstream, send(upstream, { body }))).toEqual([
      'start 200',
      'data',
      'end',
    ])
  })

  test('before the request was read, such as a refusal for its size', async () => {
    const upstream = await upstreamThat((socket) => {
      socket.once('data', () =>
        socket.end('HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}'),
      )
    })
    const sent = send(upstream, { body: LARGE })
    expect(await reportedLines(upstream, sent)).toEqual(['start 413', 'data', 'end'])
  })

  test.each([
    ['the whole body', 1],
    ['a part of the body', 0],
  ])('that was written before %s was read: the number of known sends is %d', async (_, times) => {
    const upstream = await upstreamThat(async (socket) => {
      if (times === 1) await wholeRequest(socket)
      const head = WHOLE.slice(0, -2)
      socket.write(head)
      if (times === 0) await wholeRequest(socket)
      socket.write('{}')
    })
    let sent = 0
    const { diary } = send(upstream, { body: LARGE, onBodySent: () => sent++ })
    await diary.ended
    await upstream.close()
    expect(sent).toBe(times)
  })

  test('a large body arrives byte for byte', async () => {
    const body = Buffer.alloc(5 * MIB)
    for (let at = 0; at < body.length; at++) body[at] = at % 251
    const upstream = await upstreamThat(async (socket) => {
      const received = await wholeRequest(socket)
      const isSame = received.endsWith(body.toString('latin1'))
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n${isSame ? 'same ' : 'other'}`)
    })
    const sent = send(upstream, { body })
    await sent.diary.ended
    expect(sent.diary.body).toBe('same ')
  })
})

describe('a call that is cancelled', () => {
  test('before the connection is open', async () => {
    const { port } = await serverThat((socket) => socket.resume())
    const upstream = upstreamAt(`https://127.0.0.1:${port}/v1`)
    const sent = send(upstream)
    sent.attempt.cancel()
    expect(await reportedLines(upstream, sent)).toEqual(['cancelled beforeHeaders'])
  })

  test('is not sent when the connection opens', async () => {
    const requests: string[] = []
    const ended = Promise.withResolvers<void>()
    const upstream = await upstreamThat((socket) => {
      socket.on('data', (chunk) => requests.push(chunk.toString('latin1')))
      socket.once('end', () => ended.resolve())
    })
    const sent = send(upstream)
    sent.attempt.cancel()
    expect(await reportedLines(upstream, sent)).toEqual(['cancelled beforeHeaders'])
    await ended.promise
    expect(requests).toEqual([])
  })

  test('in the middle of its upload', async () => {
    const reading = Promise.withResolvers<void>()
    const upstream = await upstreamThat((socket) => {
      socket.once('data', () => {
        socket.pause()
        reading.resolve()
      })
    })
    const sent = send(upstream, { body: LARGE })
    await reading.promise
    sent.attempt.cancel()
    expect(await reportedLines(upstream, sent)).toEqual(['cancelled beforeHeaders'])
  })

  test('before headers', async () => {
    const received = Promise.withResolvers<void>()
    const upstream = await afterRequest(() => received.resolve())
    const sent = send(upstream)
    await received.promise
    sent.attempt.cancel()
    expect(await reportedLines(upstream, sent)).toEqual(['cancelled beforeHeaders'])
  })

  test.each<['onStart' | 'onData', string[]]>([
    ['onStart', ['start 200', 'cancelled afterHeaders']],
    ['onData', ['start 200', 'data', 'cancelled afterHeaders']],
  ])('from %s, with more of the answer there', async (moment, lines) => {
    const upstream = await afterRequest((socket) => {
      socket.write(
        'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n',
      )
    })
    const sent = send(upstream)
    sent.diary[moment] = () => sent.attempt.cancel()
    expect(await reportedLines(upstream, sent)).toEqual(lines)
  })

  test('after its end reports nothing', async () => {
    const upstream = await afterRequest((socket) => socket.end(WHOLE))
    const sent = send(upstream)
    await sent.diary.ended
    sent.attempt.cancel()
    expect(await reportedLines(upstream, sent)).toEqual(['start 200', 'data', 'end'])
  })
})
