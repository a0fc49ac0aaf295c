import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { messages } from '../src/formats/messages.ts'
import { Problem } from '../src/vocabulary/problem.ts'
import {
  CHAT_BODY,
  type JourneyWorld,
  type JourneyWorldInput,
  startJourneyWorld,
} from './journey-world.ts'
import { wholeRequest } from './raw-server.ts'

let sockets: Socket[] = []

beforeEach(() => {
  sockets = []
})
afterEach(() => {
  for (const socket of sockets) socket.destroy()
})

function start(input: Partial<JourneyWorldInput> = {}): Promise<JourneyWorld> {
  return startJourneyWorld({ upstream: answerOk, ...input })
}

const ANSWER = '{"id":"gen-1","usage":{"prompt_tokens":1,"cost":0.001}}'

async function answerOk(socket: Socket): Promise<void> {
  for (;;) {
    await wholeRequest(socket)
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${ANSWER.length}\r\n\r\n${ANSWER}`)
  }
}

const head = (framing: string, path = '/v1/chat/completions'): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\n${framing}\r\n\r\n`
const CHUNKED = head('transfer-encoding: chunked')
const WHOLE = head(`content-length: ${CHAT_BODY.length}`) + CHAT_BODY

interface Client {
  readonly socket: Socket
  /** Resolves with all that came so far, once it has this in it. */
  received(pattern: RegExp): Promise<string>
}

/** A connection that stays open as long as its client likes, also once the gateway has ended its side. */
function dial(to: JourneyWorld, text: string | Buffer): Client {
  const socket = connect({ port: to.port, host: '127.0.0.1', allowHalfOpen: true })
  sockets.push(socket)
  socket.on('error', () => {})
  socket.write(text)
  let all = ''
  socket.on('data', (part) => {
    all += String(part)
  })
  return {
    socket,
    async received(pattern) {
      while (!pattern.test(all)) await once(socket, 'data')
      return all
    },
  }
}

const ERROR_400 = /^HTTP\/1\.1 400 .*"code":"bad_request"/s
const GZIPPED = gzipSync(CHAT_BODY)

const ENDED_INSIDE: readonly (readonly [string, string | Buffer])[] = [
  ['a body of a declared length', `${head('content-length: 1000')}${CHAT_BODY}`],
  ['a body of which nothing has come', head('content-length: 1000')],
  ['a chunked body', `${CHUNKED}5\r\n{"a":`],
  ['a chunked body, between two chunks', `${CHUNKED}5\r\n{"a":\r\n`],
  ['its trailers', `${CHUNKED}5\r\n{"a":\r\n0\r\nx-more: 1\r\n`],
  [
    'a gzipped body',
    Buffer.concat([
      Buffer.from(head('content-length: 1000\r\ncontent-encoding: gzip')),
      GZIPPED.subarray(0, 20),
    ]),
  ],
  [
    'a body of HTTP/1.0',
    `${head('content-length: 1000').replace('HTTP/1.1', 'HTTP/1.0')}${CHAT_BODY}`,
  ],
  [
    'a body that it was invited to send',
    `${head('content-length: 1000\r\nexpect: 100-continue')}${CHAT_BODY}`,
  ],
]

describe('a client that ends its side of the connection in the middle of', () => {
  test.each(ENDED_INSIDE)('%s leaves its place in flight at once', async (_, sent) => {
    const to = await start()
    // One for each place in flight. Their connections linger: these clients never close them.
    for (let place = 0; place < 2; place++) {
      const client = dial(to, sent)
      client.socket.end()
      const answer = await client.received(/"code":"bad_request"/)
      expect(answer).toMatch(/x-request-id: req_/)
    }
    await dial(to, WHOLE).received(/^HTTP\/1\.1 200 .*gen-1/s)
  })
})

const BROKEN: readonly (readonly [string, string])[] = [
  ['a chunk whose size is no number', 'zz\r\n'],
  ['a chunk that is longer than its size', '2\r\n{"a":1}\r\n0\r\n\r\n'],
  ['a broken chunk behind a whole one', '5\r\n{"a":\r\nzz\r\n'],
  ['a trailer that is none', '2\r\n{}\r\n0\r\n\x01 \x02\r\n\r\n'],
]

describe('a body that is broken by', () => {
  test.each(BROKEN)('%s is answered at once, and its place in flight is free', async (_, sent) => {
    const to = await start()
    for (let place = 0; place < 2; place++) {
      const answer = await dial(to, CHUNKED + sent).received(ERROR_400)
      expect(answer).toMatch(/x-request-id: req_/)
      expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1)
    }
    await dial(to, WHOLE).received(/^HTTP\/1\.1 200 .*gen-1/s)
    for (const socket of sockets) socket.destroy()
  })

  test.each(BROKEN)('%s is answered in the envelope of messages, on messages', async (_, sent) => {
    const to = await start({ format: messages })
    const client = dial(to, head('transfer-encoding: chunked', messages.path) + sent)
    const answer = await client.received(/^HTTP\/1\.1 400 .*}$/s)
    const body = JSON.parse(answer.slice(answer.indexOf('{')))
    expect(body).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } })
    expect(answer).toContain(`x-request-id: ${body.request_id}`)
    client.socket.destroy()
  })

  test.each(BROKEN)('%s does not affect the answer to the request before it', async (_, sent) => {
    const to = await start()
    const client = dial(to, WHOLE + CHUNKED + sent)
    const answer = await client.received(/"code":"bad_request"/)
    expect(answer).toMatch(/^HTTP\/1\.1 200 .*gen-1.*HTTP\/1\.1 400 .*x-request-id: req_/s)
    client.socket.destroy()
  })

  test.each(BROKEN)(
    '%s after an early refusal ends the connection and has no other effect',
    async (_, sent) => {
      const to = await start({
        replace: () => ({ authenticate: () => Promise.reject(new Problem('invalid_api_key')) }),
      })
      const client = dial(to, `${CHUNKED}5\r\n{"a":\r\n`)
      await client.received(/^HTTP\/1\.1 401 .*}$/s)
      client.socket.end(sent)
      await once(client.socket, 'end')
      expect(await client.received(/}$/)).not.toContain('bad_request')
    },
  )
})

test('a client that leaves in the middle of its body is not waited for, even behind another request', async () => {
  const to = await start()
  const client = dial(to, `${WHOLE}${head('content-length: 1000')}{`)
  client.socket.end()
  const answer = await client.received(/"code":"bad_request"/)
  expect(answer).toMatch(/^HTTP\/1\.1 200 .*gen-1/s)
})
