import { type JsonBody, parseAnswer } from '../vocabulary/json-body.ts'
import { estimateTextTokensOfLatin1 } from '../vocabulary/text-tokens.ts'
import { NOTHING_REPORTED, type Reported } from '../vocabulary/usage.ts'
import { readChatError, readChatReport } from './chat-answer.ts'
import { openAiError } from './envelope.ts'
import type { ErrorEventInput, StreamEvent, StreamEventReading, StreamObserver } from './format.ts'
import { readProviderError } from './provider-error.ts'
import { streamTextFinder } from './stream-text.ts'

/** How the chunks of one format are read. */
export interface ChunkReading {
  /** The members whose strings are output text. */
  readonly textMembers: readonly string[]
  /** Whether chunks name a generation, for which the first of them are read. */
  readonly hasGenerationId: boolean
}

/** Makes observers of streams that are data-only JSON chunks and end with `[DONE]`. */
export function chunkObservers({
  textMembers,
  hasGenerationId,
}: ChunkReading): () => StreamObserver {
  const textOf = streamTextFinder(textMembers)
  return () => new ChunkObserver(textOf, hasGenerationId ? 'has id' : 'has none')
}

const USAGE_OBJECT = /"usage"\s*:\s*\{/

/**
 * Reads usage, cost, generation id and errors from chunks. A chunk is parsed only where it may have one
 * of them: the text of all others is found without.
 */
class ChunkObserver implements StreamObserver {
  readonly #textOf: (data: string) => string
  readonly #hasGenerationId: boolean
  #reported: Reported = NOTHING_REPORTED
  #relayedTokens = 0

  constructor(textOf: (data: string) => string, generation: 'has id' | 'has none') {
    this.#textOf = textOf
    this.#hasGenerationId = generation === 'has id'
  }

  onEvent({ name, data }: StreamEvent): StreamEventReading {
    if (data === '[DONE]') return { kind: 'terminal' }
    const mayFail = name === 'error' || data.includes('"error"')
    if (mayFail || this.#mayReport(data)) {
      const chunk = parseAnswer(Buffer.from(data, 'latin1'))
      if (chunk !== null) this.#learn(chunk)
      const error = chunk === null ? null : readChatError(chunk.root)
      if (error !== null) return { kind: 'error', error }
      if (name === 'error') return { kind: 'error', error: readProviderError(null, null) }
    }
    this.#relayedTokens += estimateTextTokensOfLatin1(this.#textOf(data))
    return { kind: 'relay' }
  }

  reported(): Reported {
    return this.#reported
  }

  relayedTokens(): number {
    return this.#relayedTokens
  }

  #mayReport(data: string): boolean {
    if (this.#hasGenerationId && this.#reported.generationId === null) return true
    return data.includes('"usage"') && USAGE_OBJECT.test(data)
  }

  // Counts are cumulative: the latest hold.
  #learn(chunk: JsonBody): void {
    const { usage, costUsd, generationId } = readChatReport(chunk)
    const known = this.#reported
    this.#reported = {
      usage: usage ?? known.usage,
      costUsd: costUsd ?? known.costUsd,
      generationId: this.#hasGenerationId ? (known.generationId ?? generationId) : null,
    }
  }
}

/**
 * An error event in the form of a chunk. The chunk's own id, model and time are kept, so that a client's
 * accumulator takes it for one of the stream; everything else is ours. `choice`: what the format's
 * choices have for text, empty.
 */
export function chunkErrorEvent(
  { problem, event }: ErrorEventInput,
  choice: { readonly [member: string]: unknown },
): string {
  const chunk = parseAnswer(Buffer.from(event.data, 'latin1'))?.root ?? {}
  const kept: Record<string, string | number> = {}
  for (const name of ['id', 'object', 'created', 'model']) {
    const value = chunk[name]
    if (typeof value === 'string' || typeof value === 'number') kept[name] = value
  }
  const choices = [{ index: 0, ...choice, finish_reason: 'error' }]
  return errorFrame(event, { ...kept, ...openAiError(problem), choices })
}

/** One whole error event around this JSON, named where the provider's was. */
export function errorFrame({ name }: StreamEvent, json: unknown): string {
  return `${name === null ? '' : 'event: error\n'}data: ${JSON.stringify(json)}\n\n`
}
