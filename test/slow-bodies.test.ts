import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createByteBudget } from '../src/journey/gate/byte-budget.ts'
import { CHAT_BODY, type JourneyWorld, startJourneyWorld } from './journey-world.ts'
import { wholeRequest } from './raw-server.ts'

const MIB = 1024 * 1024
const BUDGET_BYTES = 64 * MIB

let world: JourneyWorld
let budget: ReturnType<typeof createByteBudget>
let sockets: Socket[] = []

beforeEach(async () => {
  // The gateway looks at a body's pace by an interval; all other timers run as they do.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  budget = createByteBudget({ bytesMax: BUDGET_BYTES })
  world = await startJourneyWorld({
    upstream: async (socket) => {
      await wholeRequest(socket)
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 24\r\n\r\n{"id":"gen-1","usage":{}')
    },
    replace: () => ({ byteBudget: budget }),
  })
})
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  sockets = []
  vi.useRealTimers()
})

/** A client whose body is being read; later bytes are read at once. */
async function uploading(sent: string | Buffer, framing: string): Promise<Socket> {
  const socket = connect(world.port, '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => {})
  const before = vi.getTimerCount()
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${framing}\r\n\r\n`)
  socket.write(sent)
  while (vi.getTimerCount() === before) await new Promise((resolve) => setImmediate(resolve))
  return socket
}

async function answerOf(socket: Socket): Promise<string> {
  let text = ''
  while (!text.endsWith('}}')) text += String((await once(socket, 'data'))[0])
  return text
}

test.each([
  ['a declared length', '{', 'content-length: 1000000'],
  ['chunks', '1\r\n{\r\n', 'transfer-encoding: chunked'],
  [
    'many bytes that gzip makes few',
    gzipSync(Buffer.alloc(8 * MIB, ' ')).subarray(0, 4_000),
    'content-length: 1000000\r\ncontent-encoding: gzip',
  ],
])('a body of %s that stops arriving is dropped after 30 seconds', async (_, sent, framing) => {
  const socket = await uploading(sent, framing)
  vi.advanceTimersByTime(29_000)
  expect(world.ended).toEqual([])
  vi.advanceTimersByTime(1_000)
  const answer = await answerOf(socket)
  expect(answer).toMatch(/^HTTP\/1\.1 408 /)
  expect(answer).toContain('"code":"request_timeout"')
  expect(vi.getTimerCount()).toBe(0)
  socket.destroy()
})

test('while half of the budget is taken a body that stops arriving is dropped after 5 seconds', async () => {
  const socket = await uploading('{', 'content-length: 1000000')
  const others = budget.reserve({
    accountId: 'acct_other',
    hasBackedCredit: true,
    requestBytesMax: BUDGET_BYTES,
  })
  others.grow(BUDGET_BYTES / 2)
  vi.advanceTimersByTime(4_000)
  expect(world.ended).toEqual([])
  vi.advanceTimersByTime(1_000)
  expect(await answerOf(socket)).toMatch(/^HTTP\/1\.1 408 /)
  others.release()
  socket.destroy()
})

test('a body that has arrived in full has no time limit', async () => {
  const started = vi.spyOn(globalThis, 'setInterval')
  const socket = connect(world.port, '127.0.0.1')
  sockets.push(socket)
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${CHAT_BODY.length}\r\n\r\n${CHAT_BODY}`,
  )
  await once(socket, 'data')
  expect(started).not.toHaveBeenCalled()
  socket.destroy()
})

test('a declared length is reserved in the budget before any byte of it arrives, and released later', async () => {
  const socket = await uploading('{', `content-length: ${20 * MIB}`)
  expect(budget.bytesReserved).toBe(20 * MIB)
  const gone = once(socket, 'close')
  socket.resetAndDestroy()
  await gone
})
