import { type Answered, answerTo, finishReason, textReply } from '../answer.ts'
import { omits } from '../faults.ts'
import { isArray, type JsonObject } from '../json-value.ts'
import { PromptMeter } from '../prompt-meter.ts'
import { chatUsage, errorFrameOf, failureOf, headOf, usageFrame } from './chat-usage.ts'
import {
  type AnswerInput,
  COMMENT_FRAME,
  DONE_FRAME,
  type Format,
  type Frame,
  PNG_BASE64,
} from './format.ts'
import {
  type Ask,
  lastUserText,
  readCap,
  readCommon,
  readCount,
  readMessages,
  readReasoning,
  readSchema,
  textOf,
} from './text-request.ts'

/** Chat completions. */
export const chat: Format = {
  path: '/chat/completions',
  skin: 'chat',
  output: 'text',
  failsInside: true,
  answer(input) {
    const answered = answerTo(readAsk(input), input)
    return textReply(answered, {
      finishReason: finishReason(answered.answer),
      whole: () => JSON.stringify(wholeBody(answered)),
      frames: () => frames(answered),
      errorFrame: () =>
        errorFrameOf(input, answered.bill, {
          head: headOf(input, CHUNK),
          choice: { delta: { content: '' } },
        }),
    })
  },
}

function readAsk(input: AnswerInput): Ask {
  const { body } = input
  const messages = readMessages(body['messages'])
  const meter = new PromptMeter()
  for (const message of messages) {
    meter.message()
    meter.content(message['content'])
    meter.json(message['tool_calls'])
  }
  meter.json(body['tools'])
  meter.cacheMark(body['cache_control'])
  const last = messages.at(-1)
  return {
    ...readCommon(input, meter, lastUserText(messages)),
    capTokens: readCap(body, 'max_tokens', 'max_completion_tokens'),
    choices: readCount(body, { name: 'n', most: 128 }),
    toolResult: last?.['role'] === 'tool' ? textOf(last['content']) : null,
    schema: readSchema(body['response_format']),
    reasoningTokens: readReasoning(body),
    wantsImage: wantsImage(input),
  }
}

function wantsImage(input: AnswerInput): boolean {
  const modalities = input.body['modalities']
  return (
    isArray(modalities) &&
    modalities.includes('image') &&
    input.row.architecture.output_modalities.includes('image')
  )
}

function callId(input: AnswerInput): string {
  return `call_${input.generationId.slice(-16)}`
}

function wholeBody(answered: Answered): JsonObject {
  const { ask, answer, input } = answered
  const { call } = answer
  const failed = input.fault.answer === 'failedAnswer'
  const reason = failed ? 'error' : finishReason(answer)
  const message: JsonObject = {
    role: 'assistant',
    content: call === null ? answer.text.join('') : null,
    refusal: null,
    reasoning: answer.reasoning.length === 0 ? null : answer.reasoning.join(''),
    reasoning_details:
      answer.reasoning.length === 0 ? undefined : [reasoningDetail(answer.reasoning.join(''))],
    tool_calls:
      call === null
        ? undefined
        : [
            {
              index: 0,
              id: callId(input),
              type: 'function',
              function: { name: call.name, arguments: call.argumentPieces.join('') },
            },
          ],
    images: answer.imageTokens === 0 ? undefined : [PICTURE],
    annotations: ask.searches === 0 ? undefined : [CITATION],
  }
  return {
    ...headOf(input, 'chat.completion'),
    choices: Array.from({ length: ask.choices }, (_, index) => ({
      logprobs: null,
      finish_reason: reason,
      native_finish_reason: reason,
      index,
      message,
      ...(failed ? { error: failureOf(input, 502) } : {}),
    })),
    system_fingerprint: null,
    usage: chatUsage(input, answered.bill),
  }
}

const PICTURE: JsonObject = {
  type: 'image_url',
  index: 0,
  image_url: { url: `data:image/png;base64,${PNG_BASE64}` },
}

const CITATION: JsonObject = {
  type: 'url_citation',
  url_citation: {
    url: 'https://example.com/',
    title: 'Example',
    content: 'An excerpt.',
    start_index: 0,
    end_index: 8,
  },
}

function reasoningDetail(text: string): JsonObject {
  return { type: 'reasoning.text', text, format: 'unknown', index: 0 }
}

const CHUNK = 'chat.completion.chunk'

const EMPTY_CHOICE =
  '{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null,"native_finish_reason":null,"logprobs":null}'

const OPEN_TAIL = ',"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}\n\n'

function* frames(answered: Answered): Generator<Frame> {
  const { ask, answer, input } = answered
  const head = `data: ${JSON.stringify(headOf(input, CHUNK)).slice(0, -1)}`
  let outputTokens = 0
  yield { text: COMMENT_FRAME, outputTokens }
  for (let index = 0; index < ask.choices; index += 1) {
    const open = `${head},"choices":[{"index":${index},"delta":`
    const chunk = (delta: string): Frame => ({ text: open + delta + OPEN_TAIL, outputTokens })
    yield chunk('{"role":"assistant","content":""}')
    for (const piece of answer.reasoning) {
      outputTokens += 1
      const details = JSON.stringify([reasoningDetail(piece)])
      const text = JSON.stringify(piece)
      yield chunk(
        `{"role":"assistant","content":"","reasoning":${text},"reasoning_details":${details}}`,
      )
    }
    for (const delta of contentDeltas(answered)) {
      outputTokens += 1
      yield chunk(delta)
    }
    if (answer.imageTokens > 0) {
      outputTokens += answer.imageTokens
      yield chunk(JSON.stringify({ role: 'assistant', content: '', images: [PICTURE] }))
    }
    if (!omits(input.fault, 'terminal')) {
      const reason = finishReason(answer)
      const end = `"finish_reason":"${reason}","native_finish_reason":"${reason}","logprobs":null`
      yield { text: `${open}{"role":"assistant","content":""},${end}}]}\n\n`, outputTokens }
    }
  }
  yield* usageFrame(input, answered.bill, { head, emptyChoice: EMPTY_CHOICE, outputTokens })
  if (!omits(input.fault, 'done')) yield { text: DONE_FRAME, outputTokens }
}

function* contentDeltas({ answer, input }: Answered): Generator<string> {
  // A paced stream says the same thing a hundred times: it is written once.
  let lastPiece: string | null = null
  let lastDelta = ''
  for (const piece of answer.text) {
    if (piece !== lastPiece) {
      lastPiece = piece
      lastDelta = `{"role":"assistant","content":${JSON.stringify(piece)}}`
    }
    yield lastDelta
  }
  if (answer.call === null) return
  const { name, argumentPieces } = answer.call
  const opening = {
    index: 0,
    id: callId(input),
    type: 'function',
    function: { name, arguments: '' },
  }
  yield JSON.stringify({ role: 'assistant', content: null, tool_calls: [opening] })
  for (const piece of argumentPieces) {
    yield JSON.stringify({ tool_calls: [{ index: 0, function: { arguments: piece } }] })
  }
}
