import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { type Answer, LoadConnection } from './load-connection.ts'

const closing = new Set<() => void>()
afterEach(() => {
  for (const close of closing) close()
  closing.clear()
})

const REQUEST = { head: Buffer.from('POST / HTTP/1.1\r\n\r\n'), body: Buffer.from('{}') }

interface Pair {
  readonly connection: LoadConnection
  readonly server: Socket
}

async function pair(): Promise<Pair> {
  const listener = createServer({ noDelay: true })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const accepted = once(listener, 'connection')
  const { port } = listener.address() as AddressInfo // a TCP server has a port
  const connection = await LoadConnection.open(`http://127.0.0.1:${port}`)
  const [server] = (await accepted) as [Socket] // what a listener hands out
  closing.add(() => {
    connection.close()
    server.destroy()
    listener.close()
  })
  return { connection, server }
}

/** Sends a request, and answers it with these bytes, written one at a time. */
async function answered({ connection, server }: Pair, bytes: string): Promise<Answer> {
  const answer = connection.send(REQUEST)
  for (const byte of bytes) await new Promise((resolve) => server.write(byte, resolve))
  return answer
}

test('an answer of a known length is read, however it is cut, and the next one after it', async () => {
  const both = await pair()
  for (const text of ['one', 'three']) {
    const answer = await answered(
      both,
      `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\nX-Request-Id: req_1\r\n\r\n${text}`,
    )
    expect(answer.httpStatus).toBe(200)
    expect(answer.headers.get('x-request-id')).toBe('req_1')
    expect(answer.body.toString()).toBe(text)
  }
})

test('a chunked answer is read, however it is cut, and the next one after it', async () => {
  const both = await pair()
  for (const _ of [1, 2]) {
    const answer = await answered(
      both,
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\na\n\n\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n',
    )
    expect(answer.body.toString()).toBe('a\n\n0123456789abcdef')
  }
})

test('an answer without a body ends with its head', async () => {
  const answer = await answered(await pair(), 'HTTP/1.1 204 No Content\r\n\r\n')
  expect(answer).toMatchObject({ httpStatus: 204, firstEventAtMs: null })
})

test('the first event of a stream is timed, and not the comments before it', async () => {
  const { connection, server } = await pair()
  const pieces = new Set<string>()
  const received = Promise.withResolvers<number>()
  const answer = connection.send({
    ...REQUEST,
    onPiece(piece) {
      pieces.add(piece.toString())
      received.resolve(performance.now())
    },
  })
  server.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n:\n\n\r\n')
  const commentAtMs = await received.promise
  server.write('9\r\ndata: 1\n\n\r\n0\r\n\r\n')
  const { firstEventAtMs } = await answer
  expect(firstEventAtMs).toBeGreaterThan(commentAtMs)
  expect([...pieces]).toEqual([':\n\n', 'data: 1\n\n'])
})

test('an answer that is cut short is a fault, not a short answer', async () => {
  const { connection, server } = await pair()
  const answer = connection.send(REQUEST)
  server.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\na\n\n\r\n')
  await expect(answer).rejects.toThrow('closed before the end')
})
