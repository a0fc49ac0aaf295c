import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ByteBudget } from '../src/journey/gate/byte-budget.ts'
import { EventSplitter } from '../src/journey/relay/stream-reader.ts'
import { CHAT_BODY, type JourneyWorld, startJourneyWorld } from './journey-world.ts'
import { keptBytes } from './kept-memory.ts'
import { wholeRequest } from './raw-server.ts'

const MIB = 1024 * 1024

let sockets: Socket[] = []

beforeEach(() => {
  sockets = []
})
afterEach(() => {
  for (const socket of sockets) socket.destroy()
})

function dial(to: JourneyWorld): Socket {
  const socket = connect(to.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.resume()
  sockets.push(socket)
  return socket
}

const CHUNKED_HEAD =
  'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n'

/** A body or an answer of so many blanks and no end, in chunks of a byte. */
const blanks = (count: number): string => '1\r\n \r\n'.repeat(count)

/** Resolves when the budget has so many bytes taken. */
function watchedBudget(budget: ByteBudget, bytesWanted: number) {
  const reached = Promise.withResolvers<void>()
  const counting: ByteBudget = {
    get bytesReserved() {
      return budget.bytesReserved
    },
    reserve: (...input) => {
      const reservation = budget.reserve(...input)
      const grow = reservation.grow.bind(reservation)
      reservation.grow = (moreBytes) => {
        grow(moreBytes)
        if (budget.bytesReserved >= bytesWanted) reached.resolve()
      }
      return reservation
    },
  }
  return { counting, reached: reached.promise }
}

test('a body of a megabyte in chunks of a byte takes the memory of its bytes, and not an object for each chunk', async () => {
  let reached = Promise.resolve()
  const to = await startJourneyWorld({
    upstream: () => {},
    replace: ({ byteBudget }) => {
      const watched = watchedBudget(byteBudget, 0.9 * MIB)
      reached = watched.reached
      return { byteBudget: watched.counting }
    },
  })
  const before = keptBytes()
  dial(to).write(CHUNKED_HEAD + blanks(MIB))
  await reached
  expect((keptBytes() - before) / MIB).toBeLessThan(24)
})

test('bytes that arrive before a body is read, even while requests wait, do not take an object for each chunk', async () => {
  const authenticating = Promise.withResolvers<void>()
  const to = await startJourneyWorld({
    upstream: () => {},
    replace: ({ authenticate }) => ({
      authenticate: async (headers) => {
        await authenticating.promise
        return authenticate(headers)
      },
    }),
  })
  const before = keptBytes()
  const request = `${CHUNKED_HEAD + blanks(60_000)}0\r\n\r\n`
  const socket = dial(to)
  socket.write(request.repeat(9))
  while (to.clients.length < 9) await once(to.arrivals, 'request')
  expect((keptBytes() - before) / MIB).toBeLessThan(24)
  socket.destroy()
  authenticating.resolve()
})

test("a provider's whole answer in chunks of a byte takes the memory of its bytes, and not an object for each chunk", async () => {
  let reached = Promise.resolve()
  const to = await startJourneyWorld({
    upstream: async (socket) => {
      sockets.push(socket)
      await wholeRequest(socket)
      socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${blanks(MIB)}`)
    },
    replace: ({ byteBudget }) => {
      const watched = watchedBudget(byteBudget, 0.9 * MIB)
      reached = watched.reached
      return { byteBudget: watched.counting }
    },
  })
  const before = keptBytes()
  dial(to).write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${CHAT_BODY.length}\r\n\r\n${CHAT_BODY}`,
  )
  await reached
  expect((keptBytes() - before) / MIB).toBeLessThan(24)
})

test('an unfinished event keeps only its own bytes in memory, and not the reads that its pieces came from', () => {
  const splitter = new EventSplitter(Number.MAX_SAFE_INTEGER)
  const before = keptBytes()
  for (let piece = 0; piece < 2_000; piece++) {
    splitter.push(Buffer.alloc(64 * 1024, 'x').subarray(0, 1), {
      onEvent: () => {},
      takeAlike: (_, start) => start,
    })
  }
  expect((keptBytes() - before) / MIB).toBeLessThan(8)
  expect(splitter.takeTail().length).toBe(2_000)
})
