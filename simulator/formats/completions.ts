import { type Answered, answerTo, finishReason, textReply } from '../answer.ts'
import { badRequest } from '../error-bodies.ts'
import { omits } from '../faults.ts'
import { isArray, type JsonObject, type JsonValue } from '../json-value.ts'
import { PromptMeter } from '../prompt-meter.ts'
import { chatUsage, errorFrameOf, failureOf, headOf, usageFrame } from './chat-usage.ts'
import { type AnswerInput, COMMENT_FRAME, DONE_FRAME, type Format, type Frame } from './format.ts'
import { type Ask, readCap, readCommon, readCount } from './text-request.ts'

/** Legacy text completions. */
export const completions: Format = {
  path: '/completions',
  skin: 'chat',
  output: 'text',
  failsInside: true,
  answer(input) {
    const { ask, written } = readAsk(input)
    const answered = { ...answerTo(ask, input), written }
    return textReply(answered, {
      finishReason: finishReason(answered.answer),
      whole: () => JSON.stringify(wholeBody(answered)),
      frames: () => frames(answered),
      errorFrame: () =>
        errorFrameOf(input, answered.bill, {
          head: headOf(input, OBJECT),
          choice: { text: '', logprobs: null },
        }),
    })
  },
}

interface Completion extends Answered {
  /** Choices written; `best_of` makes more that are only billed. */
  readonly written: number
}

function readAsk(input: AnswerInput): { readonly ask: Ask; readonly written: number } {
  const { body } = input
  const prompts = readPrompts(body['prompt'])
  const meter = new PromptMeter()
  for (const prompt of prompts) {
    if (typeof prompt === 'string') meter.text(prompt)
    else meter.tokens(prompt.length)
  }
  const [first] = prompts
  const each = readCount(body, { name: 'n', most: 128 })
  const made = Math.max(each, readCount(body, { name: 'best_of', most: 128 }))
  return {
    written: prompts.length * each,
    ask: {
      ...readCommon(input, meter, typeof first === 'string' ? first : ''),
      capTokens: readCap(body, 'max_tokens', 'max_completion_tokens'),
      choices: prompts.length * made,
      tools: [],
      toolChoice: 'none',
      searches: 0,
      parsedFiles: 0,
      toolResult: null,
      schema: null,
      reasoningTokens: 0,
      wantsImage: false,
    },
  }
}

/** A string, strings, token ids, or lists of token ids. */
function readPrompts(prompt: JsonValue | undefined): readonly (string | readonly JsonValue[])[] {
  if (typeof prompt === 'string') return [prompt]
  if (!isArray(prompt) || prompt.length === 0) throw badRequest('prompt is required')
  if (prompt.every((item) => typeof item === 'number')) return [prompt]
  return prompt.map((item) => {
    if (typeof item === 'string' || isArray(item)) return item
    throw badRequest('prompt must be text or token ids')
  })
}

function wholeBody({ written, answer, input, bill }: Completion): JsonObject {
  const failed = input.fault.answer === 'failedAnswer'
  const reason = failed ? 'error' : finishReason(answer)
  return {
    ...headOf(input, OBJECT),
    choices: Array.from({ length: written }, (_, index) => ({
      index,
      text: answer.text.join(''),
      finish_reason: reason,
      native_finish_reason: reason,
      logprobs: null,
      ...(failed ? { error: failureOf(input, 502) } : {}),
    })),
    usage: chatUsage(input, bill),
  }
}

function* frames(answered: Completion): Generator<Frame> {
  const { answer, input, bill } = answered
  const start = `data: ${JSON.stringify(headOf(input, OBJECT)).slice(0, -1)}`
  const reason = finishReason(answer)
  let outputTokens = 0
  yield { text: COMMENT_FRAME, outputTokens }
  for (let index = 0; index < answered.written; index += 1) {
    const open = `${start},"choices":[{"index":${index},"text":`
    for (const piece of answer.text) {
      outputTokens += 1
      yield { text: open + JSON.stringify(piece) + finishTail(null), outputTokens }
    }
    if (!omits(input.fault, 'terminal')) {
      yield { text: `${open}""${finishTail(reason)}`, outputTokens }
    }
  }
  outputTokens = answer.outputTokens
  yield* usageFrame(input, bill, { head: start, emptyChoice: EMPTY_CHOICE, outputTokens })
  if (!omits(input.fault, 'done')) yield { text: DONE_FRAME, outputTokens }
}

const OBJECT = 'text_completion'

const EMPTY_CHOICE =
  '{"index":0,"text":"","finish_reason":null,"native_finish_reason":null,"logprobs":null}'

function finishTail(reason: string | null): string {
  const word = JSON.stringify(reason)
  return `,"finish_reason":${word},"native_finish_reason":${word},"logprobs":null}]}\n\n`
}
