import type { IncomingHttpHeaders } from 'node:http'
import { isWholeData } from '../../formats/event-data.ts'
import type { StreamEventReading, StreamObserver } from '../../upstreams/upstream.ts'
import { NOTHING_REPORTED, type Reported } from '../../vocabulary/outcome.ts'
import type { HeldRequest } from '../held-request.ts'
import { EventSplitter } from './event-splitter.ts'
import { EventReader, type ReadEvent } from './read-event.ts'

/** What a stream reads its events for. */
export interface EventSink {
  onEvent(event: ReadEvent): void
}

/** Reads the events of one stream, and keeps what they and the headers report. */
export class StreamReader {
  /** The id to look the answer up by, where its headers have one. */
  readonly headerGenerationId: string | null
  readonly #observer: StreamObserver
  readonly #splitter: EventSplitter
  readonly #events: EventReader
  readonly #sink: EventSink

  constructor(held: HeldRequest, headers: IncomingHttpHeaders, sink: EventSink) {
    this.headerGenerationId = held.wire.generationIdOf(headers)
    this.#observer = held.wire.observeStream()
    this.#splitter = new EventSplitter(held.limits.eventBytesMax)
    this.#events = new EventReader(held.request.format)
    this.#sink = sink
  }

  /** Hands on each event that the chunk makes whole. False where an event is over its limit. */
  push(chunk: Buffer): boolean {
    return this.#splitter.push(chunk, this)
  }

  /** One whole event, from the splitter. */
  onEvent(whole: Buffer): void {
    this.#sink.onEvent(this.#events.read(whole))
  }

  /** Hands on the last event, whose blank line may be missing. What is no event then is half of one. */
  end(): void {
    const tail = this.#events.read(this.#splitter.takeTail())
    if (isWholeData(tail.data)) this.#sink.onEvent(tail)
  }

  /** What an event means. */
  observe(event: ReadEvent): StreamEventReading {
    return this.#observer.onEvent(event)
  }

  relayedTokens(): number {
    return this.#observer.relayedTokens()
  }

  reported(): Reported {
    const reported = this.#observer.reported()
    if (reported.generationId !== null || this.headerGenerationId === null) return reported
    return { ...reported, generationId: this.headerGenerationId }
  }

  /** As {@link reported}, where the observer itself may be what failed. */
  reportedAtLeast(): Reported {
    try {
      return this.reported()
    } catch {
      return { ...NOTHING_REPORTED, generationId: this.headerGenerationId }
    }
  }
}
