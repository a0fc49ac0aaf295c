import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { afterEach, expect, test, vi } from 'vitest'
import type { Turn } from '../journey/gate/thread-share.ts'
import type { BodyAccount } from '../journey/journey-parts.ts'
import { Problem } from '../vocabulary/problem.ts'
import { listen } from '../vocabulary/testing/listen.ts'
import { readBody } from './read-body.ts'

const KIB = 1024
const MIB = 1024 * KIB
const BYTES_MAX = 32 * MIB
const INFLATED_AT_ONCE_MAX = 128 * KIB
const TIMEOUT_MS = 600_000

const closers: (() => void)[] = []
afterEach(() => {
  vi.useRealTimers()
  for (const close of closers.splice(0)) close()
})

interface Reading {
  readonly socket: Socket
  readonly body: Promise<Buffer>
}

/** Sends pieces of one body over a socket, and reads it as the gateway does. */
async function reading(
  pieces: readonly (Buffer | string)[],
  {
    fields,
    account,
    waitsForAll = false,
  }: { fields: string; account?: Partial<BodyAccount>; waitsForAll?: boolean },
): Promise<Reading> {
  const arrived = Promise.withResolvers<IncomingMessage>()
  const server = createServer((clientRequest) => arrived.resolve(clientRequest))
  const port = await listen(server)
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {}).resume()
  closers.push(() => {
    socket.destroy()
    server.close()
  })
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\n${fields}\r\n\r\n`)
  for (const piece of pieces) socket.write(piece)
  const clientRequest = await arrived.promise
  while (waitsForAll && !clientRequest.complete) {
    await new Promise((resolve) => setImmediate(resolve))
  }
  const body = readBody(clientRequest, {
    bytesMax: BYTES_MAX,
    timeoutMs: TIMEOUT_MS,
    account: {
      memory: { grow: () => {}, isCrowded: false },
      admitLargeBody: async () => {},
      inflateTurn: async () => ({ rest: async () => {}, end: () => {} }),
      ...account,
    },
  })
  body.catch(() => {})
  return { socket, body }
}

function patterned(bytes: number): Buffer {
  return Buffer.from(
    Uint32Array.from({ length: Math.ceil(bytes / 4) }, (_, at) => at).buffer,
    0,
    bytes,
  )
}

test.each([1, 64 * KIB, MIB - 1, MIB, MIB + 1, 4 * MIB + 1, 17 * MIB, BYTES_MAX])(
  'a body of %i bytes is read whole, by a declared length, in chunks and compressed',
  async (bytes) => {
    const sent = patterned(bytes)
    const declared = await reading([sent], { fields: `content-length: ${bytes}` })
    expect((await declared.body).equals(sent)).toBe(true)

    const framed = [`${bytes.toString(16)}\r\n`, sent, '\r\n0\r\n\r\n']
    const chunked = await reading(framed, { fields: 'transfer-encoding: chunked' })
    expect((await chunked.body).equals(sent)).toBe(true)

    const packed = await promisify(gzip)(sent, { level: 1 })
    const fields = `content-encoding: gzip\r\ncontent-length: ${packed.length}`
    const inflated = await reading([packed], { fields })
    expect((await inflated.body).equals(sent)).toBe(true)
  },
)

test('the declared length of a body takes no memory of the engine before the body arrives', async () => {
  const before = process.memoryUsage().arrayBuffers
  const bodies = await Promise.all(
    Array.from({ length: 8 }, () =>
      reading([Buffer.alloc(100 * KIB)], { fields: `content-length: ${BYTES_MAX}` }),
    ),
  )
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(BYTES_MAX)
  for (const { socket, body } of bodies) {
    socket.destroy()
    await expect(body).rejects.toThrow(Problem)
  }
})

test('beyond 256 KB a compressed body is inflated a piece a turn', async () => {
  const sent = patterned(8 * MIB)
  const packed = await promisify(gzip)(sent)
  let [read, readBefore, turns, open, mostInTurn] = [0, 0, 0, 0, 0]
  const account: Partial<BodyAccount> = {
    memory: {
      grow: (bytes) => {
        read += bytes
      },
      isCrowded: false,
    },
    inflateTurn: async () => {
      turns++
      open++
      readBefore = read
      const end = (): void => {
        if (open === 0) return
        open--
        mostInTurn = Math.max(mostInTurn, read - readBefore)
      }
      return { rest: async () => {}, end }
    },
  }
  const fields = `content-encoding: gzip\r\ncontent-length: ${packed.length}`
  const { body } = await reading([packed], { fields, account })
  expect((await body).equals(sent)).toBe(true)
  expect(open).toBe(0)
  expect(mostInTurn).toBeGreaterThan(0)
  expect(mostInTurn).toBeLessThanOrEqual(INFLATED_AT_ONCE_MAX)
  expect(turns).toBeGreaterThanOrEqual((sent.length - 512 * KIB) / INFLATED_AT_ONCE_MAX)
})

test.each<[string, number, (socket: Socket) => void]>([
  ['within its body', 1, (socket) => socket.destroy()],
  ['after its body, by a reset', 0, (socket) => socket.resetAndDestroy()],
  ['after its body, by the end of its side', 0, (socket) => socket.end()],
])(
  'a turn that comes when the client has left %s ends, and so does the body',
  async (_, missing, leave) => {
    // Small on the wire, so that the end of the client's side is not behind bytes that are not read.
    const packed = await promisify(gzip)(Buffer.alloc(8 * MIB))
    const asked = Promise.withResolvers<void>()
    const given = Promise.withResolvers<Turn>()
    let open = 0
    const account: Partial<BodyAccount> = {
      inflateTurn: () => {
        asked.resolve()
        open++
        return given.promise
      },
    }
    const fields = `content-encoding: gzip\r\ncontent-length: ${packed.length + missing}`
    const { socket, body } = await reading([packed], { fields, account })
    await asked.promise
    leave(socket)
    await once(socket, 'close')
    given.resolve({
      rest: async () => {},
      end: () => {
        open = 0
      },
    })
    await expect(body).rejects.toThrow(Problem)
    expect(open).toBe(0)
  },
)

test.each<[string, (held: Promise<never>) => Partial<BodyAccount>]>([
  ['for its account to be asked for credit', (held) => ({ admitLargeBody: () => held })],
  ['for its turn to be inflated', (held) => ({ inflateTurn: () => held })],
])('a body that waits %s is not given up as slow or late', async (_, accountWhile) => {
  vi.useFakeTimers({
    toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'],
  })
  const packed = await promisify(gzip)(patterned(8 * MIB))
  const waits = Promise.withResolvers<void>()
  const held = new Promise<never>(() => {})
  const [name, wait] = Object.entries(accountWhile(held))[0] ?? []
  const account = {
    [String(name)]: () => {
      waits.resolve()
      return typeof wait === 'function' ? (wait as () => Promise<never>)() : held
    },
  }
  const fields = `content-encoding: gzip\r\ncontent-length: ${packed.length + 1}`
  const { body } = await reading([packed], { fields, account })
  let end: unknown = null
  body.catch((thrown) => {
    end = thrown
  })
  await waits.promise
  await vi.advanceTimersByTimeAsync(3 * TIMEOUT_MS)
  expect(end).toBeNull()
})

test('a complete body is not refused as slow while it is inflated', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const sent = patterned(8 * MIB)
  const packed = await promisify(gzip)(sent)
  const account: Partial<BodyAccount> = {
    memory: { grow: () => {}, isCrowded: true },
    inflateTurn: async () => {
      await vi.advanceTimersByTimeAsync(1_000)
      return { rest: async () => {}, end: () => {} }
    },
  }
  const fields = `content-encoding: gzip\r\ncontent-length: ${packed.length}`
  const { body } = await reading([packed], { fields, account })
  expect((await body).equals(sent)).toBe(true)
})

test('a large body that was there before it was read is refused as its account is, however late', async () => {
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const account: Partial<BodyAccount> = {
    admitLargeBody: () => {
      asked.resolve()
      return answer.promise
    },
  }
  const sent = patterned(70 * KIB)
  const framed = [`${sent.length.toString(16)}\r\n`, sent, '\r\n0\r\n\r\n']
  const fields = 'transfer-encoding: chunked'
  const { body } = await reading(framed, { fields, account, waitsForAll: true })
  await asked.promise
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  answer.reject(new Problem('insufficient_credit'))
  await expect(body).rejects.toMatchObject({ code: 'insufficient_credit' })
})
