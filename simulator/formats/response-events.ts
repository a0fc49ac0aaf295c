import type { Answer, Answered } from '../answer.ts'
import { metadataErrorType, responsesErrorCode } from '../error-bodies.ts'
import { DEFAULT_MARKER, omits } from '../faults.ts'
import { arrayOr, isObject, type JsonObject, type JsonValue } from '../json-value.ts'
import { promptTokensOf } from '../price.ts'
import {
  type AnswerInput,
  bodyId,
  COMMENT_FRAME,
  costDetails,
  type Frame,
  namedFrame,
  reportedCost,
  searchDetails,
} from './format.ts'

type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed'

/** A response object of this status; usage and output are there once it is over. */
export function responseBody(answered: Answered, status: ResponseStatus): JsonObject {
  const { answer, input } = answered
  const { body, nowMs } = input
  const created = Math.floor(nowMs / 1000)
  const isOver = status !== 'in_progress'
  return {
    id: bodyId(input, 'resp_'),
    object: 'response',
    created_at: created,
    completed_at: status === 'completed' ? created : null,
    model: input.row.id,
    status,
    output: status === 'completed' || status === 'incomplete' ? outputOf(answered, status) : [],
    output_text: isOver ? answer.text.join('') : '',
    error: status === 'failed' ? failureOf(input) : null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: body['instructions'] ?? null,
    metadata: {},
    parallel_tool_calls: true,
    temperature: body['temperature'] ?? 1,
    top_p: body['top_p'] ?? 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: arrayOr(body['tools']).map(toolOf),
    max_output_tokens: body['max_output_tokens'] ?? null,
    max_tool_calls: body['max_tool_calls'] ?? null,
    top_logprobs: body['top_logprobs'] ?? 0,
    user: body['user'] ?? null,
    safety_identifier: body['safety_identifier'] ?? null,
    prompt_cache_key: body['prompt_cache_key'] ?? null,
    reasoning: { effort: null, summary: null },
    text: body['text'] ?? { format: { type: 'text' } },
    truncation: 'disabled',
    service_tier: 'default',
    store: false,
    background: false,
    previous_response_id: null,
    usage: isOver ? usageOf(answered) : null,
    error_type: status === 'failed' ? metadataErrorType(502) : undefined,
  }
}

/** A tool as answers show it: a function with all of its fields. */
function toolOf(tool: JsonValue): JsonValue {
  if (!isObject(tool) || tool['type'] !== 'function') return tool
  return { description: null, parameters: null, strict: null, ...tool }
}

function failureOf(input: AnswerInput): JsonObject {
  const code = responsesErrorCode(input.fault.errorEvent?.code ?? 502)
  return { code, message: `Provider disconnected (${input.fault.marker ?? DEFAULT_MARKER})` }
}

function usageOf(answered: Answered): JsonObject | undefined {
  const { input, bill } = answered
  if (omits(input.fault, 'usage')) return undefined
  const { counts } = bill
  const inputTokens = promptTokensOf(counts)
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: counts.cacheReadTokens,
      cache_write_tokens: counts.cacheWriteTokens + counts.cacheWriteLongTokens,
    },
    output_tokens: counts.outputTokens,
    output_tokens_details: { reasoning_tokens: counts.reasoningTokens },
    total_tokens: inputTokens + counts.outputTokens,
    cost: reportedCost(input, bill),
    is_byok: false,
    cost_details: costDetails(input, bill, ['input', 'output']),
    server_tool_use_details: searchDetails(counts),
  }
}

function outputOf(answered: Answered, status: ResponseStatus): readonly JsonObject[] {
  const { ask, answer, input } = answered
  const items: JsonObject[] = []
  if (answer.reasoning.length > 0) items.push(reasoningItem(answer.reasoning.join(''), input))
  for (let at = 0; at < ask.searches; at += 1) {
    items.push({
      id: `ws_${at + 1}`,
      type: 'web_search_call',
      status: 'completed',
      action: { type: 'search', query: ask.question.slice(0, 50) },
    })
  }
  items.push(
    answer.call === null
      ? messageItem(answer.text.join(''), status)
      : callItem(answer.call.name, answer.call.argumentPieces.join(''), { input, status }),
  )
  return items
}

function reasoningItem(text: string, { body }: AnswerInput): JsonObject {
  const isOver = text !== ''
  const summary = isOver ? [{ type: 'summary_text', text }] : []
  const isSealed = isOver && arrayOr(body['include']).includes('reasoning.encrypted_content')
  return {
    id: 'rs_1',
    type: 'reasoning',
    summary,
    encrypted_content: isSealed ? 'c2VhbGVkIHRob3VnaHRz' : null,
    status: isOver ? 'completed' : 'in_progress',
  }
}

function messageItem(text: string | null, status: ResponseStatus): JsonObject {
  const content = text === null ? [] : [textPart(text)]
  return { id: 'msg_1', type: 'message', role: 'assistant', status, content }
}

