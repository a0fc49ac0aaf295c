import { once } from 'node:events'
import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http'
import type { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Problem } from '../src/vocabulary/problem.ts'
import { CHAT_BODY, type JourneyWorld, STREAM_BODY, startJourneyWorld } from './journey-world.ts'
import { answerOf, CLOSED_STREAM, dial, posted, wholeRequest } from './raw-server.ts'

let agent: Agent

beforeEach(() => {
  agent = new Agent({ keepAlive: true, maxSockets: 1 })
})
afterEach(() => {
  agent.destroy()
})

const ANSWER = '{"id":"gen-1","usage":{"prompt_tokens":1,"cost":0.001}}'
const OK = answerOf(ANSWER)
const EVENT = 'data: {"id":"gen-1","choices":[{"delta":{"content":"word"}}]}\n\n'

async function answerOk(socket: Socket): Promise<void> {
  for (;;) {
    await wholeRequest(socket)
    socket.write(OK)
  }
}

/** Everything that comes on a connection, until the gateway closes it or the text is there. */
async function received(socket: Socket, until: (text: string) => boolean): Promise<string> {
  let text = ''
  for await (const part of socket) {
    text += String(part)
    if (until(text)) break
  }
  return text
}

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

describe('requests that are sent ahead of their turn', () => {
  test('are answered one after the other, and take one place in flight', async () => {
    const to = await startJourneyWorld({ upstream: answerOk })
    const socket = dial(to, posted(CHAT_BODY).repeat(5))
    const text = await received(socket, (sofar) => count(sofar, /"gen-1"/g) === 5)
    expect(count(text, /HTTP\/1\.1 200 OK/g)).toBe(5)
  })

  test('are answered without end, as long as not too many wait at a time', async () => {
    const to = await startJourneyWorld({ upstream: answerOk })
    const socket = dial(to, posted(CHAT_BODY).repeat(2))
    let sent = 2
    const text = await received(socket, (sofar) => {
      const answered = count(sofar, /"gen-1"/g)
      for (; sent < Math.min(50, answered + 2); sent++) socket.write(posted(CHAT_BODY))
      return answered === 50
    })
    expect(count(text, /HTTP\/1\.1 200 OK/g)).toBe(50)
  })

  test('are forgotten with their connection', async () => {
    let requests = 0
    const reached = Promise.withResolvers<void>()
    const to = await startJourneyWorld({
      upstream: async (socket) => {
        await wholeRequest(socket)
        requests++
        reached.resolve()
      },
    })
    const socket = dial(to, posted(STREAM_BODY).repeat(3))
    await reached.promise
    const [first] = to.clients
    if (first === undefined) throw new Error('no client')
    const gone = once(first, 'close')
    socket.resetAndDestroy()
    await gone
    // The call is read on without its client until the provider answers, which it never does.
    await to.upstream.destroy()
    expect(await to.onlyRequest()).toMatchObject({ errorCode: 'client_gone' })
    expect(requests).toBe(1)
  })

  test('are answered up to sixteen waiting ones, and then the connection ends', async () => {
    const to = await startJourneyWorld({ upstream: answerOk })
    const socket = dial(to, posted(CHAT_BODY).repeat(20))
    const text = await received(socket, () => false)
    expect(count(text, /HTTP\/1\.1 200 OK/g)).toBe(16)
    expect(count(text, /"gen-1"/g)).toBe(16)
    expect(count(text, /connection: close/gi)).toBe(1)
    expect(text.lastIndexOf('HTTP/1.1')).toBeLessThan(text.search(/connection: close/i))
  })

  test.each([
    [
      'a head that is refused',
      `POST /v1/none HTTP/1.1\r\nhost: x\r\nhost: y\r\ncontent-length: 0\r\n\r\n`,
      400,
    ],
    [
      'a body that is not read',
      `POST /v1/none HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      404,
    ],
    [
      'a body that was not asked for',
      `POST /v1/none HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n{}`,
      404,
    ],
  ])('are not run behind %s, whose answer ends the connection', async (_, first, httpStatus) => {
    const to = await startJourneyWorld({ upstream: answerOk })
    const socket = dial(to, first + posted(CHAT_BODY).repeat(2))
    const text = await received(socket, () => false)
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${httpStatus} `))
    expect(text).toMatch(/\r\nconnection: close\r\n/i)
    expect(count(text, /HTTP\/1\.1 /g)).toBe(1)
    await to.inference.idle()
    expect(to.ended).toEqual([])
  })

  test('are not all kept in memory while the first one runs', async () => {
    const to = await startJourneyWorld({ upstream: (socket) => socket.resume() })
    const socket = dial(to, posted(STREAM_BODY).repeat(10_000))
    socket.end()
    await once(socket.resume(), 'close')
    // The bytes of one read of the connection: the rest is dropped unread.
    expect(to.clients.length).toBeLessThan(1_000)
    await to.upstream.destroy()
  })
})

