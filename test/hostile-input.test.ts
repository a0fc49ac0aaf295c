import { once } from 'node:events'
import { METHODS } from 'node:http'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { beforeAll, expect, test } from 'vitest'
import { worldOfFile } from './world.ts'

let apiKey: string

const world = worldOfFile()
beforeAll(async () => {
  apiKey = (await world.account()).apiKey
})

const MIB = 1024 * 1024
const VALID = '{"model":"sim/text","messages":[{"role":"user","content":"Hi"}]}'

const MORE_VALUES =
  'The body is nested deeper than 512 levels, or has more values than the gateway reads.'

interface Hostile {
  readonly what: string
  readonly body: string | Buffer
  readonly status: number
  readonly code: string
  readonly param?: string | null
  readonly message?: string
  readonly headers?: Readonly<Record<string, string>>
}

const HOSTILE: readonly Hostile[] = [
  { what: 'an empty body', body: '', status: 400, code: 'invalid_json' },
  { what: 'no JSON', body: 'model=sim/text', status: 400, code: 'invalid_json' },
  { what: 'an array', body: `[${VALID}]`, status: 400, code: 'invalid_json' },
  { what: 'a string', body: '"sim/text"', status: 400, code: 'invalid_json' },
  {
    what: 'invalid UTF-8',
    body: Buffer.from('{"model":"\xff"}', 'latin1'),
    status: 400,
    code: 'invalid_json',
  },
  { what: 'a byte order mark', body: `\ufeff${VALID}`, status: 400, code: 'invalid_json' },
  {
    what: 'the model twice',
    body: '{"model":"sim/open","model":"sim/text"}',
    status: 400,
    code: 'invalid_json',
  },
  {
    what: 'the model twice, escaped',
    body: '{"model":"a/b","\\u006dodel":"sim/text"}',
    status: 400,
    code: 'invalid_json',
  },
  { what: 'no model', body: '{"messages":[]}', status: 400, code: 'missing_model', param: 'model' },
  {
    what: 'a null model',
    body: '{"model":null}',
    status: 400,
    code: 'missing_model',
    param: 'model',
  },
  {
    what: 'a model that is a number',
    body: '{"model":7}',
    status: 400,
    code: 'invalid_parameter',
    param: 'model',
  },
  {
    what: 'an unknown model',
    body: '{"model":"sim/none","messages":[]}',
    status: 404,
    code: 'model_not_found',
    param: 'model',
  },
  {
    what: 'a model named __proto__',
    body: '{"model":"__proto__","messages":[]}',
    status: 404,
    code: 'model_not_found',
  },
  {
    what: 'a stream that is a string',
    body: '{"model":"sim/text","messages":[],"stream":"true"}',
    status: 400,
    code: 'invalid_parameter',
    param: 'stream',
  },
  {
    what: 'a cap below zero',
    body: '{"model":"sim/text","messages":[],"max_tokens":-1}',
    status: 400,
    code: 'invalid_parameter',
    param: 'max_tokens',
  },
  {
    what: 'tools that are no array',
    body: '{"model":"sim/text","tools":{}}',
    status: 400,
    code: 'invalid_parameter',
    param: 'tools',
  },
  {
    what: 'depth 100,000 outside an object',
    body: '['.repeat(100_000),
    status: 400,
    code: 'invalid_json',
    message: MORE_VALUES,
  },
  {
    what: 'depth 100,000 inside a valid body',
    body: `${VALID.slice(0, -1)},"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
    status: 400,
    code: 'invalid_json',
    message: MORE_VALUES,
  },
  {
    what: '16 million arrays that gzip makes 31 KB',
    body: gzipSync(Buffer.alloc(16 * MIB, '[')),
    status: 400,
    code: 'invalid_json',
    message: MORE_VALUES,
    headers: { 'content-encoding': 'gzip' },
  },
  {
    what: '30 MB of empty objects',
    body: gzipSync(Buffer.alloc(30 * MIB, '{},')),
    status: 400,
    code: 'invalid_json',
    message: MORE_VALUES,
    headers: { 'content-encoding': 'gzip' },
  },
  { what: '40 MB', body: Buffer.alloc(40 * MIB, 32), status: 413, code: 'request_too_large' },
  {
    what: '40 MB that gzip makes small',
    body: gzipSync(Buffer.alloc(40 * MIB, 32)),
    status: 413,
    code: 'request_too_large',
    headers: { 'content-encoding': 'gzip' },
  },
  {
    what: 'gzip that is none',
    body: VALID,
    status: 400,
    code: 'bad_request',
    headers: { 'content-encoding': 'gzip' },
  },
  {
    what: 'an unknown coding',
    body: VALID,
    status: 400,
    code: 'bad_request',
    headers: { 'content-encoding': 'rot13' },
  },
]

for (const { what, body, status, code, param, message, headers } of HOSTILE) {
  test(`${what} is answered ${status} ${code} in the envelope`, async () => {
    const answer = await fetch(world.url('/v1/chat/completions'), {
      method: 'POST',
      headers: { 'x-api-key': apiKey, ...headers },
      body,
    })
    const text = await answer.text()
    expect(answer.status, text).toBe(status)
    expect(answer.headers.get('x-request-id')).toMatch(/^req_[0-9a-z]{26}$/)
    expect(answer.headers.get('x-service-cost')).toBeNull()
    const { error } = JSON.parse(text)
    expect(Object.keys(error)).toEqual(['message', 'type', 'code', 'param'])
    expect(error.code).toBe(code)
    if (param !== undefined) expect(error.param).toBe(param)
    if (message !== undefined) expect(error.message).toBe(message)
    expect(text).not.toMatch(/ {4}at |\.ts|node:/)
  })
}

test('500 levels inside a valid body are relayed and answered like any other', async () => {
  const depth = 500
  const body = `${VALID.slice(0, -1)},"x":${'['.repeat(depth)}${']'.repeat(depth)}}`
  const answer = await world.send(apiKey, body)
  expect(answer.status, await answer.text()).toBe(200)
})

test('a gzipped body is read like a plain one', async () => {
  const answer = await fetch(world.url('/v1/chat/completions'), {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-encoding': 'gzip' },
    body: gzipSync(VALID),
  })
  expect(answer.status, await answer.text()).toBe(200)
})

test('a client that declares 40 MB sees 413 before it has sent them, and no reset', async () => {
  const answer = await rawExchange([
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\ncontent-length: ${40 * MIB}\r\n\r\n`,
    '{"model":',
  ])
  expect(answer).toMatch(/^HTTP\/1\.1 413 /)
  expect(answer).toContain('"code":"request_too_large"')
})

