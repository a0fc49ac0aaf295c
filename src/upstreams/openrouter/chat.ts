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
  tokenCount,
} from '../../json/walk.ts'
import type { Call } from '../../vocabulary/call.ts'
import type { Offer } from '../../vocabulary/offer.ts'
import type { Reported, TokenUsage } from '../../vocabulary/outcome.ts'
import type {
  AnswerReading,
  RewriteInput,
  StreamEventReading,
  StreamObserver,
  Wire,
} from '../wire.ts'
import { readProviderError, readSaidError, UNREADABLE_EVENT } from './provider-error.ts'
import {
  generationIdOf,
  readCost,
  readGenerationId,
  readOwnProviderKey,
  readServedTier,
  readUsage,
} from './reported.ts'
import { fileEngineEdits, fileParserEdits, modelEdit, userEdit } from './rewrites.ts'
import { eventBody, RELAY, TallyObserver } from './stream-text.ts'

/** How chat completions go to OpenRouter. */
export const chat: Wire = {
  path: '/chat/completions',
  rewrites,
  generationIdOf,
  readAnswer,
  readError: readProviderError,
  observeStream: chunkObservers({
    // Mistral's `content` is a list of thinking and text while the model thinks (github.com/symfony/ai/issues/2422).
    textMembers: [
      ...['content', 'reasoning', 'reasoning_content', 'thinking', 'text'],
      ...['arguments', 'input', 'refusal'],
    ],
    hasGenerationId: true,
  }),
}

/** How legacy completions go to OpenRouter. */
export const completions: Wire = {
  ...chat,
  path: '/completions',
  rewrites: ({ call, body, offer, outputCapTokens, accountTag, publicNames }) => [
    ...modelEdit(call, offer),
    userEdit(accountTag),
    ...fileEngineEdits(body.root, publicNames),
    ...capEdit(offer, outputCapTokens),
    ...toolCallsEdit(call, body.root),
  ],
  observeStream: chunkObservers({ textMembers: ['text', 'reasoning'], hasGenerationId: true }),
}

/** How embeddings go to OpenRouter. */
export const embeddings: Wire = {
  ...chat,
  path: '/embeddings',
  rewrites: ({ call, body, offer, accountTag, publicNames }) => [
    ...modelEdit(call, offer),
    userEdit(accountTag),
    ...fileEngineEdits(body.root, publicNames),
  ],
  readAnswer(answer) {
    const reading = readAnswer(answer)
    const usage = usageOfTotal(answer.root['usage']) ?? reading.reported.usage
    return { ...reading, reported: { ...reading.reported, usage } }
  },
  observeStream: chunkObservers({ textMembers: [], hasGenerationId: true }),
}

// Embeddings have no output: a total without a count of the prompt is that of the prompt. Voyage sends nothing else, by
// its API's definition at docs.voyageai.com/reference/embeddings-api, read in copies, 2026-11-28.
function usageOfTotal(usage: JsonValue | undefined): TokenUsage | null {
  if (!isJsonObject(usage) || (tokenCount(usage['prompt_tokens']) ?? 0) > 0) return null
  const totalTokens = tokenCount(usage['total_tokens']) ?? 0
  if (totalTokens === 0) return null
  return readUsage({ ...usage, prompt_tokens: totalTokens, completion_tokens: 0 }, COUNTS)
}

/** How images go to OpenRouter. Their answers have no generation. */
export const images: Wire = {
  ...embeddings,
  path: '/images',
  generationIdOf: () => null,
  readAnswer(answer) {
    const reading = chat.readAnswer(answer)
    return { ...reading, reported: { ...reading.reported, generationId: null } }
  },
  observeStream: chunkObservers({ textMembers: [], hasGenerationId: false }),
}

function rewrites(input: RewriteInput): readonly JsonEdit[] {
  const { call, offer } = input
  return [
    ...modelEdit(call, offer),
    userEdit(input.accountTag),
    ...fileParserEdits(input),
    ...capEdit(offer, input.outputCapTokens),
    ...toolCallsEdit(call, input.body.root),
  ]
}

function readAnswer(answer: JsonBody): AnswerReading {
  const reported = readReport(answer, usageOf(answer.root))
  const error = readAnswerError(answer.root)
  return error === null ? { kind: 'success', reported } : { kind: 'error', error, reported }
}

const COUNTS = { input: 'prompt', output: 'completion' } as const

/** The report of an answer or of one chunk of a stream. By position: the answer, and its counts. */
function readReport(answer: JsonBody, counts: JsonValue | undefined): Reported {
  return {
    usage: readUsage(counts, COUNTS),
    costUsd: readCost(answer, ['usage']),
    generationId: readGenerationId(answer.root['id']),
    ...readServedTier(answer.root),
    ...readOwnProviderKey(answer.root['usage']),
  }
}

/**
 * The counts of an answer or chunk. Moonshot has those of a stream in its only choice
 * (github.com/earendil-works/pi/issues/2017); of several choices, each could have counts of itself alone.
 */
function usageOf(root: JsonObject): JsonValue | undefined {
  const usage = ownUsageOf(root)
  if (isJsonObject(usage) || isOneOfSeveral(root)) return usage
  return choicesOf(root)[0]?.['usage']
}

