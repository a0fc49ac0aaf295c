import { afterEach, expect, test } from 'vitest'
import { wholeRequest } from '../../test/raw-server.ts'
import { closeOpened, SHORT_MS, send, serverThat, upstreamAt } from './testing/attempts.ts'

afterEach(closeOpened)

const HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
const MIB = 1024 * 1024
// More than the sockets of both sides can hold.
const CHUNKS = 32

/** Resolves once another call, begun now, has reached the stall timeout. */
async function stallTimePasses(): Promise<void> {
  const { baseUrl } = await serverThat(async (socket) => {
    await wholeRequest(socket)
    socket.write(HEAD)
  })
  const { diary } = send(upstreamAt(baseUrl), { deadlines: { stallTimeoutMs: 3 * SHORT_MS } })
  await diary.ended
}

test('a paused answer is not read: the provider can send no more than the sockets hold', async () => {
  const stuck = Promise.withResolvers<void>()
  const flushed: string[] = []
  const { baseUrl } = await serverThat(async (socket) => {
    await wholeRequest(socket)
    socket.write(HEAD)
    const chunk = Buffer.concat([
      Buffer.from(`${MIB.toString(16)}\r\n`),
      Buffer.alloc(MIB, 'x'),
      Buffer.from('\r\n'),
    ])
    for (let sent = 0; sent < CHUNKS; sent++) socket.write(chunk)
    socket.end('0\r\n\r\n', () => flushed.push('flushed'))
    stuck.resolve()
  })
  const { diary, attempt } = send(upstreamAt(baseUrl))
  const paused = Promise.withResolvers<number>()
  diary.onData = () => {
    attempt.pause()
    paused.resolve(diary.body.length)
  }
  const readWhenPaused = await paused.promise
  await stuck.promise
  await stallTimePasses()
  expect(diary.body.length).toBe(readWhenPaused)
  expect(flushed).toEqual([])
  diary.onData = () => {}
  attempt.resume()
  expect(await diary.ended).toBeNull()
  expect(diary.body.length).toBe(CHUNKS * MIB)
})

test('a paused answer does not time out, and a resumed one can', async () => {
  const { baseUrl } = await serverThat(async (socket) => {
    await wholeRequest(socket)
    socket.write(`${HEAD}1\r\n{\r\n`)
  })
  const { diary, attempt } = send(upstreamAt(baseUrl), { deadlines: { stallTimeoutMs: SHORT_MS } })
  const paused = Promise.withResolvers<void>()
  diary.onData = () => {
    attempt.pause()
    paused.resolve()
  }
  await paused.promise
  await stallTimePasses()
  expect(diary.lines).toEqual(['start 200', 'data'])
  attempt.resume()
  expect(await diary.ended).toMatchObject({ kind: 'timedOut', stage: 'afterHeaders' })
})

test('after its last event an answer must end within a short time, even with long deadlines', async () => {
  const { baseUrl } = await serverThat(async (socket) => {
    await wholeRequest(socket)
    socket.write(`${HEAD}1\r\n{\r\n`)
  })
  const { diary, attempt } = send(upstreamAt(baseUrl))
  diary.onData = () => attempt.expectEnd()
  expect(await diary.ended).toMatchObject({ kind: 'timedOut', stage: 'afterHeaders' })
})
