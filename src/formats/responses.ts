import {
  isJsonObject,
  type JsonBody,
  type JsonEdit,
  type JsonObject,
  type JsonValue,
} from '../json/body.ts'
import type { Call } from '../vocabulary/call.ts'
import type { FormatRules } from '../vocabulary/format-rules.ts'
import type { Words } from '../vocabulary/public-names.ts'
import type { Reported, TokenUsage } from '../vocabulary/usage.ts'
import { readChatStyleFields } from './chat-call.ts'
import { FIELDS } from './documentation.ts'
import { openAiError } from './envelope.ts'
import { eventBody, parseEventData, plainMembers, UNREADABLE_EVENT } from './event-data.ts'
import { field, member, readBoolean, readCount, readObjects, wrongType } from './fields.ts'
import type {
  AnswerReading,
  ErrorEventInput,
  ProviderError,
  RewriteInput,
  StreamEvent,
  StreamEventReading,
  StreamObserver,
  WireFormat,
} from './format.ts'
import { readAggregatorId } from './generation-id.ts'
import { BODY_BYTES_MAX, OPENAI_STYLE, writesText } from './openai-style.ts'
import { readProviderError } from './provider-error.ts'
import { unsupported } from './refusals.ts'
import { fileEngineEdits, modelEdit } from './rewrites.ts'
import { StreamTally } from './stream-tally.ts'
import { StreamText } from './stream-text.ts'
import { objectAt, readCost, readSearches, readServedTier, tokenCount } from './usage.ts'

const RULES: FormatRules = {
  heldBy: 'tokens',
  prompt: { hasTemplate: true, windows: 'one' },
  output: { cap: 'clients', param: 'max_output_tokens', heldUpTo: 'contextWindow' },
  freeCredit: 'wholeHold',
  deadline: { total: 'totalTimeoutMs', boundsStreams: false },
}

/** Responses: `POST /v1/responses`, stateless. */
export const responses: WireFormat = {
  ...OPENAI_STYLE,
  endpoint: 'responses',
  path: '/v1/responses',
  upstreamPath: '/responses',
  bodyBytesMax: BODY_BYTES_MAX,
  hasGenerationId: true,
  rules: RULES,
  telemetry: { operation: 'chat', outputType: null },
  namesEvents: true,
  readCall,
  fitsOutputs: writesText,
  rewrites,
  readAnswer,
  observeStream: () => new ResponsesObserver(),
  errorEvent,
  documentation: {
    summary: 'Responses, stateless: the whole conversation is sent each time.',
    required: ['model', 'input'],
    properties: {
      model: FIELDS.model,
      input: FIELDS.textOrList,
      instructions: FIELDS.text,
      stream: FIELDS.stream,
      tools: FIELDS.objects,
      tool_choice: FIELDS.textOrObject,
      max_output_tokens: FIELDS.requiredCap,
      reasoning: FIELDS.object,
      store: { type: 'boolean', description: 'False, or left out: nothing is stored.' },
    },
    answer: {
      id: FIELDS.text,
      object: FIELDS.text,
      model: FIELDS.text,
      output: FIELDS.objects,
      usage: FIELDS.object,
    },
    streams: true,
  },
}

function readCall(body: JsonBody, words: Words): Call {
  const { root } = body
  const fields = readChatStyleFields(body, words)
  refuseStoredState(root)
  refuseItems(root)
  return {
    ...fields,
    rules: RULES,
    stream: readBoolean(root, 'stream'),
    outputCapTokens: readCount(root, 'max_output_tokens'),
    completions: 1,
  }
}

