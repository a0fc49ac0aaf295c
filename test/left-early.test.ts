import type { Socket } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { messages } from '../src/formats/messages.ts'
import { CHAT_BODY, type JourneyWorld, STREAM_BODY, startJourneyWorld } from './journey-world.ts'
import { startLeavingWorld } from './leaving-world.ts'
import { chunked, dial, peerLeft, posted } from './raw-server.ts'

const NEVER_MS = 600_000

const BODY_BYTES = 8_000_000

setFlagsFromString('--expose-gc')
const runCollector: () => void = runInNewContext('gc')

/** Bytes in buffers and in the heap that somebody refers to. */
function collectGarbage(): number {
  for (let round = 0; round < 3; round++) runCollector()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return arrayBuffers + heapUsed
}

function rows(to: JourneyWorld): unknown[] {
  const store = new DatabaseSync(to.file, { readOnly: true })
  const found = store
    .prepare('select state, backed_held_micros > 0 as holds from all_requests')
    .all()
  store.close()
  return found.map((row) => ({ ...row }))
}

const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n'
const event = (data: object): string => chunked(`data: ${JSON.stringify(data)}\n\n`)

const LEFT = { errorCode: 'client_gone', httpStatus: 499, backedChargeMicros: 0 } as const

describe('a client that leaves a stream before its headers', () => {
  test('has its place free at once, in this process and in the store, while the hold stays', async () => {
    const { to, leave, nextCall } = await startLeavingWorld()
    for (let left = 0; left < 10; left++) await leave()
    const answer = request(to.url, { method: 'POST', body: CHAT_BODY })
    const provider = await nextCall()
    const held = rows(to)
    expect(held.slice(0, 10)).toEqual(Array(10).fill({ state: 'unresolved', holds: 1 }))
    expect(held[10]).toEqual({ state: 'open', holds: 1 })
    provider.end('HTTP/1.1 500 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
    await (await answer).body.dump()
    await to.upstream.destroy()
  })

  test('uses no memory of the budget or the process while the rest of the call is read', async () => {
    const { to, leave } = await startLeavingWorld()
    const body = JSON.stringify({ ...JSON.parse(STREAM_BODY), user: 'x'.repeat(BODY_BYTES) })
    const before = collectGarbage()
    const providers: Socket[] = []
    for (let left = 0; left < 8; left++) providers.push(await leave(body))
    expect(to.bytesReserved()).toBe(0)
    expect(collectGarbage() - before).toBeLessThan(2 * BODY_BYTES)
    for (const provider of providers) provider.destroy()
  })

  test.each([
    ['the headers', `${STREAM_HEAD}x-generation-id: gen-1\r\n\r\n`],
    ['the first event', `${STREAM_HEAD}\r\n${event({ id: 'gen-1', choices: [] })}`],
  ])(
    'with an ID in %s: the call is cancelled, and stays unresolved until the cost is looked up',
    async (_, answer) => {
      const { to, leave } = await startLeavingWorld()
      const provider = await leave()
      provider.write(answer)
      await peerLeft(provider)
      expect(await to.onlyRequest()).toMatchObject({
        ...LEFT,
        state: 'unresolved',
        generationId: 'gen-1',
      })
    },
  )

  test('without an ID, at the first counts: the call is cancelled, and the counts are charged', async () => {
    const { to, leave } = await startLeavingWorld({ format: messages })
    const body = JSON.stringify({ ...JSON.parse(STREAM_BODY), max_tokens: 50 })
    const provider = await leave(body)
    provider.write(`${STREAM_HEAD}\r\n${event({ type: 'ping' })}`)
    const usage = { input_tokens: 1_000, output_tokens: 1 }
    provider.write(event({ type: 'message_start', message: { id: 'msg_1', usage } }))
    await peerLeft(provider)
    expect(await to.onlyRequest()).toMatchObject({
      ...LEFT,
      state: 'provisional',
      generationId: null,
      costUsd: null,
      // A thousand micro-dollars in, two out, and the fee.
      backedChargeMicros: 1_052,
    })
  })

  test('with the cost at once: the cost is charged', async () => {
    const { to, leave } = await startLeavingWorld()
    const provider = await leave()
    const usage = { prompt_tokens: 10, completion_tokens: 1, cost: 0.001 }
    provider.write(`${STREAM_HEAD}\r\n${event({ id: 'gen-1', choices: [], usage })}`)
    await peerLeft(provider)
    expect(await to.onlyRequest()).toMatchObject({
      ...LEFT,
      state: 'provisional',
      costUsd: '0.001',
      backedChargeMicros: 1_050,
    })
  })

  test('without an ID or counts in time: the call is cancelled, and stays unresolved', async () => {
    const { to, leave } = await startLeavingWorld({ timeouts: { readOnTimeoutMs: 50 } })
    const provider = await leave()
    provider.write(`${STREAM_HEAD}\r\n${event({ choices: [] })}`)
    await peerLeft(provider)
    expect(await to.onlyRequest()).toMatchObject({
      ...LEFT,
      state: 'unresolved',
      generationId: null,
    })
  })

  test('that is answered whole is charged the cost of the answer', async () => {
    const { to, leave } = await startLeavingWorld()
    const provider = await leave()
    const answer = JSON.stringify({ id: 'gen-1', usage: { prompt_tokens: 1, cost: 0.001 } })
    provider.write(`HTTP/1.1 200 OK\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`)
    expect(await to.onlyRequest()).toMatchObject({
      state: 'provisional',
      errorCode: 'client_gone',
      backedChargeMicros: 1_050,
    })
  })

  test.each<[string, (provider: Socket) => void]>([
    [
      'an error',
      (provider) =>
        provider.end(
          'HTTP/1.1 503 Busy\r\nx-generation-id: gen-1\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}',
        ),
    ],
    ['an error whose body never ends', (provider) => provider.write('HTTP/1.1 500 No\r\n\r\n{')],
    ['a reset', (provider) => provider.resetAndDestroy()],
    ['an end', (provider) => provider.end()],
    ['a stream that breaks off', (provider) => provider.end(`${STREAM_HEAD}\r\n`)],
  ])('and is answered by %s is charged nothing', async (_, answer) => {
    const { to, leave } = await startLeavingWorld({ timeouts: { readOnTimeoutMs: 500 } })
    answer(await leave())
    expect(await to.onlyRequest()).toMatchObject({ ...LEFT, state: 'released' })
  })

  test('without headers in time is charged nothing', async () => {
    const { to, leave } = await startLeavingWorld({ timeouts: { headersTimeoutMs: 3_000 } })
    await leave()
    expect(await to.onlyRequest()).toMatchObject({ ...LEFT, state: 'released' })
  })

  test('while the request is still being written: nothing ran, and nothing is charged', async () => {
    const blocked = Promise.withResolvers<Socket>()
    const to = await startJourneyWorld({
      upstream: (socket) => {
        socket.pause()
        blocked.resolve(socket)
      },
    })
    const body = JSON.stringify({ ...JSON.parse(STREAM_BODY), user: 'x'.repeat(30_000_000) })
    const long = body.replace('"x', '"y').replace('"user"', '"metadata"')
    const client = dial(to, posted(long))
    const provider = await blocked.promise
    client.resetAndDestroy()
    await peerLeft(provider)
    expect(await to.onlyRequest()).toMatchObject({ ...LEFT, state: 'released' })
  })

  test('frees its place for 16 calls of a key, and further calls keep theirs until they are read to the end', async () => {
    const { to, leave } = await startLeavingWorld()
    const providers: Socket[] = []
    for (let left = 0; left < 18; left++) providers.push(await leave())
    const refused = await request(to.url, { method: 'POST', body: CHAT_BODY })
    await refused.body.dump()
    expect(refused.statusCode).toBe(429)
    for (const provider of providers) provider.destroy()
    await to.expectNothingLeft()
    const leftEarly = to.ended.map(({ record }) => record.leftEarly)
    expect(leftEarly.filter((how) => how === 'readOn')).toHaveLength(18)
  })
})

test('a client that leaves while its failed stream is settled leaves no call to be read on', async () => {
  const settling = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  const { to, send } = await startLeavingWorld({
    replace: ({ settler }) => {
      const settleInTime = settler.settleInTime.bind(settler)
      settler.settleInTime = async (input) => {
        settling.resolve()
        await gone.promise
        return settleInTime(input)
      }
      return {}
    },
  })
  const { provider, leave } = await send()
  provider.resetAndDestroy()
  await settling.promise
  await leave()
  gone.resolve()
  expect(await to.onlyRequest()).toMatchObject({ state: 'released', errorCode: 'upstream_error' })
  expect(to.ended.map(({ record }) => record.leftEarly)).toEqual([null])
})

describe('a stop of the server', () => {
  test('waits for calls that are read on', async () => {
    const { to, leave } = await startLeavingWorld()
    const provider = await leave()
    const drained = to.inference.drain({ timeoutMs: NEVER_MS, cutOff: () => {} })
    provider.write(`${STREAM_HEAD}x-generation-id: gen-1\r\n\r\n`)
    await drained
    expect(await to.onlyRequest()).toMatchObject({ state: 'unresolved', generationId: 'gen-1' })
  })

  test('leaves them unresolved when its time is up', async () => {
    const { to, leave } = await startLeavingWorld()
    await leave()
    await to.inference.drain({ timeoutMs: 0, cutOff: () => void to.upstream.destroy() })
    expect(await to.onlyRequest()).toMatchObject({
      ...LEFT,
      state: 'unresolved',
      generationId: null,
    })
  })

  test('leaves a stream unresolved if it has begun and reported nothing when the time is up', async () => {
    const { to, leave } = await startLeavingWorld()
    const provider = await leave()
    provider.write(`${STREAM_HEAD}\r\n${chunked(': working\n\n')}`)
    await expect.poll(() => to.bytesReserved(), { interval: 1 }).toBeGreaterThan(0)
    await to.inference.drain({ timeoutMs: 0, cutOff: () => void to.upstream.destroy() })
    expect(await to.onlyRequest()).toMatchObject({ ...LEFT, state: 'unresolved' })
  })
})
