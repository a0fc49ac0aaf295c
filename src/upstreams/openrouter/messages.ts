import type { StreamEvent } from '../../formats/format.ts'
import { readSteps, type SearchTool, searchToolsOf } from '../../formats/tools.ts'
import { parseEventData } from '../../json/body.ts'
import type { JsonEdit } from '../../json/edit.ts'
import {
  isJsonObject,
  type JsonBody,
  type JsonObject,
  type JsonValue,
  objectAt,
  tokenCount,
} from '../../json/walk.ts'
import type { Reported, TokenUsage } from '../../vocabulary/outcome.ts'
import type { PublicNames } from '../../vocabulary/public-names.ts'
import type { AnswerReading, RewriteInput, StreamEventReading, Wire } from '../wire.ts'
import { readProviderError, readSaidError, UNREADABLE_EVENT } from './provider-error.ts'
import {
  generationIdOf,
  readAggregatorId,
  readCost,
  readOwnProviderKey,
  readSearches,
  readServedTier,
} from './reported.ts'
import { fileEngineEdits, modelEdit } from './rewrites.ts'
import { eventBody, RELAY, TallyObserver } from './stream-text.ts'

/** How messages go to OpenRouter. */
export const messages: Wire = messagesAtTiers(readServedTier)

/** Reads from the usage of an answer at which tier it was served, and whether within one region. */
type TierReading = (usage: JsonObject) => Pick<Reported, 'servedTier' | 'isRegional'>

/** How messages go to a provider, which says in its own way at which tier it has served an answer. */
export function messagesAtTiers(readTier: TierReading): Wire {
  return {
    path: '/messages',
    rewrites,
    generationIdOf,
    readAnswer: (answer) => readAnswer(answer, readTier),
    readError: readProviderError,
    observeStream: () => new MessagesObserver(readTier),
  }
}

function rewrites({ call, body, offer, publicNames }: RewriteInput): readonly JsonEdit[] {
  const { root } = body
  return [
    ...modelEdit(call, offer),
    ...fileEngineEdits(root, publicNames),
    ...searchCapEdits(root, publicNames),
  ]
}

/** Caps how often each search tool may be used. */
export function searchCapEdits(root: JsonObject, publicNames: PublicNames): readonly JsonEdit[] {
  const steps = readSteps(root)
  const upstreamPrefix = publicNames.upstream.toolPrefix
  return searchToolsOf(root, publicNames).flatMap((searchTool) =>
    toolCapEdits(searchTool, { steps, upstreamPrefix }),
  )
}

/**
 * Caps how often a search tool may be used; one without a usable `max_uses` gets all steps. The upstream's own tool has
 * its settings one level down. A `max_uses` at the other level is capped too: which of the two a provider reads is not
 * known.
 */
function toolCapEdits(
  { index, type, tool }: SearchTool,
  { steps, upstreamPrefix }: { readonly steps: number; readonly upstreamPrefix: string },
): readonly JsonEdit[] {
  const { parameters } = tool
  const isOwn = type.startsWith(upstreamPrefix)
  const edits: JsonEdit[] = []
  const cap = (place: readonly string[], json = String(steps)): void => {
    edits.push({ kind: 'set', path: ['tools', index, ...place], json })
  }
  const isCapped = (maxUses: JsonValue | undefined): boolean =>
    typeof maxUses === 'number' && Number.isInteger(maxUses) && maxUses > 0 && maxUses <= steps
  if (!isCapped(tool['max_uses']) && (!isOwn || tool['max_uses'] !== undefined)) cap(['max_uses'])
  if (!isJsonObject(parameters)) {
    if (isOwn) cap(['parameters'], JSON.stringify({ max_uses: steps }))
  } else if (!isCapped(parameters['max_uses']) && (isOwn || parameters['max_uses'] !== undefined)) {
    cap(['parameters', 'max_uses'])
  }
  return edits
}

function readAnswer(answer: JsonBody, readTier: TierReading): AnswerReading {
  const { root } = answer
  const reported = {
    usage: readMessagesUsage(objectAt(root, 'usage')),
    costUsd: readCost(answer, ['usage']),
    generationId: readAggregatorId(root['id']),
    ...readTier(objectAt(root, 'usage')),
    ...readOwnProviderKey(root['usage']),
  }
  const error = readSaidError(root)
  return error === null ? { kind: 'success', reported } : { kind: 'error', error, reported }
}

