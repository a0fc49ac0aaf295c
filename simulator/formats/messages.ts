import { type Answered, answerTo, textReply } from '../answer.ts'
import { messagesErrorType, metadataErrorType } from '../error-bodies.ts'
import { DEFAULT_MARKER, omits } from '../faults.ts'
import { arrayOr, isObject, type JsonObject, objectOr } from '../json-value.ts'
import { PromptMeter } from '../prompt-meter.ts'
import {
  type AnswerInput,
  bodyId,
  costDetails,
  type Format,
  type Frame,
  namedFrame,
  reportedCost,
} from './format.ts'
import { blocksOf, stopReason } from './message-blocks.ts'
import {
  type Ask,
  lastUserText,
  readCap,
  readCommon,
  readMessages,
  readSchema,
  textOf,
} from './text-request.ts'

/** Messages. */
export const messages: Format = {
  path: '/messages',
  skin: 'messages',
  output: 'text',
  failsInside: false,
  answer(input) {
    const answered = answerTo(readAsk(input), input)
    return textReply(answered, {
      finishReason: stopReason(answered.answer),
      whole: () => JSON.stringify(wholeBody(answered)),
      frames: () => frames(answered),
      errorFrame: () => errorFrame(input),
    })
  },
}

const THINKING_TOKENS_MAX = 32

function readAsk(input: AnswerInput): Ask {
  const { body } = input
  const turns = readMessages(body['messages'])
  const meter = new PromptMeter()
  meter.json(body['tools'])
  for (const tool of arrayOr(body['tools'])) meter.cacheMark(objectOr(tool)['cache_control'])
  meter.content(body['system'])
  for (const turn of turns) {
    meter.message()
    meter.content(turn['content'])
  }
  meter.cacheMark(body['cache_control'])
  return {
    ...readCommon(input, meter, lastUserText(turns)),
    capTokens: capWithinModel(input),
    choices: 1,
    toolResult: toolResultOf(turns.at(-1)),
    schema: readSchema(objectOr(body['output_config'])['format']),
    reasoningTokens: thinkingTokens(body),
    wantsImage: false,
  }
}

// Output never exceeds the listed maximum, even if the request asks for more.
function capWithinModel({ body, row }: AnswerInput): number | null {
  const cap = readCap(body, 'max_tokens')
  const listed = row.top_provider.max_completion_tokens
  return cap === null || listed === null ? cap : Math.min(cap, listed)
}

function toolResultOf(turn: JsonObject | undefined): string | null {
  const block = arrayOr(turn?.['content'])
    .filter(isObject)
    .find((part) => part['type'] === 'tool_result')
  return block === undefined ? null : textOf(block['content'])
}

function thinkingTokens(body: JsonObject): number {
  const thinking = objectOr(body['thinking'])
  if (thinking['type'] !== 'enabled' && thinking['type'] !== 'adaptive') return 0
  const budget = thinking['budget_tokens']
  return typeof budget === 'number' ? Math.min(budget, THINKING_TOKENS_MAX) : THINKING_TOKENS_MAX
}

function messageHead({ input }: Answered): JsonObject {
  return {
    id: bodyId(input, 'msg_01'),
    type: 'message',
    role: 'assistant',
    model: input.row.id,
  }
}

function wholeBody(answered: Answered): JsonObject {
  const { answer, input } = answered
  return {
    ...messageHead(answered),
    content: blocksOf(answered).map((block) => block.whole),
    stop_reason: stopReason(answer),
    stop_sequence: null,
    stop_details: null,
    container: null,
    usage: omits(input.fault, 'usage') ? undefined : wholeUsage(answered),
    provider: 'Simulator',
  }
}

function inputUsage({ bill: { counts } }: Answered): JsonObject {
  return {
    input_tokens: counts.inputTokens,
    cache_creation_input_tokens: counts.cacheWriteTokens + counts.cacheWriteLongTokens,
    cache_read_input_tokens: counts.cacheReadTokens,
    cache_creation: {
      ephemeral_5m_input_tokens: counts.cacheWriteTokens,
      ephemeral_1h_input_tokens: counts.cacheWriteLongTokens,
    },
  }
}

function wholeUsage(answered: Answered): JsonObject {
  const { input, bill } = answered
  const { counts } = bill
  return {
    ...inputUsage(answered),
    output_tokens: counts.outputTokens,
    output_tokens_details: { thinking_tokens: counts.reasoningTokens },
    service_tier: 'standard',
    inference_geo: null,
    server_tool_use:
      counts.searches === 0
        ? null
        : { web_search_requests: counts.searches, web_fetch_requests: 0 },
    cost: reportedCost(input, bill),
    is_byok: false,
    cost_details: costDetails(input, bill),
  }
}

function* frames(answered: Answered): Generator<Frame> {
  const { answer, input } = answered
  const hasUsage = !omits(input.fault, 'usage')
  let outputTokens = 0
  const event = (name: string, body: JsonObject): Frame => ({
    text: namedFrame(input, name, JSON.stringify({ type: name, ...body })),
    outputTokens,
  })
  const usage = hasUsage
    ? { ...inputUsage(answered), output_tokens: 1, service_tier: 'standard' }
    : undefined
  const opening = { stop_reason: null, stop_sequence: null, stop_details: null, container: null }
  yield event('message_start', {
    message: { ...messageHead(answered), content: [], ...opening, usage },
  })
  yield event('ping', {})
  for (const [index, block] of blocksOf(answered).entries()) {
    yield event('content_block_start', { index, content_block: block.start })
    for (const delta of block.deltas) {
      outputTokens += delta.outputTokens
      yield event('content_block_delta', { index, delta: delta.body })
    }
    yield event('content_block_stop', { index })
  }
  outputTokens = answer.outputTokens
  const ending = { stop_reason: stopReason(answer), stop_sequence: null, stop_details: null }
  if (hasUsage || !omits(input.fault, 'terminal')) {
    const endUsage = hasUsage ? wholeUsage(answered) : undefined
    yield event('message_delta', { delta: { ...ending, container: null }, usage: endUsage })
  }
  if (!omits(input.fault, 'terminal')) yield event('message_stop', {})
}

function errorFrame(input: AnswerInput): string {
  const { code = 529 } = input.fault.errorEvent ?? {}
  const marker = input.fault.marker ?? DEFAULT_MARKER
  return namedFrame(
    input,
    'error',
    JSON.stringify({
      type: 'error',
      error: {
        type: messagesErrorType(code),
        message: `Provider ${marker} is overloaded`,
        error_type: metadataErrorType(code),
      },
    }),
  )
}
