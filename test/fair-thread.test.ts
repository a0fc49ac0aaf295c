import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { request } from 'undici'
import { beforeAll, expect, test } from 'vitest'
import { worldOfFile } from './world.ts'

/**
 * Heavy bodies and small requests share one thread. How long either takes differs from machine to machine;
 * how many small requests are answered between two heavy ones hardly does.
 */

const AT_ONCE = 8
const ENOUGH = 40

let apiKey: string

const world = worldOfFile()
beforeAll(async () => {
  apiKey = (await world.account({ creditMicros: 10_000 })).apiKey
})

interface Upload {
  readonly path: string
  readonly fields: string
  readonly body: Buffer
}

/** Sends a body, and resolves with the status of the answer when it comes. */
async function upload({ path, fields, body }: Upload): Promise<number> {
  const { hostname, port } = new URL(world.gateway.address)
  const socket: Socket = connect(Number(port), hostname)
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${apiKey}\r\n${fields}\r\n\r\n`,
  )
  socket.write(body)
  const [answer] = await once(socket, 'data')
  socket.destroy()
  return Number(/^HTTP\/1\.1 (\d+)/.exec(String(answer))?.[1])
}

/** Sends several at once; resolves with how many small requests were answered from the first answer to the last. */
async function answeredBetween(heavy: Upload, httpStatus: number): Promise<number> {
  let [answered, atFirst, over] = [0, -1, false]
  // A key of its own: on a slow machine, the calls of all tests together reach the limit of one.
  const asker = await world.account()
  const uploads = Array.from({ length: AT_ONCE }, async () => {
    expect(await upload(heavy)).toBe(httpStatus)
    if (atFirst === -1) atFirst = answered
  })
  const all = Promise.all(uploads).finally(() => {
    over = true
  })
  while (!over) {
    const { statusCode, body } = await request(world.url('/v1/key'), {
      headers: { 'x-api-key': asker.apiKey },
    })
    await body.dump()
    expect(statusCode).toBe(200)
    answered++
  }
  await all
  return answered - atFirst
}

test('small requests are answered between large bodies that are parsed', async () => {
  const body = Buffer.from(
    `{"model":"sim/unknown-window","max_tokens":16,"prompt":[${'7,'.repeat(1_000_000)}7]}`,
  )
  const fields = `content-length: ${body.length}`
  const answered = await answeredBetween({ path: '/v1/completions', fields, body }, 402)
  expect(answered).toBeGreaterThan(ENOUGH)
})

test('small requests are answered between bodies that come in tiny pieces', async () => {
  const body = Buffer.from(`${'1\r\n \r\n'.repeat(100_000)}0\r\n\r\n`)
  const fields = 'transfer-encoding: chunked'
  const answered = await answeredBetween({ path: '/v1/chat/completions', fields, body }, 400)
  expect(answered).toBeGreaterThan(ENOUGH)
})

// No queue of connections is longer than the system allows.
const SYSTEM_FILE = '/proc/sys/net/core/somaxconn'
const QUEUE_MAX = existsSync(SYSTEM_FILE) ? Number(readFileSync(SYSTEM_FILE, 'utf8')) : 128

const CONNECT_ALL = `
  let left = ${Math.min(1_000, QUEUE_MAX)}
  for (let count = left; count > 0; count--) {
    require('node:net')
      .connect(Number(process.argv[1]), '127.0.0.1')
      .on('connect', () => --left === 0 && process.exit())
  }`

test('a thousand clients that connect while the thread is busy are connected, and none has to try again', async () => {
  const { port } = new URL(world.gateway.address)
  // This thread, which is also the gateway's, waits until all are connected.
  execFileSync(process.execPath, ['--eval', CONNECT_ALL, port], { timeout: 20_000 })
  const { statusCode, body } = await request(world.url('/healthz'))
  await body.dump()
  expect(statusCode).toBe(200)
})
