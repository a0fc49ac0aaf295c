import { once } from 'node:events'
import type { Socket } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { ByteBudget } from '../src/journey/gate/byte-budget.ts'
import type { HoldLedger } from '../src/ledger/ledger.ts'
import { CHAT_BODY, type JourneyWorld, STREAM_BODY, startJourneyWorld } from './journey-world.ts'
import {
  answerOf,
  beginning,
  CHUNKED_STREAM,
  chunked,
  dial,
  peerLeft,
  posted,
  wholeRequest,
} from './raw-server.ts'

const EVENT = 'data: {"id":"gen-1","choices":[{"delta":{"content":"some words of an answer"}}]}\n\n'
const DONE = 'data: [DONE]\n\n'
/** Above any pause of a busy machine between two pieces of an answer that is there. */
const STALL_MS = 3_000

function head(length: number, more = ''): string {
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n${more}\r\n`
}

/** A client that has written this much of a request; it reads and drops the answer. */
function clientOf(to: JourneyWorld, text: string | Buffer): Socket {
  return dial(to, text).resume()
}

test('the hold is in the store before the provider is sent a byte', async () => {
  const seen = Promise.withResolvers<unknown>()
  const to = await startJourneyWorld({
    upstream: (socket) => {
      socket.once('data', () => {
        const store = new DatabaseSync(to.file, { readOnly: true })
        seen.resolve(store.prepare('select state from all_requests').all())
        store.close()
        socket.destroy()
      })
    },
  })
  clientOf(to, posted(CHAT_BODY))
  expect(await seen.promise).toEqual([{ state: 'open' }])
  expect(await to.onlyRequest()).toMatchObject({ state: 'unresolved' })
})

/** Nothing of the request is in the store, and nothing went upstream. */
async function expectNoTrace(to: JourneyWorld): Promise<void> {
  await to.expectNothingLeft()
  const store = new DatabaseSync(to.file, { readOnly: true })
  expect(store.prepare('select id from all_requests').all()).toEqual([])
  store.close()
}

const noUpstream = () => {
  throw new Error('nothing may be sent')
}

describe('a client that leaves before the hold leaves no hold and no place in flight', () => {
  test('while it is authenticated, with all of its body sent or none', async () => {
    for (const sent of [posted(CHAT_BODY), head(1_000)]) {
      const asked = Promise.withResolvers<void>()
      const answer = Promise.withResolvers<void>()
      const to = await startJourneyWorld({
        upstream: noUpstream,
        replace: ({ authenticate }) => ({
          authenticate: async (headers) => {
            asked.resolve()
            await answer.promise
            return authenticate(headers)
          },
        }),
      })
      const client = clientOf(to, sent)
      await asked.promise
      const gone = once(to.clients[0] ?? client, 'close')
      client.resetAndDestroy()
      await gone
      answer.resolve()
      await expectNoTrace(to)
      expect(to.ended.map(({ httpStatus }) => httpStatus)).toEqual([499])
    }
  })

  test.each<[string, string | Buffer]>([
    ['in the middle of its body', head(1_000) + CHAT_BODY],
    [
      'in the middle of a chunked body',
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${chunked('{"a"')}`,
    ],
    [
      'in the middle of a gzipped body',
      Buffer.concat([
        Buffer.from(head(1_000, 'content-encoding: gzip\r\n')),
        gzipSync(CHAT_BODY).subarray(0, 20),
      ]),
    ],
  ])('%s', async (_, sent) => {
    const reserved = Promise.withResolvers<void>()
    const to = await startJourneyWorld({
      upstream: noUpstream,
      replace: ({ gate }) => ({
        gate: {
          enter: (caller) => {
            reserved.resolve()
            return gate.enter(caller)
          },
          remembered: 0,
        },
      }),
    })
    const client = clientOf(to, sent)
    await reserved.promise
    client.resetAndDestroy()
    await expectNoTrace(to)
    expect(to.ended.map(({ httpStatus }) => httpStatus)).toEqual([499])
  })
})