/** Fields that bring in, or leave behind, what the body does not show and the hold could not cover. */
function refuseStoredState(root: JsonObject): void {
  if (readBoolean(root, 'store')) {
    throw unsupported('store', 'Responses are not stored: leave `store` out or set it to false.')
  }
  if (readBoolean(root, 'background')) {
    throw unsupported('background', 'Responses do not run in the background: leave it out.')
  }
  for (const name of ['previous_response_id', 'conversation'] as const) {
    if (field(root, name) === undefined) continue
    throw unsupported(
      name,
      `\`${name}\` is not supported: send the whole conversation in \`input\`.`,
    )
  }
  if (field(root, 'prompt') !== undefined) {
    throw unsupported('prompt', 'Stored prompts are not supported: send the text itself.')
  }
}

/** Items that stand for something stored, or that carry tools of their own. */
function refuseItems(root: JsonObject): void {
  const input = field(root, 'input')
  if (typeof input === 'string') return
  if (!Array.isArray(input)) throw wrongType('input', 'a string or an array of items')
  for (const [index, item] of readObjects(root, 'input').entries()) {
    const place = `input[${index}]`
    if (isReference(item)) {
      throw unsupported(place, 'Items are not stored: send the item itself instead of its id.')
    }
    if (field(item, 'tools') === undefined && !TOOL_ITEMS.has(item['type'])) continue
    throw unsupported(place, 'Tools are supported in `tools` only, not in items of `input`.')
  }
}

const TOOL_ITEMS = new Set<JsonValue | undefined>([
  'additional_tools',
  'tool_search_output',
  'mcp_list_tools',
])

// The type of a reference may be left out: what else has none has a role.
function isReference(item: JsonObject): boolean {
  const type = field(item, 'type')
  if (type !== undefined) return type === 'item_reference'
  return field(item, 'id') !== undefined && field(item, 'role') === undefined
}

function rewrites({ call, body, offer, words }: RewriteInput): readonly JsonEdit[] {
  return [...modelEdit(call, offer), ...fileEngineEdits(body.root, words)]
}

function readAnswer(answer: JsonBody): AnswerReading {
  const reported = readReport(answer, [])
  const error = readResponseError(answer.root) ?? readEventError(answer.root, null)
  return error === null ? { kind: 'success', reported } : { kind: 'error', error, reported }
}

/** What the response object at a path reports. */
function readReport(body: JsonBody, path: readonly string[]): Reported {
  const response = path.reduce(objectAt, body.root)
  return {
    usage: readResponsesUsage(response['usage']),
    costUsd: readCost(body, [...path, 'usage']),
    generationId: readAggregatorId(response['id']),
    ...readServedTier(response),
  }
}

/** Usage as responses reports it: `input_tokens` has cache reads and writes inside. */
function readResponsesUsage(usage: JsonValue | undefined): TokenUsage | null {
  if (!isJsonObject(usage)) return null
  const input = tokenCount(usage['input_tokens'])
  const output = tokenCount(usage['output_tokens'])
  if (input === null && output === null) return null
  const inputDetails = objectAt(usage, 'input_tokens_details')
  const outputDetails = objectAt(usage, 'output_tokens_details')
  const cacheReadTokens = tokenCount(inputDetails['cached_tokens']) ?? 0
  const cacheWriteTokens = tokenCount(inputDetails['cache_write_tokens']) ?? 0
  return {
    inputTokens: Math.max(0, (input ?? 0) - cacheReadTokens - cacheWriteTokens),
    cacheReadTokens,
    cacheWriteTokens,
    cacheWriteLongTokens: 0,
    outputTokens: output ?? 0,
    reasoningTokens: tokenCount(outputDetails['reasoning_tokens']) ?? 0,
    imageOutputTokens: tokenCount(outputDetails['image_tokens']) ?? 0,
    searches: readSearches(usage),
  }
}

/** The error of a response object; null where it has not failed. */
function readResponseError(response: JsonObject): ProviderError | null {
  const failed = response['status'] === 'failed' || member(response, 'error') !== undefined
  return failed ? readProviderError(response, null) : null
}

const TEXT_MEMBERS = ['delta']

const TERMINAL_TYPES = new Set<JsonValue | undefined>([
  'response.completed',
  'response.incomplete',
  // What the aggregator once called both.
  'response.done',
])

