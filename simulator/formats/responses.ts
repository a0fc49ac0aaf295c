import { type Answered, answerTo, finishReason, textReply } from '../answer.ts'
import { badRequest } from '../error-bodies.ts'
import { isArray, isObject, type JsonObject, type JsonValue, objectOr } from '../json-value.ts'
import { PromptMeter } from '../prompt-meter.ts'
import type { AnswerInput, Format } from './format.ts'
import { responseBody, responseErrorFrame, responseFrames } from './response-events.ts'
import {
  type Ask,
  lastUserText,
  readCap,
  readCommon,
  readReasoning,
  readSchema,
  textOf,
} from './text-request.ts'

/** Responses. */
export const responses: Format = {
  path: '/responses',
  skin: 'responses',
  output: 'text',
  failsInside: true,
  answer(input) {
    const answered = answerTo(readAsk(input), input)
    return textReply(answered, {
      finishReason: finishReason(answered.answer),
      whole: () => JSON.stringify(wholeBody(answered)),
      frames: () => responseFrames(answered),
      errorFrame: () => responseErrorFrame(answered),
    })
  },
}

function wholeBody(answered: Answered): JsonObject {
  if (answered.input.fault.answer === 'failedAnswer') return responseBody(answered, 'failed')
  return responseBody(answered, answered.answer.isCut ? 'incomplete' : 'completed')
}

function readAsk(input: AnswerInput): Ask {
  const { body } = input
  if (body['store'] === true) throw badRequest('store must be false')
  if ((body['previous_response_id'] ?? null) !== null) {
    throw badRequest('previous_response_id is not supported')
  }
  const items = readItems(body['input'])
  const meter = new PromptMeter()
  meter.content(body['instructions'])
  meter.json(body['tools'])
  for (const item of items) {
    meter.message()
    meter.content(item['content'])
    meter.content(item['output'])
    meter.content(item['arguments'])
    meter.cacheMark(item['cache_control'])
  }
  meter.cacheMark(body['cache_control'])
  const last = items.at(-1)
  return {
    ...readCommon(input, meter, lastUserText(items)),
    capTokens: readCap(body, 'max_output_tokens'),
    choices: 1,
    toolResult: isToolOutput(last) ? textOf(last['output']) : null,
    schema: readSchema(objectOr(body['text'])['format']),
    reasoningTokens: readReasoning(body),
    wantsImage: false,
  }
}

function isToolOutput(item: JsonObject | undefined): item is JsonObject {
  return item?.['type'] === 'function_call_output' || item?.['type'] === 'custom_tool_call_output'
}

function readItems(value: JsonValue | undefined): readonly JsonObject[] {
  if (typeof value === 'string') return [{ role: 'user', content: value }]
  if (!isArray(value) || value.length === 0) throw badRequest('input is required')
  return value.map((item, at) => {
    if (!isObject(item)) throw badRequest(`input.${at} must be an item`)
    return item
  })
}
