import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Problem } from '../src/vocabulary/problem.ts'
import { type JourneyWorld, startJourneyWorld } from './journey-world.ts'

let world: JourneyWorld

beforeEach(async () => {
  world = await startJourneyWorld({
    upstream: () => {},
    replace: () => ({ authenticate: () => Promise.reject(new Problem('invalid_api_key')) }),
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const REST_TIMEOUT_MS = 10_000

/** Sends a head that declares ten bytes of body, and resolves with the connection once the head is answered. */
async function answeredEarly(line: string, httpStatus: number) {
  const socket = connect(world.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`${line} HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n1`)
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toMatch(new RegExp(`^HTTP/1\\.1 ${httpStatus} `))
  return socket
}

/** Sends more of the body, and resolves once the server has read it. */
async function readByServer(socket: ReturnType<typeof connect>, rest: string): Promise<void> {
  const server = world.clients.at(-1)?.req.socket
  socket.write(rest)
  while (server?.bytesRead !== socket.bytesWritten)
    await new Promise((resolve) => setImmediate(resolve))
}

/** Whether a second request on the connection is answered; false: the connection ends instead. */
async function isServed(socket: ReturnType<typeof connect>, rest: string): Promise<boolean> {
  socket.write(`${rest}GET /v1 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
  return new Promise((resolve) => {
    socket.once('data', () => resolve(true))
    socket.once('close', () => resolve(false))
  })
}

test.each([
  ['POST /v1/chat/completions', 401],
  ['POST /v1/none', 404],
  ['GET /v1', 200],
])(
  '%s: an unread body can arrive for up to ten seconds after the answer',
  async (line, httpStatus) => {
    const late = await answeredEarly(line, httpStatus)
    vi.advanceTimersByTime(REST_TIMEOUT_MS / 2)
    await readByServer(late, '2')
    vi.advanceTimersByTime(REST_TIMEOUT_MS / 2)
    expect(await isServed(late, '34567890')).toBe(false)

    const inTime = await answeredEarly(line, httpStatus)
    vi.advanceTimersByTime(REST_TIMEOUT_MS - 1)
    expect(await isServed(inTime, '234567890')).toBe(true)
  },
)