/** Reads usage, cost, generation id and errors from the events of responses, which end with one of them. */
class ResponsesObserver implements StreamObserver {
  readonly #tally = new StreamTally()
  readonly #text = new StreamText(TEXT_MEMBERS, 'sequence_number')
  /** Whether the stream has had the one event that it ends with. */
  #hasEnded = false

  onEvent(event: StreamEvent): StreamEventReading {
    if (event.data === '[DONE]') return RELAY
    const alike = this.#hasEnded ? null : this.#text.readAlike(event)
    if (alike !== null) {
      this.#tally.addText(alike)
      return RELAY
    }
    const reading = this.#read(event)
    if (this.#hasEnded) return { kind: 'drop' }
    this.#hasEnded = reading.kind !== 'relay'
    return reading
  }

  reported(): Reported {
    return this.#tally.reported()
  }

  relayedTokens(): number {
    return this.#tally.relayedTokens()
  }

  #read(event: StreamEvent): StreamEventReading {
    const { name, data } = event
    const root = parseEventData(data)
    if (root === null) return UNREADABLE_EVENT
    if (!this.#hasEnded) this.#tally.addText(this.#text.read(event))
    const type = root['type'] ?? name
    if (isJsonObject(root['response'])) {
      this.#tally.learn(readReport(eventBody(data, root), ['response']))
      const error = readResponseError(root['response'])
      if (error !== null) return { kind: 'terminalError', error }
    }
    if (type === 'response.failed') {
      return { kind: 'terminalError', error: readProviderError(null, null) }
    }
    const error = readEventError(root, name)
    // What it cost, if anything, may be told by an event that comes after it.
    if (error !== null) return { kind: 'error', error }
    if (TERMINAL_TYPES.has(type)) return { kind: 'terminal' }
    if (!isJsonObject(root['response'])) this.#text.remember()
    return RELAY
  }
}

const RELAY: StreamEventReading = { kind: 'relay' }

/** The error that an event is, flat or with an error object inside; null where it is none. */
function readEventError(root: JsonObject, name: string | null): ProviderError | null {
  if (member(root, 'error') !== undefined) return readProviderError(root, null)
  const isError = [root['type'], name].some((type) => type === 'error' || type === 'response.error')
  return isError ? readProviderError({ error: root }, null) : null
}

/** A failed response where the provider's event has one, else an `error` event; nothing of its words. */
function errorEvent({ problem, requestId, event }: ErrorEventInput): string {
  const root = parseEventData(event.data) ?? {}
  const { error } = openAiError(problem)
  const isResponse = isJsonObject(root['response']) || root['type'] === 'response.failed'
  const type = isResponse ? 'response.failed' : 'error'
  // Clients read an `error` event's members from itself or from an object inside, some from either.
  const content = isResponse
    ? { response: failedResponse(objectAt(root, 'response'), { error, requestId }) }
    : { code: error.code, message: error.message, param: error.param, error }
  const order = typeof root['sequence_number'] === 'number' ? root['sequence_number'] : undefined
  const json = JSON.stringify({ type, sequence_number: order, ...content })
  return `event: ${type}\ndata: ${json}\n\n`
}

// What a response object has that is no text: numbers, switches and names.
const KEPT_MEMBERS = [
  'created_at',
  'model',
  'parallel_tool_calls',
  'max_output_tokens',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'store',
  'background',
]

function failedResponse(
  response: JsonObject,
  {
    error,
    requestId,
  }: { readonly error: ReturnType<typeof openAiError>['error']; readonly requestId: string },
): object {
  return {
    id: plainMembers(response, ['id'])['id'] ?? requestId,
    ...plainMembers(response, KEPT_MEMBERS),
    object: 'response',
    status: 'failed',
    error: { code: error.code, message: error.message },
    incomplete_details: null,
    instructions: null,
    metadata: {},
    output: [],
    output_text: '',
    tool_choice: 'auto',
    tools: [],
    usage: null,
  }
}
