import { once } from 'node:events'
import { connect } from 'node:net'
import { beforeAll, expect, test } from 'vitest'
import { DEFAULT_PUBLIC_NAMES } from '../src/vocabulary/public-names.ts'
import { worldOfFile } from './world.ts'

let apiKey: string

const world = worldOfFile()
beforeAll(async () => {
  apiKey = (await world.account()).apiKey
})

const BODY = '{"model":"sim/text","messages":[{"role":"user","content":"Hi"}],"max_tokens":9}'

/** Everything that is answered to one request, whose target is written as it is. */
async function answerTo(method: string, target: string, host = 'host: 127.0.0.1\r\n') {
  const { hostname, port } = new URL(world.gateway.address)
  const socket = connect(Number(port), hostname)
  let text = ''
  socket.on('data', (chunk) => {
    text += String(chunk)
  })
  const body = method === 'POST' ? BODY : ''
  socket.write(
    `${method} ${target} HTTP/1.1\r\n${host}connection: close\r\nx-api-key: ${apiKey}\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`,
  )
  await once(socket, 'close')
  return text
}

test.each([
  ['GET', 'http://gateway.example/v1/models'],
  ['GET', 'HTTPS://gateway.example:8443/v1/key?beta=true'],
  ['GET', 'http://gateway.example/healthz'],
  ['POST', 'http://gateway.example/v1/chat/completions'],
  ['POST', 'http://gateway.example/v1/messages?beta=true'],
])('%s %s is answered like the path alone', async (method, target) => {
  expect(await answerTo(method, target)).toMatch(/^HTTP\/1\.1 200 /)
})

test('a target without a path means the path /', async () => {
  const rooted = await answerTo('GET', '/')
  for (const target of ['http://gateway.example', 'http://gateway.example/']) {
    const [line] = (await answerTo('GET', target)).split('\r\n')
    expect(line).toBe(rooted.split('\r\n')[0])
  }
})

test('a target of another scheme is 404', async () => {
  expect(await answerTo('GET', 'ftp://gateway.example/v1/models')).toMatch(/^HTTP\/1\.1 404 /)
})

test('an error is in the envelope of the path', async () => {
  const answer = await answerTo('POST', 'http://gateway.example/v1/messages/count_tokens')
  expect(answer).toMatch(/^HTTP\/1\.1 404 /)
  expect(answer).toContain('"type":"error"')
})

const VERSION_HEADERS = ['anthropic-version', `${DEFAULT_PUBLIC_NAMES.compatPrefix}-version`]

test.each(VERSION_HEADERS)(
  '`%s` selects the envelope of messages on unknown paths only',
  async (header) => {
    const host = `host: 127.0.0.1\r\n${header}: 2023-06-01\r\n`
    expect(await answerTo('GET', '/v1/nothing', host)).toContain('"type":"error"')
    for (const target of ['/v1/models/nope', '/v1/chat/completions']) {
      const answer = await answerTo('GET', target, host)
      expect(answer).toContain('"type":"invalid_request_error"')
      expect(answer).not.toContain('"type":"error"')
    }
  },
)

test('a whole URL does not replace the Host header that HTTP/1.1 requires', async () => {
  expect(await answerTo('GET', 'http://gateway.example/v1/models', '')).toMatch(/^HTTP\/1\.1 400 /)
})
