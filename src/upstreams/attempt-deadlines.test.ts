import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { wholeRequest } from '../../test/raw-server.ts'
import type { Deadlines } from './attempt.ts'
import { closeOpened, reportedLines, send, serverThat, upstreamAt } from './testing/attempts.ts'

afterEach(closeOpened)

const DEADLINE_MS = 1_000

// The clock moves only after everything before the deadline has arrived.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

test.each<[string, string, Partial<Deadlines>, string[]]>([
  ['no headers', '', { headersTimeoutMs: DEADLINE_MS }, ['timedOut beforeHeaders']],
  [
    'half a head',
    'HTTP/1.1 200 OK\r\nx',
    { headersTimeoutMs: DEADLINE_MS },
    ['timedOut beforeHeaders'],
  ],
  [
    'a hint, and no headers',
    'HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n',
    { headersTimeoutMs: DEADLINE_MS },
    ['timedOut beforeHeaders'],
  ],
  [
    'headers and no body',
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n',
    { stallTimeoutMs: DEADLINE_MS },
    ['start 200', 'timedOut afterHeaders'],
  ],
  [
    'half a body',
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{',
    { stallTimeoutMs: DEADLINE_MS },
    ['start 200', 'data', 'timedOut afterHeaders'],
  ],
  [
    'half a body, for the whole',
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{',
    { totalTimeoutMs: DEADLINE_MS },
    ['start 200', 'data', 'timedOut afterHeaders'],
  ],
])('a deadline passes after %s', async (_, written, deadlines, lines) => {
  const answered = Promise.withResolvers<void>()
  const { baseUrl } = await serverThat(async (socket) => {
    await wholeRequest(socket)
    socket.write(written, () => answered.resolve())
  })
  const upstream = upstreamAt(baseUrl)
  const sent = send(upstream, { deadlines })
  await answered.promise
  await sent.diary.toHave(lines.length - 1)
  vi.advanceTimersByTime(DEADLINE_MS)
  expect(await reportedLines(upstream, sent)).toEqual(lines)
})

test('a deadline that has passed ends the connection', async () => {
  const opened = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  const { baseUrl } = await serverThat((socket) => {
    socket.once('data', () => opened.resolve())
    socket.once('close', () => closed.resolve())
    socket.once('end', () => socket.end())
  })
  const upstream = upstreamAt(baseUrl)
  const { diary } = send(upstream, { deadlines: { headersTimeoutMs: DEADLINE_MS } })
  await opened.promise
  vi.advanceTimersByTime(DEADLINE_MS)
  await diary.ended
  await expect(closed.promise).resolves.toBeUndefined()
})

test('an attempt that has ended leaves no timer behind, so that nothing keeps it until its deadline', async () => {
  const { baseUrl } = await serverThat(async (socket) => {
    await wholeRequest(socket)
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
  })
  const upstream = upstreamAt(baseUrl)
  const before = vi.getTimerCount()
  const { diary } = send(upstream, { deadlines: { totalTimeoutMs: 900_000 } })
  await diary.ended
  expect(vi.getTimerCount()).toBe(before)
})