describe('bytes that are not HTTP', () => {
  test('behind requests that have no answer yet are refused after their answers', async () => {
    const nonsenseHasCome = Promise.withResolvers<void>()
    const to = await startJourneyWorld({
      upstream: async (socket) => {
        await wholeRequest(socket)
        await nonsenseHasCome.promise
        socket.write(OK)
        await answerOk(socket)
      },
    })
    const socket = dial(to, `${posted(CHAT_BODY).repeat(2)}nonsense\r\n\r\n`)
    await expect.poll(() => to.clients[0]?.socket?.bytesRead).toBe(socket.bytesWritten)
    nonsenseHasCome.resolve()
    const text = await received(socket, () => false)
    expect(text.match(/HTTP\/1\.1 \d+|"gen-1"|"bad_request"|connection: close/g)).toEqual([
      ...['HTTP/1.1 200', '"gen-1"', 'HTTP/1.1 200', '"gen-1"'],
      ...['HTTP/1.1 400', 'connection: close', '"bad_request"'],
    ])
    expect(to.ended).toHaveLength(2)
  })

  test('in the middle of a stream are refused after it', async () => {
    const nonsenseHasCome = Promise.withResolvers<void>()
    const to = await startJourneyWorld({
      upstream: async (socket) => {
        await wholeRequest(socket)
        socket.write(CLOSED_STREAM + EVENT)
        await nonsenseHasCome.promise
        socket.end('data: [DONE]\n\n')
      },
    })
    const socket = dial(to, posted(STREAM_BODY))
    let text = ''
    socket.on('data', (part) => {
      if (text === '') socket.write('\x16\x03\x01 this is no HTTP\r\n\r\n')
      text += String(part)
    })
    await expect.poll(() => text).not.toBe('')
    await expect.poll(() => to.clients[0]?.socket?.bytesRead).toBe(socket.bytesWritten)
    nonsenseHasCome.resolve()
    await once(socket, 'close')
    expect(text).toMatch(/\[DONE\][\s\S]*HTTP\/1\.1 400 [\s\S]*"bad_request"/)
    expect(count(text, /HTTP\/1\.1/g)).toBe(2)
  })

  test('are none in a head that a client leaves unfinished behind a request: it counts as gone', async () => {
    const to = await startJourneyWorld({ upstream: (socket) => socket.resume() })
    const socket = dial(to, `${posted(STREAM_BODY)}POST /v1/chat/completions HTTP/1.1\r\nhost: t`)
    await expect.poll(() => to.clients[0]?.socket?.bytesRead).toBe(socket.bytesWritten)
    socket.end()
    expect(await received(socket, () => false)).toBe('')
    // The call is read on without its client until the provider answers, which it never does.
    await to.upstream.destroy()
    expect(await to.onlyRequest()).toMatchObject({ errorCode: 'client_gone' })
  })

  test('in a chunked body are answered 400 in the envelope', async () => {
    const to = await startJourneyWorld({ upstream: () => {} })
    const socket = dial(
      to,
      'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
    )
    const text = await received(socket, (sofar) => sofar.endsWith('}}'))
    expect(text).toMatch(/^HTTP\/1\.1 400 /)
    expect(text).toContain('"code":"bad_request"')
    socket.destroy()
  })
})

interface Answered {
  readonly httpStatus: number
  readonly text: string
  readonly reused: boolean
  readonly continued: boolean
}

/** Sends a request on the one kept connection; with `expect`, it sends the body only after a 100. */
async function send(
  to: JourneyWorld,
  { body = '', ...options }: RequestOptions & { readonly body?: string },
): Promise<Answered> {
  const sent = request({ port: to.port, agent, path: '/v1/chat/completions', ...options })
  let continued = false
  sent.on('continue', () => {
    continued = true
    sent.end(body)
  })
  if (sent.getHeader('expect') === '100-continue') sent.flushHeaders()
  else sent.end(body)
  const [answer]: IncomingMessage[] = await once(sent, 'response')
  if (answer === undefined) throw new Error('no answer')
  let text = ''
  for await (const part of answer) text += String(part)
  return { httpStatus: answer.statusCode ?? 0, text, reused: sent.reusedSocket, continued }
}

