import { badRequest } from '../error-bodies.ts'
import { DEFAULT_MARKER, omits } from '../faults.ts'
import { arrayOr, type JsonObject } from '../json-value.ts'
import { NO_COUNTS } from '../price.ts'
import { PromptMeter } from '../prompt-meter.ts'
import {
  type AnswerInput,
  type Bill,
  billOf,
  COMMENT_FRAME,
  DONE_FRAME,
  dataFrame,
  type Format,
  type Frame,
  PNG_BASE64,
  reportedCost,
} from './format.ts'
import { readCount } from './text-request.ts'

const TOKENS_PER_IMAGE = 1024
const PARTIAL_IMAGES = 2

/** Images. Billed all or nothing: a stream left before its end costs nothing. */
export const images: Format = {
  path: '/images',
  skin: 'chat',
  output: 'image',
  failsInside: false,
  answer(input) {
    const { body, traits } = input
    const count = readCount(body, { name: 'n', most: 10 })
    const meter = readPrompt(body)
    const prompt = meter.count(input.prefixes)
    const outputTokens = count * TOKENS_PER_IMAGE
    const made = { ...NO_COUNTS, ...prompt, outputTokens, imageOutputTokens: outputTokens }
    const bill = billOf(input, { counts: { ...made, outputImages: count }, isFast: false })
    return {
      streamed: body['stream'] === true && traits.streamsImages,
      apiType: 'image',
      finishReason: 'stop',
      intervalMs: null,
      outputTokens,
      billAt: (tokens) => (tokens >= outputTokens ? bill : unbilled(bill)),
      whole: () => JSON.stringify(wholeBody(input, bill, count)),
      frames: () => frames(input, bill),
      errorFrame: () => errorFrame(input),
    }
  },
}

function unbilled(bill: Bill): Bill {
  const nothing = { outputTokens: 0, imageOutputTokens: 0, outputImages: 0 }
  return {
    counts: { ...bill.counts, ...nothing },
    cost: { totalUsd: 0, promptUsd: 0, completionUsd: 0 },
  }
}

function readPrompt(body: JsonObject): PromptMeter {
  const prompt = body['prompt']
  if (typeof prompt !== 'string' || prompt === '') throw badRequest('prompt is required')
  const meter = new PromptMeter()
  meter.text(prompt)
  meter.content(arrayOr(body['input_references']))
  return meter
}

function usageOf(input: AnswerInput, bill: Bill): JsonObject | undefined {
  if (omits(input.fault, 'usage')) return undefined
  const { inputTokens, outputTokens } = bill.counts
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    cost: reportedCost(input, bill),
    completion_tokens_details: { image_tokens: outputTokens },
  }
}

function wholeBody(input: AnswerInput, bill: Bill, count: number): JsonObject {
  const image = { b64_json: PNG_BASE64, media_type: 'image/png' }
  return {
    created: Math.floor(input.nowMs / 1000),
    data: new Array<JsonObject>(count).fill(image),
    usage: usageOf(input, bill),
  }
}

function* frames(input: AnswerInput, bill: Bill): Generator<Frame> {
  yield { text: COMMENT_FRAME, outputTokens: 0 }
  for (let index = 0; index < PARTIAL_IMAGES; index += 1) {
    const partial = { partial_image_index: index, b64_json: PNG_BASE64 }
    const body = { type: 'image_generation.partial_image', ...partial }
    yield { text: dataFrame(JSON.stringify(body)), outputTokens: 0 }
  }
  const { outputTokens } = bill.counts
  if (!omits(input.fault, 'terminal')) {
    const body = {
      type: 'image_generation.completed',
      b64_json: PNG_BASE64,
      media_type: 'image/png',
      created: Math.floor(input.nowMs / 1000),
      usage: usageOf(input, bill),
    }
    yield { text: dataFrame(JSON.stringify(body)), outputTokens }
  }
  if (!omits(input.fault, 'done')) yield { text: DONE_FRAME, outputTokens }
}

function errorFrame(input: AnswerInput): string {
  const { code = 502 } = input.fault.errorEvent ?? {}
  const marker = input.fault.marker ?? DEFAULT_MARKER
  const error = { message: `Generation failed at ${marker}`, code, type: 'server_error' }
  return dataFrame(JSON.stringify({ type: 'error', error })) + DONE_FRAME
}