test('a client with a dead key that keeps uploading sees 401 and no reset', async () => {
  const megabyte = Buffer.alloc(MIB, 32).toString('latin1')
  const answer = await rawExchange([
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: sk-tollgate-none\r\ncontent-length: ${8 * MIB}\r\n\r\n`,
    ...Array.from({ length: 8 }, () => megabyte),
  ])
  expect(answer).toMatch(/^HTTP\/1\.1 401 /)
  expect(answer).toContain('"code":"invalid_api_key"')
})

test('a header of 100 KB is answered 431 in the envelope, without a reset', async () => {
  const answer = await rawExchange([
    `GET /v1/models HTTP/1.1\r\nhost: x\r\nx-big: ${'a'.repeat(100_000)}\r\n\r\n`,
  ])
  expect(answer).toMatch(/^HTTP\/1\.1 431 /)
  expect(answer).toContain('"code":"headers_too_large"')
})

test('bytes that are not HTTP are answered 400 in the envelope', async () => {
  const answer = await rawExchange(['\x16\x03\x01 hello\r\n\r\n'])
  expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  expect(answer).toContain('"code":"bad_request"')
})

test.each([
  ['a header of 100 KB', `x-big: ${'a'.repeat(100_000)}`, 431],
  ['two lengths', 'content-length: 2\r\ncontent-length: 3', 400],
  ['a length that is no number', 'content-length: two', 400],
])(
  'a head with %s is answered with an id, and in the envelope of its path',
  async (_, line, status) => {
    const answerOf = (path: string) =>
      rawExchange([`POST ${path} HTTP/1.1\r\nhost: x\r\n${line}\r\n\r\n{}`])
    for (const path of ['/v1/chat/completions', '/v1/images', '/v1/messages?beta=true']) {
      const answer = await answerOf(path)
      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
      expect(answer).toMatch(/\r\nx-request-id: req_\w+\r\n/)
    }
    expect(await answerOf('/v1/messages')).toMatch(
      /\r\nrequest-id: (req_\w+)\r\n.*\{"type":"error",.*"request_id":"\1"\}$/s,
    )
    expect(await answerOf('http://a.example/v1/messages')).toMatch(/\{"type":"error",/)
    expect(await answerOf('/v1/responses')).toMatch(/\{"error":\{"message":/)
  },
)

test('a head that becomes too large in a later piece is answered 431 in both envelopes at once', async () => {
  const { hostname, port } = new URL(world.gateway.address)
  const socket = connect(Number(port), hostname)
  const head = 'POST /v1/messages HTTP/1.1\r\nhost: x\r\n'
  socket.write(`GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n${head}`)
  // The answer to the first request shows that the beginning of the second has been read.
  let received = String((await once(socket, 'data'))[0])
  socket.write(`x-big: ${'a'.repeat(100_000)}\r\n\r\n`)
  while (!received.endsWith('"}')) received += String((await once(socket, 'data'))[0])
  socket.destroy()
  expect(received).toContain('HTTP/1.1 431 ')
  expect(received).toMatch(
    /\r\nrequest-id: (req_\w+)\r\n.*\{"type":"error","error":\{.*"code":"headers_too_large".*"request_id":"\1"\}$/s,
  )
})

test('a URL of 20 KB is answered 431 in the envelope of its path', async () => {
  const answerOf = (path: string) =>
    rawExchange([`POST ${path}?x=${'a'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`])
  const answer = await answerOf('/v1/messages')
  expect(answer).toMatch(/^HTTP\/1\.1 431 /)
  expect(answer).toMatch(/\r\nrequest-id: (req_\w+)\r\n.*\{"type":"error",.*"request_id":"\1"\}$/s)
  expect(await answerOf('/v1/chat/completions')).toMatch(/\{"error":\{"message":/)
})

test.each([
  ['GET /v1/models', '"code":"bad_request"'],
  ['GET /healthz', '"code":"bad_request"'],
  ['POST /v1/chat/completions', '"code":"bad_request"'],
  ['POST /v1/messages', '"type":"error"'],
])('%s without a host is answered 400 in the envelope', async (line, envelope) => {
  const answer = await rawExchange([`${line} HTTP/1.1\r\nconnection: close\r\n\r\n`])
  expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  expect(answer).toContain(envelope)
})

const HEADS: readonly (readonly [string, string])[] = [
  ['two hosts', 'HTTP/1.1\r\nhost: a.example\r\nHost: b.example'],
  ['the same host twice', 'HTTP/1.1\r\nhost: a.example\r\nhost: a.example'],
  ['two hosts', 'HTTP/1.0\r\nhost: a.example\r\nhost: b.example'],
  ['a host that is two', 'HTTP/1.1\r\nhost: a.example, b.example'],
  ['a host with a user', 'HTTP/1.1\r\nhost: ada@a.example'],
  ['a host with a path', 'HTTP/1.1\r\nhost: a.example/b'],
  ['a host with two ports', 'HTTP/1.1\r\nhost: a.example:1:2'],
  [
    'an encoding of its body before the chunks',
    `HTTP/1.1\r\nhost: x\r\n${encoded('gzip, chunked')}`,
  ],
  ['chunks twice', `HTTP/1.1\r\nhost: x\r\n${encoded('chunked, chunked')}`],
  ['an empty encoding', `HTTP/1.1\r\nhost: x\r\n${encoded(', chunked')}`],
  ['chunks, which HTTP/1.0 does not have', `HTTP/1.0\r\nhost: x\r\n${encoded('chunked')}`],
  ['another version of HTTP', 'HTTP/2.0\r\nhost: x'],
  ['another version of HTTP', 'HTTP/0.9\r\nhost: x'],
]

function encoded(coding: string): string {
  return `transfer-encoding: ${coding}`
}

test.each(HEADS)(
  'a head with %s is answered 400, and the connection ends: nothing behind it is read as a request (%j)',
  async (_, rest) => {
    const body = rest.includes('transfer-encoding')
      ? `\r\n\r\n${VALID.length.toString(16)}\r\n${VALID}\r\n0\r\n\r\n`
      : `\r\ncontent-length: ${VALID.length}\r\n\r\n${VALID}`
    const next = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'
    for (const path of ['/v1/chat/completions', '/v1/messages', '/app/api/start', '/v1/models']) {
      const [answer, ...more] = (
        await rawExchange([`POST ${path} ${rest}\r\nx-api-key: ${apiKey}${body}${next}`])
      ).split(/(?=HTTP\/1\.1 )/)
      expect(answer).toMatch(/^HTTP\/1\.1 400 .*\r\nconnection: close\r\n/is)
      const envelope = path === '/v1/messages' ? '"type":"error"' : '"code":"bad_request"'
      expect(answer).toContain(envelope)
      expect(more).toEqual([])
    }
  },
)

test.each([
  '',
  'localhost',
  'my_service:8080',
  '[::1]:443',
  '[fe80::1%25eth0]',
  'xn--bcher-kva.example.',
  '10.0.0.1:',
])('the host %j is one', async (host) => {
  const answer = await rawExchange([
    `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
  ])
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
})

test('chunks are read whatever the case of their name', async () => {
  const answer = await rawExchange([
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\nconnection: close\r\ntransfer-encoding: Chunked\r\n\r\n${VALID.length.toString(16)}\r\n${VALID}\r\n0\r\n\r\n`,
  ])
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
})

test('no method or content-type causes an answer of 500, with or without a route', async () => {
  // CONNECT asks for a tunnel: Node closes the connection.
  const methods = METHODS.filter((method) => method !== 'CONNECT')
  const contentTypes = [
    '',
    'content-type: application/json\r\n',
    'content-type: ;;/\r\n',
    'content-type: application/json;;=/\r\n',
  ]
  const paths = ['/healthz', '/v1/models', '/v1/balance', '/v1/admin/accounts', '/nowhere']
  const failed: string[] = []
  for (const path of paths) {
    for (const method of methods) {
      for (const contentType of contentTypes) {
        const answer = await rawExchange([
          `${method} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n${contentType}\r\n{}`,
        ])
        if (!/^HTTP\/1\.1 [234]/.test(answer)) failed.push(`${method} ${path} ${contentType}`)
      }
    }
  }
  expect(failed).toEqual([])
})

/** Writes the parts, and reads until the server closes; rejects on a reset. */
function rawExchange(parts: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(world.gateway.address)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      // The answer is complete: the rest of the request need not be sent.
      if (received.includes('\r\n\r\n{') && received.endsWith('}')) socket.end()
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(received))
    for (const part of parts) socket.write(part, 'latin1')
  })
}
