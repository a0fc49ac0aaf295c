import { describe, expect, test } from 'vitest'
import { type AnswerPiece, readAnswer } from './answer.ts'
import type { SpokenFormat } from './formats.ts'

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

async function read(response: Response, format: SpokenFormat = 'chat') {
  const pieces: AnswerPiece[] = []
  for await (const piece of readAnswer(response, format)) pieces.push(piece)
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

  test('is read whole if it is not a stream', async () => {
    const body = { choices: [{ message: { content: 'Hi.' }, finish_reason: 'stop' }] }
    expect(await read(Response.json(body))).toEqual({ text: 'Hi.', ends: ['stop'] })
  })

  test('that breaks off is an error, which names the request', async () => {
    await expect(read(streamed(STREAM, 10))).rejects.toMatchObject({
      code: 'broken_off',
      requestId: 'req_1',
    })
  })

  test('whose connection ends is the same error, in words', async () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.error(new TypeError('network error')),
    })
    const headers = { 'content-type': 'text/event-stream' }
    await expect(read(new Response(body, { headers }))).rejects.toMatchObject({
      code: 'broken_off',
      message: 'The answer broke off before its end.',
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

const events = (...list: readonly object[]) =>
  list.map((event) => `event: x\ndata: ${JSON.stringify(event)}\n\n`).join('')

const MESSAGES = [
  { type: 'message_start', message: { content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'ping' },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hé' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'llo.' } },
  { type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 3 } },
]
const OUTPUT = [
  { type: 'reasoning', summary: [] },
  { type: 'message', content: [{ type: 'output_text', text: 'Héllo.' }] },
]
const RESPONSES = [
  { type: 'response.created', response: { output: [], incomplete_details: null } },
  { type: 'response.output_text.delta', delta: 'Hé' },
  { type: 'response.output_text.delta', delta: 'llo.' },
  { type: 'response.output_item.done', item: OUTPUT[1] },
]
const CUT = { output: OUTPUT, incomplete_details: { reason: 'max_output_tokens' } }

describe.each([
  [
    'messages',
    MESSAGES,
    { type: 'message_stop' },
    { type: 'message', content: [{ type: 'text', text: 'Héllo.' }], stop_reason: 'max_tokens' },
    { type: 'error', error: { type: 'api_error', message: 'Try later.' } },
  ],
  [
    'responses',
    RESPONSES,
    { type: 'response.incomplete', response: CUT },
    { object: 'response', ...CUT },
    { type: 'response.failed', response: { output: [], error: { message: 'Try later.' } } },
  ],
] as const)('an answer in %s', (format, before, last, whole, error) => {
  const hello = { text: 'Héllo.', ends: ['length'] }

  test.each([1, 7, 10_000])('is the same in pieces of %i bytes', async (pieceBytes) => {
    expect(await read(streamed(events(...before, last), pieceBytes), format)).toEqual(hello)
  })

  test('is read whole if it is not a stream', async () => {
    expect(await read(Response.json(whole), format)).toEqual(hello)
  })

  test('that breaks off, or ends with an error, is an error', async () => {
    await expect(read(streamed(events(...before), 10), format)).rejects.toMatchObject({
      code: 'broken_off',
    })
    await expect(read(streamed(events(...before, error), 10), format)).rejects.toMatchObject({
      message: 'Try later.',
    })
  })
})