test('a connection stays usable after every kind of refusal and failure', async () => {
  const script = [
    'HTTP/1.1 500 Bad\r\ncontent-length: 4\r\n\r\nLEAK',
    'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nLEAK',
    'HTTP/1.1 200 OK\r\ncontent-length: 400\r\n\r\nLEAK',
  ]
  const to = await startJourneyWorld({
    upstream: async (socket) => {
      await wholeRequest(socket)
      socket.end(script.shift() ?? OK)
    },
  })
  const rows: [RequestOptions & { readonly body?: string }, number][] = [
    [{ method: 'GET', path: '/v1/none' }, 404],
    [{ method: 'POST', path: '/v1/none', body: CHAT_BODY }, 404],
    [{ method: 'PUT', body: CHAT_BODY }, 404],
    [{ method: 'DELETE' }, 404],
    [{ method: 'OPTIONS' }, 404],
    [{ method: 'PROPFIND' }, 404],
    [{ method: 'HEAD' }, 404],
    [{ method: 'HEAD', path: '/v1/models' }, 200],
    [{ method: 'GET', path: '/v1/models/a%ZZ' }, 404],
    [
      {
        method: 'GET',
        path: '/v1/models',
        body: CHAT_BODY,
        headers: { 'content-length': CHAT_BODY.length },
      },
      200,
    ],
    [{ method: 'POST', body: '{' }, 400],
    [{ method: 'POST', body: '' }, 400],
    [{ method: 'POST', body: '{"messages":[]}' }, 400],
    [{ method: 'POST', body: CHAT_BODY }, 502],
    [{ method: 'POST', body: CHAT_BODY }, 502],
    [{ method: 'POST', body: CHAT_BODY }, 502],
    [{ method: 'POST', body: CHAT_BODY, headers: { expect: 'the-unexpected' } }, 200],
    [{ method: 'POST', body: CHAT_BODY, headers: { expect: '100-continue' } }, 200],
    [{ method: 'POST', body: CHAT_BODY }, 200],
  ]
  for (const [index, [options, expected]] of rows.entries()) {
    const { httpStatus, text, reused } = await send(to, options)
    const what = `${options.method} ${options.path ?? ''} ${index}`
    expect([what, httpStatus, reused]).toEqual([what, expected, index > 0])
    expect(text).not.toContain('LEAK')
    if (httpStatus >= 400 && options.method !== 'HEAD') {
      expect(Object.keys(JSON.parse(text).error)).toEqual(['message', 'type', 'code', 'param'])
    }
  }
})

describe('a client that offers another protocol is answered in HTTP/1.1', () => {
  const offered = (line: string, protocol: string, body = ''): string =>
    `${line} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: ${protocol}\r\n` +
    `http2-settings: AAMAAABkAAQAoAAAAAIAAAAA\r\ncontent-length: ${body.length}\r\n\r\n${body}`

  test('as Java does with HTTP/2, on a connection that stays usable', async () => {
    const to = await startJourneyWorld({ upstream: answerOk })
    const asked = offered('POST /v1/chat/completions', 'h2c', CHAT_BODY)
    const socket = dial(to, asked)
    let sent = 1
    const text = await received(socket, (sofar) => {
      const answered = count(sofar, /"gen-1"/g)
      if (answered === sent && sent++ < 2) socket.write(asked)
      return answered === 2
    })
    expect(count(text, /HTTP\/1\.1 200 OK/g)).toBe(2)
    socket.destroy()
  })

  test('as browsers and SDKs do with WebSocket', async () => {
    const to = await startJourneyWorld({ upstream: () => {} })
    const socket = dial(to, offered('GET /v1/realtime?model=x', 'websocket'))
    const text = await received(socket, (sofar) => sofar.endsWith('}}'))
    expect(text).toMatch(/^HTTP\/1\.1 404 /)
    expect(text).toContain('"code":"not_found"')
    socket.destroy()
  })
})

describe('a client that sends Expect: 100-continue', () => {
  const asking = { expect: '100-continue', 'content-length': CHAT_BODY.length }

  test('is answered 100 when its body is about to be read', async () => {
    const to = await startJourneyWorld({ upstream: answerOk })
    const answer = await send(to, { method: 'POST', headers: asking, body: CHAT_BODY })
    expect(answer).toMatchObject({ httpStatus: 200, continued: true })
  })

  test('is refused without uploading if its head is refused', async () => {
    const to = await startJourneyWorld({
      upstream: () => {},
      replace: () => ({ authenticate: () => Promise.reject(new Problem('invalid_api_key')) }),
    })
    const answer = await send(to, { method: 'POST', headers: asking, body: CHAT_BODY })
    expect(answer).toMatchObject({ httpStatus: 401, continued: false })
  })

  test.each([
    ['POST /v1/chat/completions', 401],
    ['POST /v1/none', 404],
    ['GET /v1/models', 200],
    ['DELETE /healthz', 404],
  ])(
    'and is answered without, by %s, sends its next request on another connection: it would be read as the body',
    async (line, httpStatus) => {
      const to = await startJourneyWorld({
        upstream: () => {},
        replace: () => ({ authenticate: () => Promise.reject(new Problem('invalid_api_key')) }),
      })
      const socket = dial(
        to,
        `${line} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 40\r\n\r\n`,
      )
      const text = await received(socket, (sofar) => /\r\n\r\n\{.*\}$/s.test(sofar))
      socket.destroy()
      expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${httpStatus} `))
      expect(text).toMatch(/\r\nconnection: close\r\n/i)
    },
  )

  test('is refused without uploading if its body would be too large', async () => {
    const to = await startJourneyWorld({ upstream: () => {} })
    const headers = { ...asking, 'content-length': 33 * 1024 * 1024 }
    const answer = await send(to, { method: 'POST', headers, body: CHAT_BODY })
    expect(answer).toMatchObject({ httpStatus: 413, continued: false })
  })
})
