import { once } from 'node:events'
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
  const uploads = Array.from({ length: AT_ONCE }, async () => {
    expect(await upload(heavy)).toBe(httpStatus)
    if (atFirst === -1) atFirst = answered
  })
  const all = Promise.all(uploads).finally(() => {
    over = true
  })
  while (!over) {
    const { statusCode, body } = await request(world.url('/v1/key'), {
      headers: { 'x-api-key': apiKey },
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
