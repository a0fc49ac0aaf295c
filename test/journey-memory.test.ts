import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { request } from 'undici'
import { beforeAll, expect, test } from 'vitest'
import { chat } from '../src/formats/chat.ts'
import { type ByteBudget, createByteBudget } from '../src/journey/gate/byte-budget.ts'
import { Problem } from '../src/vocabulary/problem.ts'
import { STREAM_BODY, startJourneyWorld } from './journey-world.ts'
import { wholeRequest } from './raw-server.ts'

let collectGarbage: () => void

beforeAll(() => {
  setFlagsFromString('--expose-gc')
  collectGarbage = runInNewContext('gc')
})
const MIB = 1024 * 1024

/** Collects until none of these is left, or as often as it could make a difference. */
async function uncollected(refs: ReadonlyMap<string, WeakRef<object>>): Promise<string[]> {
  const living = () => [...refs].filter(([, ref]) => ref.deref() !== undefined)
  for (let round = 0; round < 10 && living().length > 0; round++) {
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
  }
  return living().map(([name]) => name)
}

function bodyOf(contentBytes: number, stream: boolean): string {
  const messages = [{ role: 'user', content: 'x'.repeat(contentBytes) }]
  return JSON.stringify({ model: 'acme/some-model', messages, max_tokens: 100, stream })
}

