import { member } from '../../formats/fields.ts'
import type { StreamEvent } from '../../formats/format.ts'
import type { ProviderError } from '../../formats/provider-error.ts'
import { parseEventData } from '../../json/body.ts'
import type { JsonEdit } from '../../json/edit.ts'
import {
  isJsonObject,
  type JsonBody,
  type JsonObject,
  type JsonValue,
  objectAt,
} from '../../json/walk.ts'
import type { Reported } from '../../vocabulary/outcome.ts'
import type { AnswerReading, RewriteInput, StreamEventReading, Wire } from '../wire.ts'
import { readProviderError, readSaidError, UNREADABLE_EVENT } from './provider-error.ts'
import {
  generationIdOf,
  readAggregatorId,
  readCost,
  readOwnProviderKey,
  readServedTier,
  readUsage,
} from './reported.ts'
import { fileEngineEdits, modelEdit } from './rewrites.ts'
import { eventBody, RELAY, TallyObserver } from './stream-text.ts'

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

/** The report of the response object at a path. */
function readReport(body: JsonBody, path: readonly string[]): Reported {
  const response = path.reduce(objectAt, body.root)
  return {
    usage: readUsage(response['usage'], { input: 'input', output: 'output' }),
    costUsd: readCost(body, [...path, 'usage']),
    generationId: readAggregatorId(response['id']),
    ...readServedTier(response),
    ...readOwnProviderKey(response['usage']),
  }
}

/** The error of a response object; null if it has not failed. */
function readResponseError(response: JsonObject): ProviderError | null {
  const failed = response['status'] === 'failed' || member(response, 'error') !== undefined
  return failed ? readProviderError(response, null) : null
}

const TEXT_MEMBERS = ['delta']

const TERMINAL_TYPES = new Set<JsonValue | undefined>([
  'response.completed',
  'response.incomplete',
  'response.cancelled',
  // OpenRouter's former name of the terminal event.
  'response.done',
])

/** Reads usage, cost, generation id and errors from the events of responses. */
class ResponsesObserver extends TallyObserver {
  /** Whether the stream has had its terminal event, or an error. */
  #hasEnded = false

  constructor() {
    super(TEXT_MEMBERS, 'sequence_number')
  }

  onEvent(event: StreamEvent): StreamEventReading {
    if (event.data === '[DONE]') return RELAY
    if (!this.#hasEnded && this.matchesTemplate(event)) return RELAY
    const reading = this.#read(event)
    if (this.#hasEnded) return { kind: 'drop' }
    this.#hasEnded = reading.kind !== 'relay'
    return reading
  }

  override takeAlike(chunk: Buffer, start: number): number {
    return this.#hasEnded ? start : super.takeAlike(chunk, start)
  }

  #read(event: StreamEvent): StreamEventReading {
    const { name, data } = event
    const root = parseEventData(data)
    if (root === null) return UNREADABLE_EVENT
    if (!this.#hasEnded) this.addTextOf(event)
    const type = root['type'] ?? name
    if (isJsonObject(root['response'])) {
      this.learn(readReport(eventBody(data, root), ['response']))
      const error = readResponseError(root['response'])
      if (error !== null) return { kind: 'terminalError', error }
    }
    if (type === 'response.failed') {
      return { kind: 'terminalError', error: readProviderError(null, null) }
    }
    const error = readEventError(root, name)
    // A later event may report the cost.
    if (error !== null) return { kind: 'error', error }
    if (TERMINAL_TYPES.has(type)) return { kind: 'terminal' }
    if (!isJsonObject(root['response'])) this.learnTemplate()
    return RELAY
  }
}

/** The error in an event, flat or as an error object; null if there is none. */
function readEventError(root: JsonObject, name: string | null): ProviderError | null {
  if (member(root, 'error') !== undefined) return readProviderError(root, null)
  const isError = [root['type'], name].some((type) => type === 'error' || type === 'response.error')
  return isError ? readProviderError({ error: root }, null) : readSaidError(root)
}