function textPart(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

function callItem(
  name: string,
  callArguments: string,
  at: { readonly input: AnswerInput; readonly status: ResponseStatus },
): JsonObject {
  return {
    id: 'fc_1',
    type: 'function_call',
    call_id: `call_${at.input.generationId.slice(-16)}`,
    name,
    arguments: callArguments,
    status: at.status,
  }
}

/** Numbers a stream's events, and counts the tokens behind each. */
class EventWriter {
  outputTokens = 0
  #sequence = 0
  readonly #input: AnswerInput

  constructor(input: AnswerInput) {
    this.#input = input
  }

  event(name: string, body: JsonObject): Frame {
    const json = JSON.stringify({ type: name, ...body, sequence_number: this.#sequence })
    this.#sequence += 1
    return { text: namedFrame(this.#input, name, json), outputTokens: this.outputTokens }
  }
}

/** The events of a whole stream, its one terminal event last. */
export function* responseFrames(answered: Answered): Generator<Frame> {
  const { ask, answer, input } = answered
  const writer = new EventWriter(input)
  const status = answer.isCut ? 'incomplete' : 'completed'
  yield { text: COMMENT_FRAME, outputTokens: 0 }
  yield writer.event('response.created', { response: responseBody(answered, 'in_progress') })
  yield writer.event('response.in_progress', { response: responseBody(answered, 'in_progress') })
  let index = 0
  if (answer.reasoning.length > 0) {
    yield* reasoningEvents(writer, answered)
    index += 1
  }
  for (let at = 0; at < ask.searches; at += 1) {
    const item = outputOf(answered, status)[index] ?? {}
    yield writer.event('response.output_item.added', { output_index: index, item })
    yield writer.event('response.output_item.done', { output_index: index, item })
    index += 1
  }
  if (answer.call === null) yield* messageEvents(writer, { answer, index, status })
  else yield* callEvents(writer, { answered, index, status })
  writer.outputTokens = answer.outputTokens
  if (omits(input.fault, 'terminal')) return
  yield writer.event(`response.${status}`, { response: responseBody(answered, status) })
}

function* reasoningEvents(writer: EventWriter, answered: Answered): Generator<Frame> {
  const { answer, input } = answered
  const pieces = answer.reasoning
  const at = { item_id: 'rs_1', output_index: 0, summary_index: 0 }
  const text = pieces.join('')
  yield writer.event('response.output_item.added', {
    output_index: 0,
    item: reasoningItem('', input),
  })
  yield writer.event('response.reasoning_summary_part.added', {
    ...at,
    part: { type: 'summary_text', text: '' },
  })
  for (const delta of pieces) {
    writer.outputTokens += 1
    yield writer.event('response.reasoning_summary_text.delta', { ...at, delta })
  }
  yield writer.event('response.reasoning_summary_text.done', { ...at, text })
  yield writer.event('response.reasoning_summary_part.done', {
    ...at,
    part: { type: 'summary_text', text },
  })
  yield writer.event('response.output_item.done', {
    output_index: 0,
    item: reasoningItem(text, input),
  })
}

function* messageEvents(
  writer: EventWriter,
  said: { readonly answer: Answer; readonly index: number; readonly status: ResponseStatus },
): Generator<Frame> {
  const { answer, index, status } = said
  const at = { item_id: 'msg_1', output_index: index, content_index: 0 }
  const text = answer.text.join('')
  const item = messageItem(null, 'in_progress')
  yield writer.event('response.output_item.added', { output_index: index, item })
  yield writer.event('response.content_part.added', { ...at, part: textPart('') })
  for (const delta of answer.text) {
    writer.outputTokens += 1
    yield writer.event('response.output_text.delta', { ...at, delta, logprobs: [] })
  }
  yield writer.event('response.output_text.done', { ...at, text, logprobs: [] })
  yield writer.event('response.content_part.done', { ...at, part: textPart(text) })
  const done = messageItem(text, status)
  yield writer.event('response.output_item.done', { output_index: index, item: done })
}

function* callEvents(
  writer: EventWriter,
  called: { readonly answered: Answered; readonly index: number; readonly status: ResponseStatus },
): Generator<Frame> {
  const { answered, index, status } = called
  const { input } = answered
  const { name = '', argumentPieces = [] } = answered.answer.call ?? {}
  const at = { item_id: 'fc_1', output_index: index }
  const whole = argumentPieces.join('')
  writer.outputTokens += 1
  const opening = callItem(name, '', { input, status: 'in_progress' })
  yield writer.event('response.output_item.added', { output_index: index, item: opening })
  for (const delta of argumentPieces) {
    writer.outputTokens += 1
    yield writer.event('response.function_call_arguments.delta', { ...at, delta })
  }
  yield writer.event('response.function_call_arguments.done', { ...at, name, arguments: whole })
  const item = callItem(name, whole, { input, status })
  yield writer.event('response.output_item.done', { output_index: index, item })
}

/** The event that ends a stream in error, in the shape that the fault asks for. */
export function responseErrorFrame(answered: Answered): string {
  const { input } = answered
  const { code = 502, shape = 'flat', withUsage = false } = input.fault.errorEvent ?? {}
  const failure = failureOf(input)
  switch (shape) {
    case 'flat': {
      const body = { type: 'error', ...failure, param: null, sequence_number: 99 }
      return namedFrame(input, 'error', JSON.stringify(body))
    }
    case 'nested': {
      const error = { ...failure, metadata: { error_type: metadataErrorType(code) } }
      return namedFrame(input, 'error', JSON.stringify({ type: 'error', error }))
    }
    case 'failed': {
      const response = responseBody(answered, 'failed')
      const body = {
        type: 'response.failed',
        response: withUsage ? response : { ...response, usage: null },
        sequence_number: 99,
      }
      return namedFrame(input, 'response.failed', JSON.stringify(body))
    }
  }
}
