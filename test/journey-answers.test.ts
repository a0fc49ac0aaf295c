import { once } from 'node:events'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { messages } from '../src/formats/messages.ts'
import { createByteBudget } from '../src/journey/gate/byte-budget.ts'
import { CHAT_BODY, type JourneyWorld, STREAM_BODY, startJourneyWorld } from './journey-world.ts'
import { answering, beginning, dial, wholeRequest } from './raw-server.ts'

const MIB = 1024 * 1024
const SUCCESS = '{"id":"gen-1","usage":{"prompt_tokens":1,"cost":0.001}}'

function answerOf(head: string, body: string | Buffer, length = Buffer.byteLength(body)): Buffer {
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${head}\r\ncontent-length: ${length}\r\n\r\n`, 'latin1'),
    Buffer.from(body),
  ])
}

async function post(to: JourneyWorld, body: string | Buffer, headers: Record<string, string> = {}) {
  const answer = await request(to.url, { method: 'POST', body, headers })
  return { httpStatus: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
}

interface Row {
  readonly what: string
  readonly answer: Buffer
  readonly body?: string
  readonly httpStatus: number
  readonly code: string
  readonly state: string
}

const JSON_TYPE = '\r\ncontent-type: application/json'

const FAILURES: readonly Row[] = [
  {
    what: 'an error whose body is lost keeps its status, and costs nothing',
    answer: answerOf('429 Too Many\r\nretry-after: 7', '{"er', 100),
    httpStatus: 429,
    code: 'provider_rate_limited',
    state: 'released',
  },
  {
    what: 'an error that is longer than any answer keeps its status too',
    answer: answerOf('400 Bad', 'x'.repeat(2 * MIB)),
    httpStatus: 400,
    code: 'provider_rejected_request',
    state: 'released',
  },
  {
    what: 'an error that is alone in a list is read',
    answer: answerOf(
      '400 Bad',
      '[{"error":{"code":400,"message":"LEAK: the input token count (9) exceeds the maximum number of tokens allowed (8)."}}]',
    ),
    httpStatus: 400,
    code: 'context_length_exceeded',
    state: 'released',
  },
  {
    what: 'a success that is longer than any answer',
    answer: answerOf('200 OK', 'x'.repeat(2 * MIB)),
    httpStatus: 502,
    code: 'upstream_error',
    state: 'unresolved',
  },
  {
    what: 'a success in a coding that was not asked for',
    answer: answerOf('200 OK\r\ncontent-encoding: gzip', gzipSync(SUCCESS)),
    httpStatus: 502,
    code: 'upstream_error',
    state: 'unresolved',
  },
  {
    what: 'an error in a coding that was not asked for',
    answer: answerOf('404 None\r\ncontent-encoding: gzip', gzipSync('{"error":{"code":429}}')),
    httpStatus: 404,
    code: 'provider_not_found',
    state: 'released',
  },
  {
    what: 'a success that is no JSON',
    answer: answerOf('200 OK', 'LEAK'),
    httpStatus: 502,
    code: 'upstream_error',
    state: 'unresolved',
  },
  {
    what: 'a success without a body',
    answer: answerOf('200 OK', ''),
    httpStatus: 502,
    code: 'upstream_error',
    state: 'unresolved',
  },
  {
    what: 'a stream that nobody asked for',
    answer: answerOf('200 OK\r\ncontent-type: text/event-stream', 'data: [DONE]\n\n'),
    httpStatus: 502,
    code: 'upstream_error',
    state: 'unresolved',
  },
  {
    what: 'a redirection',
    answer: answerOf('302 Found\r\nlocation: http://LEAK/', ''),
    httpStatus: 502,
    code: 'upstream_error',
    state: 'released',
  },
  {
    what: 'an error to a stream',
    answer: answerOf(`400 Bad${JSON_TYPE}`, '{"error":{"code":400,"message":"LEAK"}}'),
    body: STREAM_BODY,
    httpStatus: 400,
    code: 'provider_rejected_request',
    state: 'released',
  },
  {
    what: 'a stream in a coding that was not asked for',
    answer: answerOf(
      '200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip',
      gzipSync('data: [DONE]\n\n'),
    ),
    body: STREAM_BODY,
    httpStatus: 502,
    code: 'upstream_error',
    state: 'released',
  },
]

describe('a provider that answers', () => {
  test.each(FAILURES)('$what: $httpStatus, $state', async (row) => {
    const to = await startJourneyWorld({ upstream: answering(row.answer), answerBytesMax: MIB })
    const { httpStatus, headers, text } = await post(to, row.body ?? CHAT_BODY)
    expect([httpStatus, JSON.parse(text).error.code]).toEqual([row.httpStatus, row.code])
    expect(JSON.stringify(headers) + text).not.toContain('LEAK')
    expect(headers['x-service-cost']).toBeUndefined()
    if (httpStatus === 429) expect(headers['retry-after']).toBe('7')
    expect(await to.onlyRequest()).toMatchObject({
      state: row.state,
      httpStatus: row.httpStatus,
      errorCode: row.code,
    })
  })

  test.each([
    ['a whole answer', CHAT_BODY],
    ['a stream', STREAM_BODY],
  ])(
    'nothing, and takes only a part of the request before the deadline of %s: 504, and the hold is released',
    async (_, body) => {
      const to = await startJourneyWorld({
        upstream: (socket) => socket.pause(),
        timeouts: { headersTimeoutMs: 500 },
      })
      // More than the buffers of both sockets take.
      const answer = await post(to, body.replace('{', `{${' '.repeat(24 * MIB)}`))
      expect([answer.httpStatus, JSON.parse(answer.text).error.code]).toEqual([
        504,
        'upstream_timeout',
      ])
      expect(await to.onlyRequest()).toMatchObject({
        state: 'released',
        httpStatus: 504,
        errorCode: 'upstream_timeout',
      })
    },
  )

  test('with an error whose body never comes is past its deadline: 504, and its credit stays held', async () => {
    const { upstream } = beginning('HTTP/1.1 400 Bad\r\ncontent-length: 10\r\n\r\n')
    const to = await startJourneyWorld({ upstream, timeouts: { stallTimeoutMs: 50 } })
    expect((await post(to, CHAT_BODY)).httpStatus).toBe(504)
    const held = { state: 'unresolved', errorCode: 'upstream_timeout' }
    expect(await to.onlyRequest()).toMatchObject(held)
  })

  test('a stream with a whole answer is relayed whole, with its cost', async () => {
    const to = await startJourneyWorld({
      upstream: answering(answerOf(`200 OK${JSON_TYPE}`, SUCCESS)),
    })
    const { httpStatus, headers, text } = await post(to, STREAM_BODY)
    expect([httpStatus, text]).toEqual([200, SUCCESS])
    expect(headers).toMatchObject({ 'x-service-cost': '1050', 'content-type': 'application/json' })
  })

  test.each([
    ['whole', CHAT_BODY, '{"id":"gen-1","usage":USAGE}', ''],
    [
      'streamed',
      STREAM_BODY,
      'data: {"id":"gen-1","choices":[],"usage":USAGE}\n\ndata: [DONE]\n\n',
      '\r\ncontent-type: text/event-stream',
    ],
  ])(
    '%s, with a billion tokens and no cost, charges nothing until the provider was asked for it',
    async (_, body, answer, type) => {
      const usage = '{"prompt_tokens":999999999,"completion_tokens":999999999}'
      const written = answerOf(`200 OK${type}`, answer.replace('USAGE', usage))
      const to = await startJourneyWorld({ upstream: answering(written) })
      expect((await post(to, body)).httpStatus).toBe(200)
      expect(await to.onlyRequest()).toMatchObject({
        state: 'unresolved',
        backedChargeMicros: 0,
        generationId: 'gen-1',
      })
    },
  )

  test('with its own headers relays only the listed ones, and none that cannot be written', async () => {
    const more = [
      'x-should-retry: true',
      'anthropic-ratelimit-requests-limit: 50',
      'anthropic-ratelimit-odd: \u20ac',
      'set-cookie: LEAK=1',
      'x-served-by: LEAK',
      'content-type: text/html; LEAK',
    ].join('\r\n')
    const head = Buffer.from(`HTTP/1.1 200 OK\r\n${more}\r\ncontent-length: 2\r\n\r\n{}`)
    const to = await startJourneyWorld({ upstream: answering(head), format: messages })
    const { httpStatus, headers } = await post(to, CHAT_BODY)
    expect(httpStatus).toBe(200)
    expect(Object.keys(headers).sort()).toEqual([
      'anthropic-ratelimit-requests-limit',
      'connection',
      'content-length',
      'content-type',
      'date',
      'keep-alive',
      'ratelimit',
      'ratelimit-policy',
      'request-id',
      'x-request-id',
      'x-service-cost',
      'x-should-retry',
    ])
    expect(headers['content-type']).toBe('application/json')
  })

  test('with more than true or false in `x-should-retry` does not relay that header', async () => {
    const answer = answerOf('529 Busy\r\nx-should-retry: ask LEAK', '{}')
    const to = await startJourneyWorld({ upstream: answering(answer), format: messages })
    const { httpStatus, headers } = await post(to, CHAT_BODY)
    expect([httpStatus, headers['x-should-retry']]).toEqual([502, undefined])
  })
})

describe('memory that is used up', () => {
  const small = () => ({ byteBudget: createByteBudget({ bytesMax: MIB }) })

  test('by a body: 503, and no hold is opened', async () => {
    const to = await startJourneyWorld({ upstream: () => {}, replace: small })
    const { httpStatus, headers, text } = await post(to, `{"x":"${'x'.repeat(2 * MIB)}"}`)
    expect([httpStatus, JSON.parse(text).error.code]).toEqual([503, 'service_unavailable'])
    expect(headers['retry-after']).toBe('1')
  })

  test('by an answer: 503, and its credit stays held', async () => {
    const to = await startJourneyWorld({
      upstream: answering(answerOf('200 OK', 'x'.repeat(2 * MIB))),
      replace: small,
    })
    const { httpStatus, text } = await post(to, CHAT_BODY)
    expect([httpStatus, JSON.parse(text).error.code]).toEqual([503, 'service_unavailable'])
    expect(await to.onlyRequest()).toMatchObject({ state: 'unresolved' })
  })
})

describe('a body', () => {
  test.each<[string, Buffer]>([
    ['gzip', gzipSync(CHAT_BODY)],
    ['x-gzip', gzipSync(CHAT_BODY)],
    ['br', brotliCompressSync(CHAT_BODY)],
    ['zstd', zstdCompressSync(CHAT_BODY)],
    ['identity', Buffer.from(CHAT_BODY)],
  ])('coded as %s goes upstream as what it stands for', async (coding, body) => {
    const received = Promise.withResolvers<string>()
    const to = await startJourneyWorld({
      upstream: async (socket) => {
        received.resolve(await wholeRequest(socket))
        socket.end(answerOf('200 OK', SUCCESS))
      },
    })
    const { httpStatus } = await post(to, body, { 'content-encoding': coding })
    expect(httpStatus).toBe(200)
    const head = (await received.promise).split('\r\n\r\n')[0]
    expect(head).toMatch(/^accept-encoding: identity$/m)
    expect(head).not.toMatch(/^content-encoding/m)
  })

  test.each<[string, Buffer]>([
    ['gzip', gzipSync(CHAT_BODY).subarray(0, -12)],
    ['br', brotliCompressSync(CHAT_BODY).subarray(0, -4)],
    ['zstd', zstdCompressSync(CHAT_BODY).subarray(0, -4)],
  ])('coded as %s that ends early is answered 400', async (coding, body) => {
    const to = await startJourneyWorld({ upstream: () => {} })
    const { httpStatus, text } = await post(to, body, { 'content-encoding': coding })
    expect([httpStatus, JSON.parse(text).error.code]).toEqual([400, 'bad_request'])
  })

  test('that stops coming is answered 408, and its connection is closed', async () => {
    const to = await startJourneyWorld({ upstream: () => {}, bodyTimeoutMs: 50 })
    const head = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 100000'
    const socket = dial(to, `${head}\r\n\r\n{"model":`)
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1\.1 408 /)
    expect(String(answer)).toMatch(/^connection: close\r$/m)
    expect(String(answer)).toContain('"code":"request_timeout"')
  })
})