/**
 * The counts that an answer or chunk has outside its choices. Groq has those of a stream without
 * `stream_options.include_usage` in `x_groq` (github.com/vercel/ai/issues/1651).
 */
function ownUsageOf(root: JsonObject): JsonValue | undefined {
  const { usage } = root
  return isJsonObject(usage) ? usage : objectAt(root, 'x_groq')['usage']
}

/** Whether an answer or chunk shows that there are several choices. */
function isOneOfSeveral(root: JsonObject): boolean {
  const choices = choicesOf(root)
  return choices.length > 1 || choices.some(({ index = 0 }) => index !== 0)
}

/** The error in an answer or chunk with status 200: at the top level or in a choice. Null if there is none. */
function readError(root: JsonObject): ProviderError | null {
  const said = readSaidError(root)
  if (said !== null) return said
  const failed = choicesOf(root).find((choice) => member(choice, 'error') !== undefined)
  return failed === undefined ? null : readProviderError(failed, null)
}

/**
 * Like {@link readError}; the finish reason `error` is one too, if no choice has text or calls of tools. Otherwise the
 * client gets the text until then.
 */
function readAnswerError(root: JsonObject): ProviderError | null {
  return choicesOf(root).some(isWritten) ? readError(root) : readChunkError(root)
}

function isWritten(choice: JsonObject): boolean {
  const { content, refusal, tool_calls, images } = objectAt(choice, 'message')
  return [choice['text'], content, refusal, tool_calls, images].some(
    (part) => (typeof part === 'string' || Array.isArray(part)) && part.length > 0,
  )
}

/** Like {@link readError}; in a stream, the finish reason `error` is one too. */
function readChunkError(root: JsonObject): ProviderError | null {
  const failed = choicesOf(root).find((choice) => choice['finish_reason'] === 'error')
  return readError(root) ?? (failed === undefined ? null : readProviderError(failed, null))
}

function choicesOf(root: JsonObject): readonly JsonObject[] {
  const choices = root['choices']
  return Array.isArray(choices) ? choices.filter(isJsonObject) : []
}

interface ChunkReading {
  /** The members whose strings are output text. */
  readonly textMembers: readonly string[]
  /** Whether chunks have a generation id; chunks are read until the first one that has. */
  readonly hasGenerationId: boolean
}

/** Makes observers of streams that are data-only JSON chunks and end with `[DONE]`. */
function chunkObservers(reading: ChunkReading): () => StreamObserver {
  return () => new ChunkObserver(reading)
}

/**
 * Reads usage, cost, generation id and errors from chunks. A chunk that differs from an earlier one in nothing
 * but its text is not parsed.
 */
class ChunkObserver extends TallyObserver {
  readonly #hasGenerationId: boolean
  #hasSeveralChoices = false
  /** Whether the last counts were those of a choice. */
  #isCountedByChoice = false

  constructor({ hasGenerationId, textMembers }: ChunkReading) {
    super(textMembers)
    this.#hasGenerationId = hasGenerationId
  }

  onEvent(event: StreamEvent): StreamEventReading {
    if (this.matchesTemplate(event)) return RELAY
    const { name, data } = event
    if (data === '[DONE]') return { kind: 'terminal' }
    const chunk = parseEventData(data)
    if (chunk === null) return UNREADABLE_EVENT
    this.addTextOf(event)
    if (isOneOfSeveral(chunk)) this.#meetAnotherChoice()
    const counts = this.#hasSeveralChoices ? ownUsageOf(chunk) : usageOf(chunk)
    const reports = isJsonObject(counts) || this.#awaitsGenerationId()
    if (reports) this.#learn(eventBody(data, chunk), counts)
    const error = readChunkError(chunk)
    if (error !== null) return { kind: 'error', error }
    if (name === 'error') return UNREADABLE_EVENT
    if (!reports) this.learnTemplate()
    return RELAY
  }

  #awaitsGenerationId(): boolean {
    return this.#hasGenerationId && this.reported().generationId === null
  }

  /** Counts of one choice were not those of the answer. */
  #meetAnotherChoice(): void {
    this.#hasSeveralChoices = true
    if (this.#isCountedByChoice) this.forgetCounts()
    this.#isCountedByChoice = false
  }

  /** By position: the chunk, and its counts. */
  #learn(chunk: JsonBody, counts: JsonValue | undefined): void {
    if (isJsonObject(counts)) this.#isCountedByChoice = counts !== ownUsageOf(chunk.root)
    const reported = readReport(chunk, counts)
    this.learn(this.#hasGenerationId ? reported : { ...reported, generationId: null })
  }
}

/** The output cap that was held, if one must be sent, in the field that the model lists. */
function capEdit(offer: Offer, outputCapTokens: number | null): readonly JsonEdit[] {
  if (outputCapTokens === null) return []
  const name = offer.supportedParameters.has('max_tokens') ? 'max_tokens' : 'max_completion_tokens'
  return [{ kind: 'set', path: [name], json: String(outputCapTokens) }]
}

/**
 * The number of tool steps that was held, if the provider runs tools. A client's larger value, or one that the
 * provider ignores, would let it run more than was held.
 */
function toolCallsEdit({ tools }: Call, root: JsonObject): readonly JsonEdit[] {
  if (!tools.serverTools || root['max_tool_calls'] === tools.steps) return []
  return [{ kind: 'set', path: ['max_tool_calls'], json: String(tools.steps) }]
}
