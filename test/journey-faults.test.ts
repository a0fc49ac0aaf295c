import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { chat } from '../src/formats/chat.ts'
import { chat as chatWire } from '../src/upstreams/openrouter/chat.ts'
import type { StreamObserver, Wire } from '../src/upstreams/wire.ts'
import { PROBLEMS } from '../src/vocabulary/problem.ts'
import {
  CHAT_BODY,
  type JourneyWorld,
  type JourneyWorldInput,
  STREAM_BODY,
  startJourneyWorld,
} from './journey-world.ts'
import { answering, beginning, wholeRequest } from './raw-server.ts'

class Bug extends Error {
  override readonly name = 'Bug'
}

function fail(): never {
  throw new Bug('a bug, which quotes PROMPT')
}

const ANSWER = JSON.stringify({
  id: 'gen-body',
  choices: [],
  usage: { prompt_tokens: 10, completion_tokens: 5, cost: 0.001 },
})
const WHOLE_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-generation-id: gen-head\r\n'
const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\nx-generation-id: gen-head\r\n\r\n'
const EVENT = 'data: {"id":"gen-body","choices":[{"delta":{"content":"word"}}]}\n\n'

function whole(body: string, httpStatus = '200 OK'): string {
  return `${WHOLE_HEAD.replace('200 OK', httpStatus)}content-length: ${body.length}\r\n\r\n${body}`
}

/** Chat, with an observer that fails in one of its parts once it has seen an event. */
function failingObserver(part: keyof StreamObserver): Partial<Wire> {
  return {
    observeStream: () => {
      const observer = chatWire.observeStream({})
      let seen = part === 'takeAlike' ? 1 : 0
      const broken: StreamObserver = {
        onEvent: (event) => (part === 'onEvent' && ++seen === 2 ? fail() : observer.onEvent(event)),
        takeAlike: (chunk, start) =>
          part === 'takeAlike' && seen === 1 ? fail() : observer.takeAlike(chunk, start),
        reported: () => (part === 'reported' ? fail() : observer.reported()),
        textTokens: () => observer.textTokens(),
        relayedTokens: () => (part === 'relayedTokens' ? fail() : observer.relayedTokens()),
      }
      return broken
    },
  }
}

async function post(to: JourneyWorld, body: string) {
  const { statusCode, body: answer, headers } = await request(to.url, { method: 'POST', body })
  return { httpStatus: statusCode, headers, text: await answer.text() }
}

const INTERNAL = {
  error: {
    message: PROBLEMS.internal_error.message,
    type: 'api_error',
    code: 'internal_error',
    param: null,
  },
}

describe('before the body is read', () => {
  test('memory that cannot be counted: the client is answered 500, and its place in flight is free', async () => {
    const to = await startJourneyWorld({
      upstream: fail,
      replace: () => ({ byteBudget: { reserve: fail, bytesReserved: 0 } }),
    })
    for (let i = 0; i < 3; i++) {
      const { httpStatus, text } = await post(to, CHAT_BODY)
      expect([httpStatus, JSON.parse(text)]).toEqual([500, INTERNAL])
    }
  })
})

describe('between the hold and its forwarding', () => {
  test.each<[string, Partial<JourneyWorldInput>]>([
    ['a rewrite fails', { wire: { rewrites: fail } }],
    [
      'a rewrite wants what is not there',
      { wire: { rewrites: () => [{ kind: 'set', path: ['a', 'b'], json: '1' }] } },
    ],
    ['the headers for the provider fail', { format: { ...chat, forwardedHeaders: fail } }],
  ])(
    '%s: the hold is released, nothing is sent, and the client is answered 500',
    async (_, broken) => {
      let connections = 0
      const to = await startJourneyWorld({ upstream: () => connections++, ...broken })
      const { httpStatus, text } = await post(to, CHAT_BODY)
      expect([httpStatus, JSON.parse(text)]).toEqual([500, INTERNAL])
      expect(await to.onlyRequest()).toMatchObject({
        state: 'released',
        httpStatus: 500,
        errorCode: 'internal_error',
      })
      expect(connections).toBe(0)
    },
  )
})

