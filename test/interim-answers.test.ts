import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { CHAT_BODY, STREAM_BODY, startJourneyWorld } from './journey-world.ts'
import { wholeRequest } from './raw-server.ts'

/** Interim answers of a provider, and the fate of the request. */

const ANSWER =
  '{"id":"gen-1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"cost":0.001}}'
const WHOLE = `HTTP/1.1 200 OK\r\ncontent-length: ${ANSWER.length}\r\n\r\n${ANSWER}`
const STREAM =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n' +
  `data: ${ANSWER}\n\ndata: [DONE]\n\n`

const HINTS =
  'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n' +
  'HTTP/1.1 103 Early Hints\r\nx-generation-id: gen-hint\r\n\r\n'
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'

async function askOne(body: string, answer: string) {
  const world = await startJourneyWorld({
    upstream: async (socket) => {
      await wholeRequest(socket)
      socket.write(answer)
      if (body === STREAM_BODY) socket.end()
    },
  })
  const got = await request(world.url, { method: 'POST', body })
  const text = await got.body.text()
  const { state, backedChargeMicros, generationId } = await world.onlyRequest()
  await world.expectNothingLeft()
  return { httpStatus: got.statusCode, text, state, backedChargeMicros, generationId }
}

test.each([
  ['a whole answer', CHAT_BODY, WHOLE, ANSWER],
  ['a stream', STREAM_BODY, STREAM, `data: ${ANSWER}\n\ndata: [DONE]\n\n`],
])('hints before %s change nothing about it', async (_, body, answer, text) => {
  expect(await askOne(body, HINTS + answer)).toEqual({
    httpStatus: 200,
    text,
    state: 'provisional',
    backedChargeMicros: 1_050,
    generationId: 'gen-1',
  })
})

test.each([
  ['a whole answer', CHAT_BODY, WHOLE, ANSWER],
  ['a stream', STREAM_BODY, STREAM, `data: ${ANSWER}\n\ndata: [DONE]\n\n`],
])('an unrequested 100 changes nothing about %s', async (_, body, answer, text) => {
  const expected = { httpStatus: 200, text, state: 'provisional', backedChargeMicros: 1_050 }
  expect(await askOne(body, CONTINUE + answer)).toMatchObject(expected)
  expect(await askOne(body, CONTINUE + HINTS + CONTINUE + answer)).toMatchObject(expected)
})

describe('a 2xx other than 200', () => {
  const withStatus = (status: string, answer: string) => answer.replace('200 OK', status)

  test.each(['201 Created', '203 Non-Authoritative Information'])(
    '%s is a whole answer, and relayed with 200',
    async (status) => {
      const expected = { httpStatus: 200, state: 'provisional', backedChargeMicros: 1_050 }
      const whole = await askOne(CHAT_BODY, withStatus(status, WHOLE))
      expect(whole).toMatchObject({ ...expected, text: ANSWER })
      const stream = await askOne(STREAM_BODY, withStatus(status, STREAM))
      expect(stream).toMatchObject({ ...expected, text: expect.stringContaining('[DONE]') })
    },
  )

  test.each(['202 Accepted', '206 Partial Content'])(
    '%s is not a whole answer: the call was accepted, so its hold stays until it is looked up',
    async (status) => {
      const lost = { httpStatus: 502, state: 'unresolved', generationId: 'gen-1' }
      expect(await askOne(CHAT_BODY, withStatus(status, WHOLE))).toMatchObject(lost)
    },
  )

  test('without a body counts as lost', async () => {
    const none = 'HTTP/1.1 204 No Content\r\n\r\n'
    expect(await askOne(CHAT_BODY, none)).toMatchObject({ httpStatus: 502, state: 'unresolved' })
  })

  test('that carries an error is an error', async () => {
    const error = '{"error":{"message":"no","code":400}}'
    const answer = `HTTP/1.1 202 Accepted\r\ncontent-length: ${error.length}\r\n\r\n${error}`
    expect(await askOne(CHAT_BODY, answer)).toMatchObject({ httpStatus: 400, state: 'released' })
  })
})