test('a client that leaves between the hold and the provider: the hold is released and nothing is sent', async () => {
  const opened = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const slow = (ledger: HoldLedger): HoldLedger => ({
    async openHold(input) {
      const verdict = await ledger.openHold(input)
      opened.resolve()
      await goOn.promise
      return verdict
    },
    settle: (input) => ledger.settle(input),
    abandon: (requestId) => ledger.abandon(requestId),
    noteGeneration: (input) => ledger.noteGeneration(input),
  })
  const to = await startJourneyWorld({
    upstream: noUpstream,
    replace: ({ ledger }) => ({ ledger: slow(ledger) }),
  })
  const client = clientOf(to, posted(CHAT_BODY))
  await opened.promise
  const gone = once(to.clients[0] ?? client, 'close')
  client.destroy()
  await gone
  goOn.resolve()
  expect(await to.onlyRequest()).toMatchObject({
    state: 'released',
    errorCode: 'client_gone',
    httpStatus: 499,
  })
})

// Before its headers: left-early.test.ts.
describe('a client that leaves a stream', () => {
  const usage = 'data: {"id":"gen-1","choices":[],"usage":{"prompt_tokens":1,"cost":0.001}}\n\n'

  test.each([
    [
      'in its middle: the call to the provider ends, and the read part is charged',
      EVENT,
      {
        ...{ state: 'provisional', errorCode: 'client_gone', generationId: 'gen-1' },
        backedChargeMicros: 16,
      },
    ],
    [
      'after its last event: it is charged as the whole that it was',
      EVENT + usage + DONE,
      { state: 'provisional', errorCode: null, backedChargeMicros: 1_050 },
    ],
  ])('%s', async (_, sent, expected) => {
    const { upstream, provider } = beginning(CHUNKED_STREAM + chunked(sent))
    const to = await startJourneyWorld({ upstream })
    const client = clientOf(to, posted(STREAM_BODY))
    await once(client, 'data')
    client.resetAndDestroy()
    await peerLeft(await provider)
    expect(await to.onlyRequest()).toMatchObject(expected)
  })

  test('that the provider does not stream is charged the cost of the whole answer', async () => {
    const begun = '{"id":"gen-1",'
    const rest = '"usage":{"prompt_tokens":1,"cost":0.001}}'
    const { upstream, provider } = beginning(answerOf(begun + rest).replace(rest, ''))
    const read = Promise.withResolvers<void>()
    const to = await startJourneyWorld({
      upstream,
      replace: ({ byteBudget }) => ({
        byteBudget: tellingBudget(byteBudget, (bytes) => {
          if (bytes === begun.length) read.resolve()
        }),
      }),
    })
    const client = clientOf(to, posted(STREAM_BODY))
    await read.promise
    const gone = once(to.clients[0] ?? client, 'close')
    client.resetAndDestroy()
    await gone
    ;(await provider).end(rest)
    expect(await to.onlyRequest()).toMatchObject({
      state: 'provisional',
      errorCode: null,
      backedChargeMicros: 1_050,
    })
  })
})

/** A budget that tells of each growth. */
function tellingBudget(budget: ByteBudget, onGrow: (bytes: number) => void): ByteBudget {
  return {
    reserve(owner) {
      const reservation = budget.reserve(owner)
      return {
        grow(moreBytes) {
          reservation.grow(moreBytes)
          onGrow(moreBytes)
        },
        get isCrowded() {
          return reservation.isCrowded
        },
        giveBack: () => reservation.giveBack(),
        release: () => reservation.release(),
      }
    },
    get bytesReserved() {
      return budget.bytesReserved
    },
  }
}

test('a client that takes nothing of a whole answer is cut off after the stall time, and its memory is free again', async () => {
  // Far more than the kernel takes for a client that does not read.
  const content = 'a'.repeat(48 * 1024 * 1024)
  const answer = JSON.stringify({
    id: 'gen-1',
    choices: [{ message: { content } }],
    usage: { prompt_tokens: 10, completion_tokens: 5, cost: 0.001 },
  })
  const asked = Promise.withResolvers<void>()
  const to = await startJourneyWorld({
    upstream: async (socket) => {
      await wholeRequest(socket)
      asked.resolve()
      socket.end(answerOf(answer))
    },
    timeouts: { stallTimeoutMs: STALL_MS },
  })
  const client = dial(to, posted(CHAT_BODY))
  await asked.promise
  // The request ends only once its client has all of the answer, or is cut off.
  expect(await to.onlyRequest()).toMatchObject({ state: 'provisional' })
  await to.expectNothingLeft()
  const closed = once(client, 'close')
  client.resume()
  await closed
  expect(client.bytesRead).toBeLessThan(answer.length)
})
