import { request } from 'undici'
import { expect, test } from 'vitest'
import { CHAT_BODY, STREAM_BODY, startJourneyWorld } from './journey-world.ts'
import { wholeRequest } from './raw-server.ts'

/** What a provider may say before its answer, and what becomes of the request. */

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
  [
    'a whole answer, which may have been run: its hold stays reserved',
    CHAT_BODY,
    WHOLE,
    'unresolved',
  ],
  ['a stream, of which nobody had anything: its hold is released', STREAM_BODY, STREAM, 'released'],
])('a 100 that nobody asked for loses %s', async (_, body, answer, state) => {
  expect(await askOne(body, CONTINUE + answer)).toMatchObject({
    httpStatus: 502,
    state,
    backedChargeMicros: 0,
  })
})
