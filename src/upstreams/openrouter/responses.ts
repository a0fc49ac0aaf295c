import { parseEventData } from '../../formats/event-data.ts'
import { member } from '../../formats/fields.ts'
import type { StreamEvent } from '../../formats/format.ts'
import type { ProviderError } from '../../formats/provider-error.ts'
import type { JsonEdit } from '../../json/edit.ts'
import { isJsonObject, type JsonBody, type JsonObject, type JsonValue } from '../../json/walk.ts'
import type { Reported, TokenUsage } from '../../vocabulary/outcome.ts'
import type {
  AnswerReading,
  RewriteInput,
  StreamEventReading,
  StreamObserver,
  Wire,
} from '../upstream.ts'
import { generationIdOf, readAggregatorId } from './generation-id.ts'
import { readProviderError } from './provider-error.ts'
import { fileEngineEdits, modelEdit } from './rewrites.ts'
import { StreamTally } from './stream-tally.ts'
import { StreamText } from './stream-text.ts'
import { eventBody, UNREADABLE_EVENT } from './unreadable-event.ts'
import { objectAt, readCost, readSearches, readServedTier, tokenCount } from './usage.ts'

/** How responses go to OpenRouter. */
export const responses: Wire = {
  path: '/responses',
  rewrites,
  generationIdOf,
  readAnswer,
  readError: readProviderError,
  observeStream: () => new ResponsesObserver(),
}

function rewrites({ call, body, offer, publicNames }: RewriteInput): readonly JsonEdit[] {
  return [...modelEdit(call, offer), ...fileEngineEdits(body.root, publicNames)]
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
    const matched = this.#hasEnded ? null : this.#text.matchTemplate(event)
    if (matched !== null) {
      this.#tally.addText(matched)
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
    if (!isJsonObject(root['response'])) this.#text.learnTemplate()
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
