import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { type JourneyWorld, STREAM_BODY, startJourneyWorld } from './journey-world.ts'
import {
  beginning,
  CHUNKED_STREAM,
  CLOSED_STREAM,
  chunked,
  dial,
  peerLeft,
  posted,
  wholeRequest,
} from './raw-server.ts'

const EVENT_BYTES = 64 * 1024
// More than the sockets of both sides hold, however large the kernel makes them.
const EVENTS = 512
// Longer than a slow machine needs from one event to the next.
const STALL_TIMEOUT_MS = 2_000
const TOTAL_BYTES = EVENTS * EVENT_BYTES

const BEGINNING = 'data: {"id":"gen-1","choices":[{"delta":{"content":"'
const END = '"}}]}\n\n'
const EVENT = BEGINNING + 'x'.repeat(EVENT_BYTES - BEGINNING.length - END.length) + END

/** A provider that streams all events as fast as they are taken. */
class Flood {
  flushed = false
  readonly left = Promise.withResolvers<void>()
  readonly #framing: 'chunked' | 'toTheEnd'

  constructor(framing: 'chunked' | 'toTheEnd') {
    this.#framing = framing
  }

  readonly upstream = async (socket: Socket): Promise<void> => {
    await wholeRequest(socket)
    void peerLeft(socket).then(this.left.resolve)
    const isChunked = this.#framing === 'chunked'
    socket.write(isChunked ? CHUNKED_STREAM : CLOSED_STREAM)
    const written = Buffer.from(isChunked ? chunked(EVENT) : EVENT)
    for (let event = 0; event < EVENTS; event++) socket.write(written)
    socket.end(isChunked ? '0\r\n\r\n' : '', () => {
      this.flushed = true
    })
  }
}

/** A client that has sent a request and reads nothing until it is resumed. */
function silentClient(to: JourneyWorld, body: string): Socket {
  return dial(to, posted(body).replace('host: x', 'host: x\r\nconnection: close')).pause()
}

/** How many bytes come until the end. */
async function readAll(client: Socket): Promise<number> {
  let bytes = 0
  client.on('data', (part) => {
    bytes += part.length
  })
  client.resume()
  await once(client, 'close')
  return bytes
}

/** The gateway's side of the client, once it has written more than the kernel takes. */
async function congested(to: JourneyWorld) {
  const client = to.clients[0]
  if (client === undefined) throw new Error('no client yet')
  while (!client.writableNeedDrain) await new Promise((resolve) => setImmediate(resolve))
  return client
}

test.each([['chunked'], ['toTheEnd']] as const)(
  'a client that does not read makes the provider wait, and then gets the whole stream: %s',
  async (framing) => {
    const flood = new Flood(framing)
    const begun = Promise.withResolvers<void>()
    const to = await startJourneyWorld({
      upstream: (socket) => {
        begun.resolve()
        return flood.upstream(socket)
      },
    })
    const client = silentClient(to, STREAM_BODY)
    await begun.promise
    const response = await congested(to)
    // Only the bytes of one read of the provider's socket.
    expect(response.writableLength).toBeLessThan(4 * EVENT_BYTES)
    expect(flood.flushed).toBe(false)
    expect(await readAll(client)).toBeGreaterThan(TOTAL_BYTES)
    expect(flood.flushed).toBe(true)
  },
)

describe('a client that reads no byte for the stall time is cut off', () => {
  test('from a stream, and the call to the provider ends', async () => {
    const flood = new Flood('chunked')
    const to = await startJourneyWorld({
      upstream: flood.upstream,
      timeouts: { stallTimeoutMs: STALL_TIMEOUT_MS },
    })
    silentClient(to, STREAM_BODY)
    await flood.left.promise
    expect(await to.onlyRequest()).toMatchObject({
      state: 'provisional',
      errorCode: 'client_gone',
      generationId: 'gen-1',
    })
  })
})

describe('a provider that has sent the last event does not keep the client waiting', () => {
  const ENDED = [CHUNKED_STREAM, chunked(EVENT), chunked('data: [DONE]\n\n')]

  test.each([
    ['keeps the connection open', () => {}],
    // The next comment is sent as soon as the client has the one before.
    ['sends comments without end', (provider: Socket) => provider.write(chunked(': here\n\n'))],
  ])('if it %s', async (_, continues) => {
    const { upstream, provider } = beginning(...ENDED)
    const to = await startJourneyWorld({ upstream })
    const client = silentClient(to, STREAM_BODY)
    const socket = await provider
    client.on('data', () => continues(socket))
    await readAll(client)
    await peerLeft(socket)
    expect(await to.onlyRequest()).toMatchObject({ errorCode: null })
  })
})