/** Usage as messages reports it: `input_tokens` includes neither cache reads nor cache writes. */
function readMessagesUsage(usage: JsonObject): TokenUsage | null {
  const input = tokenCount(usage['input_tokens'])
  const output = tokenCount(usage['output_tokens'])
  if (input === null && output === null) return null
  const writes = objectAt(usage, 'cache_creation')
  const reportedLongWrites = tokenCount(writes['ephemeral_1h_input_tokens']) ?? 0
  const shortWrites = tokenCount(writes['ephemeral_5m_input_tokens']) ?? 0
  const allWrites =
    tokenCount(usage['cache_creation_input_tokens']) ?? reportedLongWrites + shortWrites
  // The end of a stream counts all writes without their lifetimes: those after the start have the lifetime of the others.
  const isAllLong = reportedLongWrites > 0 && writes['ephemeral_5m_input_tokens'] === 0
  const longWrites = isAllLong ? allWrites : Math.min(reportedLongWrites, allWrites)
  const thinking = tokenCount(objectAt(usage, 'output_tokens_details')['thinking_tokens'])
  return {
    inputTokens: input ?? 0,
    cacheReadTokens: tokenCount(usage['cache_read_input_tokens']) ?? 0,
    cacheWriteTokens: allWrites - longWrites,
    cacheWriteLongTokens: longWrites,
    outputTokens: output ?? 0,
    reasoningTokens: Math.min(thinking ?? 0, output ?? 0),
    imageOutputTokens: 0,
    searches: readSearches(usage),
  }
}

const INPUT_COUNTS = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens']
const INPUT_MEMBERS = [...INPUT_COUNTS, 'cache_creation']
const OUTPUT_MEMBERS = [
  'output_tokens',
  'output_tokens_details',
  'server_tool_use',
  'server_tool_use_details',
]

/**
 * Usage after another event. Counts are cumulative: the later one replaces the earlier one. But some providers
 * send zero for an unknown input, first or last, and zero never replaces a count.
 */
function mergeUsage(earlier: JsonObject, later: JsonObject): JsonObject {
  const countsInput = INPUT_COUNTS.some((name) => (tokenCount(later[name]) ?? 0) > 0)
  const merged: Record<string, JsonValue> = { ...earlier }
  for (const name of countsInput ? [...INPUT_MEMBERS, ...OUTPUT_MEMBERS] : OUTPUT_MEMBERS) {
    const value = later[name]
    if (value !== undefined && value !== null) merged[name] = value
  }
  return merged
}

const TEXT_MEMBERS = ['text', 'partial_json', 'thinking']

/** Reads usage, cost, generation id and errors from the events of messages. */
class MessagesObserver extends TallyObserver {
  /** All usage so far, as the provider reports it. */
  #usage: JsonObject = {}
  readonly #readTier: TierReading

  constructor(readTier: TierReading) {
    super(TEXT_MEMBERS)
    this.#readTier = readTier
  }

  onEvent(streamEvent: StreamEvent): StreamEventReading {
    if (this.matchesTemplate(streamEvent)) return RELAY
    const { name, data } = streamEvent
    if (data === '[DONE]') return RELAY
    const event = parseEventData(data)
    if (event === null) return UNREADABLE_EVENT
    this.addTextOf(streamEvent)
    const reports = isJsonObject(event['usage']) || isJsonObject(event['message'])
    if (reports) this.#learn(eventBody(data, event))
    const error = readSaidError(event)
    if (error !== null) return { kind: 'error', error }
    if (name === 'error') return UNREADABLE_EVENT
    if ((event['type'] ?? name) === 'message_stop') return { kind: 'terminal' }
    if (!reports) this.learnTemplate()
    return RELAY
  }

  // In the first event, usage and id are inside `message`.
  #learn(event: JsonBody): void {
    const path = isJsonObject(event.root['message']) ? ['message', 'usage'] : ['usage']
    const owner = isJsonObject(event.root['message']) ? event.root['message'] : event.root
    const usage = owner['usage']
    if (isJsonObject(usage)) this.#usage = mergeUsage(this.#usage, usage)
    this.learn({
      usage: isJsonObject(usage) ? readMessagesUsage(this.#usage) : null,
      costUsd: readCost(event, path),
      generationId: readAggregatorId(owner['id']),
      ...this.#readTier(objectAt(owner, 'usage')),
      ...readOwnProviderKey(usage),
    })
  }
}
