import type { Socket } from 'node:net'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import type { JourneyParts } from '../src/journey/journey-parts.ts'
import { Settler } from '../src/journey/settle/settler.ts'
import { ZERO_MICROS } from '../src/vocabulary/money.ts'
import { CHAT_BODY, type JourneyWorld, STREAM_BODY, startJourneyWorld } from './journey-world.ts'
import { wholeRequest } from './raw-server.ts'

/** A settler of the usual ledger that tells of each settle as it is asked for and once it is durable. */
function watchedSettler(
  { ledger }: JourneyParts,
  steps: {
    readonly asked?: () => void
    readonly durable?: () => void
    /** How long an answer waits. Default: longer than any test. */
    readonly waitMs?: number
    /** The store takes no settle before. */
    readonly from?: Promise<void>
  },
): Settler {
  return new Settler({
    ledger: {
      openHold: (input) => ledger.openHold(input),
      abandon: (requestId) => ledger.abandon(requestId),
      noteGeneration: (input) => ledger.noteGeneration(input),
      async settle(input) {
        steps.asked?.()
        await steps.from
        const settled = await ledger.settle(input)
        steps.durable?.()
        return settled
      },
    },
    waitMs: steps.waitMs ?? 60_000,
    onFailure: (_, cause) => {
      throw cause
    },
    onSettled: () => {},
  })
}

describe('the charge is durable before the first byte', () => {
  const SUCCESS = '{"id":"gen-1","choices":[],"usage":{"prompt_tokens":1,"cost":0.001}}'
  test.each([
    ['of an answer', '200 OK', SUCCESS, '1050'],
    ['of an error', '400 Bad Request', '{"error":{"message":"no"}}', undefined],
  ])('%s', async (_, status, body, cost) => {
    const headersSent: (boolean | undefined)[] = []
    const world: JourneyWorld = await startJourneyWorld({
      upstream: async (socket) => {
        await wholeRequest(socket)
        socket.end(`HTTP/1.1 ${status}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
      },
      replace: (parts) => ({
        settler: watchedSettler(parts, {
          durable: () => headersSent.push(world.clients[0]?.headersSent),
        }),
      }),
    })
    const answer = await request(world.url, { method: 'POST', body: CHAT_BODY })
    await answer.body.dump()
    expect(answer.headers['x-service-cost']).toBe(cost)
    expect(headersSent).toEqual([false])
  })
})

/** The usual gate, which tells of what becomes of each place in flight. */
function watchedGate({ gate }: JourneyParts, steps: (what: string) => void): JourneyParts['gate'] {
  return {
    enter(caller) {
      const slot = gate.enter(caller)
      return {
        rateLimits: slot.rateLimits,
        admitted() {
          steps('admitted')
          slot.admitted()
        },
        readOn() {
          steps('read on')
          return slot.readOn()
        },
        leave() {
          steps('left')
          slot.leave()
        },
      }
    },
  }
}

test('the log has a hold as open whose answer was sent before its charge was durable', async () => {
  const from = Promise.withResolvers<void>()
  const durable = Promise.withResolvers<void>()
  const answer = '{"id":"gen-1","choices":[],"usage":{"prompt_tokens":1,"cost":0.001}}'
  const world: JourneyWorld = await startJourneyWorld({
    upstream: async (socket) => {
      await wholeRequest(socket)
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`)
    },
    replace: (parts) => ({
      settler: watchedSettler(parts, { durable: durable.resolve, waitMs: 0, from: from.promise }),
    }),
  })
  const { body, headers } = await request(world.url, { method: 'POST', body: CHAT_BODY })
  await body.dump()
  expect(headers['x-service-cost']).toBe('1050')
  await expect.poll(() => world.ended).toHaveLength(1)
  expect(world.ended[0]?.record).toMatchObject({ state: 'open', settledAtMs: null })
  from.resolve()
  await durable.promise
})

test('a stream is settled and its place is free before its last event is written', async () => {
  const steps: [string, number | undefined][] = []
  const note = (what: string) => steps.push([what, world.clients[0]?.socket?.bytesWritten])
  const provider = Promise.withResolvers<Socket>()
  const durable = Promise.withResolvers<void>()
  const world: JourneyWorld = await startJourneyWorld({
    upstream: async (socket) => {
      await wholeRequest(socket)
      socket.write(
        'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {"usage":{"cost":0.001}}\n\n',
      )
      provider.resolve(socket)
    },
    replace: (parts) => ({
      gate: watchedGate(parts, note),
      settler: watchedSettler(parts, { asked: () => note('settled'), durable: durable.resolve }),
    }),
  })
  const { body } = await request(world.url, { method: 'POST', body: STREAM_BODY })
  const events = body[Symbol.asyncIterator]()
  expect(String((await events.next()).value)).toContain('usage')
  const writtenBefore = world.clients[0]?.socket?.bytesWritten
  const socket = await provider.promise
  // The provider keeps its connection open meanwhile.
  socket.write('data: [DONE]\n\n')
  expect(String((await events.next()).value)).toContain('[DONE]')
  expect(steps.slice(1)).toEqual([
    ['settled', writtenBefore],
    ['left', writtenBefore],
  ])
  socket.end()
  expect((await events.next()).done).toBe(true)
  await durable.promise
})

test('a request counts from the moment that its hold was opened, as in the ledger', async () => {
  const steps: string[] = []
  const note = (what: string) => steps.push(what)
  const world: JourneyWorld = await startJourneyWorld({
    upstream: async (socket) => {
      await wholeRequest(socket)
      note('sent')
      socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}')
    },
    replace: (parts) => ({
      gate: watchedGate(parts, note),
      ledger: {
        async openHold(input) {
          const verdict = await parts.ledger.openHold(input)
          note(verdict.kind)
          return verdict
        },
        settle: (input) => parts.ledger.settle(input),
        abandon: (requestId) => parts.ledger.abandon(requestId),
        noteGeneration: (input) => parts.ledger.noteGeneration(input),
      },
    }),
  })
  const { body } = await request(world.url, { method: 'POST', body: CHAT_BODY })
  await body.dump()
  expect(steps).toEqual(['opened', 'admitted', 'sent', 'left'])
})

test.each([
  ['without paid credit', { hasBackedCredit: false }, /Adding credit lifts this limit\.$/],
  ['with paid credit', { hasBackedCredit: true }, /ask the operator for a higher limit\.$/],
] as const)(
  'an account %s learns how to raise the limit that the ledger refuses by',
  async (_, of, advice) => {
    const facts = {
      neededMicros: ZERO_MICROS,
      availableMicros: ZERO_MICROS,
      fittingMicros: ZERO_MICROS,
      heldMicros: ZERO_MICROS,
      retryAfterSeconds: 7,
      reached: { kind: 'requestsPerMinute', of: 'account', max: 20 },
    } as const
    const world = await startJourneyWorld({
      upstream: () => {
        throw new Error('nothing is forwarded')
      },
      replace: ({ ledger, authenticate }) => ({
        authenticate: async (arrival) => ({ ...(await authenticate(arrival)), ...of }),
        ledger: {
          openHold: async () => ({ kind: 'refused', code: 'rate_limited', facts }),
          settle: (input) => ledger.settle(input),
          abandon: (requestId) => ledger.abandon(requestId),
          noteGeneration: (input) => ledger.noteGeneration(input),
        },
      }),
    })
    const { statusCode, body } = await request(world.url, { method: 'POST', body: CHAT_BODY })
    const { error } = Object(await body.json())
    expect([statusCode, error.message]).toEqual([429, expect.stringMatching(advice)])
  },
)
