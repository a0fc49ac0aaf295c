import { parseEventData } from '../../formats/event-data.ts'
import type { StreamEvent } from '../../formats/format.ts'
import { isJsonObject, type JsonObject } from '../../json/walk.ts'
import type { Reported } from '../../vocabulary/outcome.ts'
import type { StreamEventReading, StreamObserver } from '../upstream.ts'
import { readChatError, readChatReport } from './chat-answer.ts'
import { StreamTally } from './stream-tally.ts'
import { StreamText } from './stream-text.ts'
import { eventBody, UNREADABLE_EVENT } from './unreadable-event.ts'

/** How the chunks of one format are read. */
interface ChunkReading {
  /** The members whose strings are output text. */
  readonly textMembers: readonly string[]
  /** Whether chunks name a generation, for which the first of them are read. */
  readonly hasGenerationId: boolean
}

/** Makes observers of streams that are data-only JSON chunks and end with `[DONE]`. */
export function chunkObservers(reading: ChunkReading): () => StreamObserver {
  return () => new ChunkObserver(reading)
}

const RELAY: StreamEventReading = { kind: 'relay' }

/**
 * Reads usage, cost, generation id and errors from chunks. A chunk is parsed unless it differs from one
 * that was in its text alone.
 */
class ChunkObserver implements StreamObserver {
  readonly #hasGenerationId: boolean
  readonly #text: StreamText
  readonly #tally = new StreamTally()

  constructor({ hasGenerationId, textMembers }: ChunkReading) {
    this.#hasGenerationId = hasGenerationId
    this.#text = new StreamText(textMembers)
  }

  onEvent(event: StreamEvent): StreamEventReading {
    const matched = this.#text.matchTemplate(event)
    if (matched !== null) {
      this.#tally.addText(matched)
      return RELAY
    }
    const { name, data } = event
    if (data === '[DONE]') return { kind: 'terminal' }
    const chunk = parseEventData(data)
    if (chunk === null) return UNREADABLE_EVENT
    this.#tally.addText(this.#text.read(event))
    const reports = this.#reports(chunk)
    if (reports) this.#learn(data, chunk)
    const error = readChatError(chunk)
    if (error !== null) return { kind: 'error', error }
    if (name === 'error') return UNREADABLE_EVENT
    if (!reports) this.#text.learnTemplate()
    return RELAY
  }

  reported(): Reported {
    return this.#tally.reported()
  }

  relayedTokens(): number {
    return this.#tally.relayedTokens()
  }

  #reports(chunk: JsonObject): boolean {
    if (this.#hasGenerationId && this.reported().generationId === null) return true
    return isJsonObject(chunk['usage'])
  }

  // By position: an event's data, then the chunk in it.
  #learn(data: string, chunk: JsonObject): void {
    const reported = readChatReport(eventBody(data, chunk))
    this.#tally.learn(this.#hasGenerationId ? reported : { ...reported, generationId: null })
  }
}