describe('while a whole answer is read', () => {
  test.each<[string, string]>([
    ['a success', whole(ANSWER)],
    ['an error', whole('{"error":{"message":"LEAK","code":400}}', '400 Bad Request')],
  ])(
    '%s: the credit stays held with the ID to look it up, and the client is answered 500',
    async (_, answer) => {
      const to = await startJourneyWorld({
        upstream: answering(answer),
        wire: { readAnswer: fail },
      })
      const { httpStatus, text, headers } = await post(to, CHAT_BODY)
      expect(httpStatus).toBe(500)
      expect(JSON.parse(text)).toEqual(INTERNAL)
      expect(headers['x-service-cost']).toBeUndefined()
      expect(await to.onlyRequest()).toMatchObject({
        state: 'unresolved',
        generationId: 'gen-head',
        httpStatus: 500,
        errorCode: 'internal_error',
      })
      await to.expectNothingLeft()
      expect(to.ended[0]?.problem?.cause).toBeInstanceOf(Bug)
    },
  )
})

describe('while a stream is relayed', () => {
  test('before its head: the hold is released and the client is answered 500', async () => {
    const to = await startJourneyWorld({
      upstream: answering(STREAM_HEAD + EVENT),
      wire: { observeStream: fail },
    })
    const { httpStatus, text } = await post(to, STREAM_BODY)
    expect([httpStatus, JSON.parse(text)]).toEqual([500, INTERNAL])
    expect(await to.onlyRequest()).toMatchObject({ state: 'released', errorCode: 'internal_error' })
  })

  test.each<[keyof StreamObserver]>([['onEvent'], ['takeAlike'], ['reported']])(
    'in an observer, at %s: the hold ends like that of a lost stream, and the client sees no whole end',
    async (part) => {
      const to = await startJourneyWorld({
        upstream: answering(STREAM_HEAD + EVENT + EVENT),
        wire: failingObserver(part),
      })
      await expect(post(to, STREAM_BODY)).rejects.toThrow()
      expect(await to.onlyRequest()).toMatchObject({
        state: 'released',
        httpStatus: 200,
        errorCode: 'internal_error',
      })
      await to.expectNothingLeft()
      expect(to.ended[0]?.record.fault).toBeInstanceOf(Bug)
    },
  )

  test('in the wording of an error: no text of the provider is relayed in its place', async () => {
    const error = 'data: {"error":{"code":400,"message":"LEAK"}}\n\n'
    const to = await startJourneyWorld({
      upstream: answering(STREAM_HEAD + error),
      format: { ...chat, errorEvent: fail },
    })
    await expect(post(to, STREAM_BODY)).rejects.toThrow()
    expect(await to.onlyRequest()).toMatchObject({ state: 'released' })
  })

  test('when a deadline ends it: the process continues, and the hold ends', async () => {
    const to = await startJourneyWorld({
      upstream: beginning(STREAM_HEAD + EVENT).upstream,
      wire: failingObserver('reported'),
      timeouts: { stallTimeoutMs: 50 },
    })
    await expect(post(to, STREAM_BODY)).rejects.toThrow()
    expect(await to.onlyRequest()).toMatchObject({ state: 'released' })
  })
})

describe('in the rule for money', () => {
  const brokenPrices =
    (isBroken: () => boolean): NonNullable<JourneyWorldInput['replace']> =>
    ({ offerFor }) => ({
      offerFor: (modelName, endpoint) => {
        const offer = offerFor(modelName, endpoint)
        return {
          ...offer,
          get prices() {
            return isBroken() ? fail() : offer.prices
          },
        }
      },
    })

  test.each<[string, string, string]>([
    ['a whole answer', CHAT_BODY, whole(ANSWER.replace(',"cost":0.001', ''))],
    [
      'a stream',
      STREAM_BODY,
      `${STREAM_HEAD}data: ${ANSWER.replace(',"cost":0.001', '')}\n\ndata: [DONE]\n\n`,
    ],
  ])('%s is delivered, and its credit stays held', async (_, body, answer) => {
    let broken = false
    const to = await startJourneyWorld({
      upstream: async (socket) => {
        await wholeRequest(socket)
        broken = true
        socket.end(answer)
      },
      replace: brokenPrices(() => broken),
    })
    const { httpStatus, text } = await post(to, body)
    expect(httpStatus).toBe(200)
    expect(text).toContain('gen-body')
    expect(await to.onlyRequest()).toMatchObject({ state: 'unresolved', generationId: 'gen-body' })
    await to.expectNothingLeft()
    expect(to.ended[0]?.record.fault).toBeInstanceOf(Bug)
  })
})
