import { describe, expect, test } from 'vitest'
import { type AnswerPiece, readChatAnswer } from './chat-answer.ts'

const STREAM = [
  ': a comment\n\n',
  'data: {"choices":[{"delta":{"role":"assistant","content":"Hé"}}]}\n\n',
  'data: {"choices":[{"delta":{"content":"llo."},"finish_reason":"length"}]}\r\n\r\n',
  'data: {"choices":[],"usage":{"total_tokens":5}}\n\n',
].join('')
const DONE = 'data: [DONE]\n\n'

/** An answer whose bytes come in pieces of one size. */
function streamed(text: string, pieceBytes: number): Response {
  const bytes = new TextEncoder().encode(text)
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        controller.enqueue(bytes.slice(at, at + pieceBytes))
      }
      controller.close()
    },
  })
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-request-id': 'req_1' },
  })
}

async function read(response: Response) {
  const pieces: AnswerPiece[] = []
  for await (const piece of readChatAnswer(response)) pieces.push(piece)
  return {
    text: pieces.map((piece) => (piece.kind === 'text' ? piece.text : '')).join(''),
    ends: pieces.flatMap((piece) => (piece.kind === 'end' ? [piece.reason] : [])),
  }
}

describe('the answer of a chat', () => {
  test.each([1, 2, 3, 7, 64, 10_000])('is the same in pieces of %i bytes', async (pieceBytes) => {
    expect(await read(streamed(STREAM + DONE, pieceBytes))).toEqual({
      text: 'Héllo.',
      ends: ['length'],
    })
  })

  test('is read whole where it is no stream', async () => {
    const body = { choices: [{ message: { content: 'Hi.' }, finish_reason: 'stop' }] }
    expect(await read(Response.json(body))).toEqual({ text: 'Hi.', ends: ['stop'] })
  })

  test('that breaks off is an error, which names the request', async () => {
    await expect(read(streamed(STREAM, 10))).rejects.toMatchObject({
      code: 'broken_off',
      requestId: 'req_1',
    })
  })

  test('has the error that a stream ends with', async () => {
    const error = 'data: {"error":{"message":"Try later.","code":"upstream_error"}}\n\n'
    await expect(read(streamed(STREAM + error, 10))).rejects.toMatchObject({
      message: 'Try later.',
      code: 'upstream_error',
    })
  })
})