test.each([
  ['a small body, whole', bodyOf(1_000, false), ['tree']],
  ['a small body, streamed', bodyOf(1_000, true), ['tree']],
  ['a large body, whole', bodyOf(2 * MIB, false), ['tree', 'bytes']],
  ['a large body, streamed', bodyOf(2 * MIB, true), ['tree', 'bytes']],
])('the parsed body is freed while the provider works: %s', async (_, body, names) => {
  const provider = Promise.withResolvers<Socket>()
  const refs = new Map<string, WeakRef<object>>()
  const byteBudget = createByteBudget({ bytesMax: 64 * MIB })
  let bytesReserved = 0
  const world = await startJourneyWorld({
    upstream: async (socket) => {
      await wholeRequest(socket)
      provider.resolve(socket)
    },
    format: {
      ...chat,
      readCall(parsed, publicNames) {
        if (names.includes('tree')) refs.set('tree', new WeakRef(parsed.root))
        if (names.includes('bytes')) refs.set('bytes', new WeakRef(parsed.bytes.buffer))
        bytesReserved = byteBudget.bytesReserved
        return chat.readCall(parsed, publicNames)
      },
    },
    replace: () => ({ byteBudget }),
  })
  const answered = request(world.url, { method: 'POST', body })
  const socket = await provider.promise
  expect(await uncollected(refs)).toEqual([])
  expect(refs.size).toBe(names.length)
  // Body and tree have their price in the budget for as long as they are there.
  expect(bytesReserved).toBeGreaterThan(body.length + 300)
  expect(byteBudget.bytesReserved).toBe(0)
  const answer = '{"id":"gen-1","usage":{"prompt_tokens":1,"cost":0.001}}'
  socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`)
  const { statusCode, body: text } = await answered
  expect([statusCode, await text.text()]).toEqual([200, answer])
})

test('an open stream keeps none of the memory that Node shares among buffers', async () => {
  let provider = Promise.withResolvers<Socket>()
  const world = await startJourneyWorld({
    upstream: async (socket) => {
      await wholeRequest(socket)
      provider.resolve(socket)
    },
  })
  const { hostname, port, pathname } = new URL(world.url)
  const head = `POST ${pathname} HTTP/1.1\r\nhost: t\r\nconnection: close\r\ncontent-length: ${STREAM_BODY.length}`
  // What the first stream leaves is kept for later ones.
  for (const isFirst of [true, false]) {
    provider = Promise.withResolvers()
    const refs = new Map<string, WeakRef<object>>()
    const notePool = (name: string) => refs.set(name, new WeakRef(Buffer.allocUnsafe(1).buffer))
    const client = connect({ host: hostname, port: Number(port) })
    notePool('while the request is read')
    client.write(`${head}\r\n\r\n${STREAM_BODY}`)
    const socket = await provider.promise
    notePool('while the answer begins')
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n')
    for (const text of ['one', 'two', 'three']) {
      const came = textOnce(client, text)
      socket.write(`data: {"id":"gen-1","choices":[{"delta":{"content":"${text}"}}]}\n\n`)
      await came
    }
    // Later buffers are in another piece.
    for (let bytes = 0; bytes < Buffer.poolSize; bytes += 1_024) Buffer.allocUnsafe(1_024)
    if (!isFirst) expect(await uncollected(refs)).toEqual([])
    const ended = once(client, 'close')
    socket.end('data: {"usage":{"prompt_tokens":1,"cost":0.001}}\n\ndata: [DONE]\n\n')
    client.resume()
    await ended
  }
})

/** Resolves when the text has come. */
function textOnce(socket: Socket, text: string): Promise<void> {
  return new Promise((resolve) => {
    const onData = (chunk: Buffer): void => {
      if (!chunk.includes(text)) return
      socket.off('data', onData)
      resolve()
    }
    socket.on('data', onData)
  })
}

test('a body without memory for its tree is not parsed: the answer is 503, and all memory is released', async () => {
  const world = await startJourneyWorld({
    upstream: () => {},
    replace: () => ({ byteBudget: createByteBudget({ bytesMax: 3 * MIB }) }),
  })
  const body = `{"model":"acme/some-model","messages":[${'{},'.repeat(50_000)}{}]}`
  const { statusCode, headers, body: text } = await request(world.url, { method: 'POST', body })
  expect([statusCode, headers['retry-after']]).toEqual([503, '1'])
  expect(await text.json()).toMatchObject({ error: { code: 'service_unavailable' } })
})

test('other requests get turns between the long steps of a large body', async () => {
  const usual = createByteBudget({ bytesMax: 64 * MIB })
  let turns = 0
  // The last reserved bytes are for the tree, right before the parse.
  const telling: ByteBudget = {
    reserve(owner) {
      const reservation = usual.reserve(owner)
      return {
        grow(moreBytes) {
          reservation.grow(moreBytes)
          turns = 0
          setImmediate(() => turns++)
        },
        giveBack: () => reservation.giveBack(),
        release: () => reservation.release(),
        get isCrowded() {
          return reservation.isCrowded
        },
      }
    },
    get bytesReserved() {
      return usual.bytesReserved
    },
  }
  const turnsBeforeReading: number[] = []
  const world = await startJourneyWorld({
    upstream: (socket) => socket.destroy(),
    format: {
      ...chat,
      readCall(parsed, publicNames) {
        turnsBeforeReading.push(turns)
        return chat.readCall(parsed, publicNames)
      },
    },
    replace: () => ({ byteBudget: telling }),
  })
  for (const contentBytes of [1_000, 2 * MIB]) {
    const { body } = await request(world.url, { method: 'POST', body: bodyOf(contentBytes, false) })
    await body.dump()
  }
  expect(turnsBeforeReading).toEqual([0, 1])
})

test('other requests get turns while the text of a large body is sized', async () => {
  let turns = 0
  let isSizing = false
  const countTurns = (): void => {
    turns++
    if (isSizing) setImmediate(countTurns)
  }
  const turnsWhileSizing: number[] = []
  const world = await startJourneyWorld({
    upstream: (socket) => socket.destroy(),
    format: {
      ...chat,
      readCall(parsed, words) {
        isSizing = true
        turns = 0
        setImmediate(countTurns)
        return chat.readCall(parsed, words)
      },
    },
    replace: ({ offerFor }) => ({
      offerFor(modelName, endpoint) {
        isSizing = false
        turnsWhileSizing.push(turns)
        return offerFor(modelName, endpoint)
      },
    }),
  })
  for (const contentBytes of [1_000, 8 * MIB]) {
    const { body } = await request(world.url, { method: 'POST', body: bodyOf(contentBytes, false) })
    await body.dump()
  }
  const [ofSmall = -1, ofLarge = -1] = turnsWhileSizing
  expect(ofSmall).toBe(0)
  expect(ofLarge).toBeGreaterThanOrEqual(8)
})

test.each([
  ['is refused', 'sim/unknown'],
  ['waits for its prices', 'acme/some-model'],
])('a large body that %s delays no other body', async (_, modelName) => {
  const isRefused = modelName === 'sim/unknown'
  let isFirst = !isRefused
  const asked = Promise.withResolvers<void>()
  const prices = Promise.withResolvers<void>()
  const answer = '{"id":"gen-1","usage":{"prompt_tokens":1,"cost":0.001}}'
  const world = await startJourneyWorld({
    upstream: async (socket) => {
      await wholeRequest(socket)
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`)
    },
    replace: ({ holdOffer, offerFor }) => ({
      offerFor(name, endpoint) {
        if (name === 'sim/unknown') throw new Problem('model_not_found')
        return offerFor(name, endpoint)
      },
      holdOffer(offer) {
        if (!isFirst) return holdOffer(offer)
        isFirst = false
        asked.resolve()
        return prices.promise.then(() => holdOffer(offer))
      },
    }),
  })
  const leaving = new AbortController()
  const first = request(world.url, {
    method: 'POST',
    body: bodyOf(MIB, false).replace('acme/some-model', modelName),
    signal: leaving.signal,
  }).catch(() => null)
  if (isRefused) await (await first)?.body.dump()
  // Otherwise the other may be the one that waits.
  else await asked.promise
  const { statusCode, body } = await request(world.url, {
    method: 'POST',
    body: bodyOf(MIB, false),
  })
  expect([statusCode, await body.text()]).toEqual([200, answer])
  leaving.abort()
  await first
  prices.resolve()
})
