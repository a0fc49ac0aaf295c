import { isWholeData } from '../../formats/event-data.ts'
import type { Attempt, AttemptFailure } from '../../upstreams/attempt.ts'
import type { StreamObserver } from '../../upstreams/upstream.ts'
import type { Outcome } from '../../vocabulary/outcome.ts'
import type { Problem } from '../../vocabulary/problem.ts'
import type { Reported } from '../../vocabulary/usage.ts'
import { clientLeft } from './client-left.ts'
import { type EventSink, EventSplitter } from './event-splitter.ts'
import { EventReader, type ReadEvent } from './read-event.ts'
import type { RelayEnding, RelayInput } from './relay.ts'
import type { StreamRelayInput } from './stream-relay.ts'

/**
 * Reads an answer whose client left before its headers, until it says what it is billed or looked up by:
 * a generation id, a cost or counts. Then the call is cancelled.
 */
export class LeftStream implements EventSink {
  readonly #input: RelayInput
  readonly #attempt: Attempt
  readonly #resolve: (ending: RelayEnding) => void
  readonly #observer: StreamObserver
  readonly #splitter: EventSplitter
  readonly #events: EventReader
  readonly #headerGenerationId: string | null
  #hasFailed = false
  #ended = false

  constructor(input: RelayInput, { attempt, headers, resolve }: StreamRelayInput) {
    this.#input = input
    this.#attempt = attempt
    this.#resolve = resolve
    this.#observer = input.wire.observeStream()
    this.#splitter = new EventSplitter(input.eventBytesMax)
    this.#events = new EventReader(input.format)
    this.#headerGenerationId = input.wire.generationIdOf(headers)
    this.#endIfKnown()
  }

  onResponseData(chunk: Buffer): void {
    if (this.#ended) return
    try {
      // Nobody's back-pressure bounds what is read here.
      this.#input.reserveBytes(chunk.length)
    } catch {
      this.#end({ kind: 'leftEarly', reported: this.#reported() })
      return
    }
    const whole = this.#splitter.push(chunk, this)
    if (whole) this.#endIfKnown()
    else this.#end({ kind: 'leftEarly', reported: this.#reported() })
  }

  /** One whole event, from the splitter. */
  onEvent(whole: Buffer): void {
    if (!this.#ended) this.#observe(this.#events.read(whole))
  }

  #observe(event: ReadEvent): void {
    if (event.data === '') return
    const { kind } = this.#observer.onEvent(event)
    if (kind === 'error' || kind === 'terminalError') this.#hasFailed = true
    if (kind !== 'terminal' && kind !== 'terminalError') return
    this.#end({ kind: this.#hasFailed ? 'failed' : 'completed', reported: this.#reported() })
  }

  onResponseEnd(): void {
    if (this.#ended) return
    const tail = this.#events.read(this.#splitter.takeTail())
    // The blank line behind the last event may be missing.
    if (isWholeData(tail.data)) this.#observe(tail)
    this.#endIfKnown()
    this.#end(this.#brokenOff())
  }

  onResponseError({ kind, cutOff }: AttemptFailure): void {
    const isOurs = kind !== 'lost' || cutOff
    this.#end(isOurs ? { kind: 'leftEarly', reported: this.#reported() } : this.#brokenOff())
  }

  /** A fault of ours while it was read. */
  onFault(cause: unknown): void {
    this.#input.onFault(cause)
    this.#end({
      kind: 'leftEarly',
      reported: { usage: null, costUsd: null, generationId: this.#headerGenerationId },
    })
  }

  #brokenOff(): Outcome {
    const reported = this.#reported()
    if (this.#hasFailed) return { kind: 'failed', reported }
    return { kind: 'lost', stage: 'afterHeaders', reported }
  }

  #endIfKnown(): void {
    if (this.#hasFailed) return
    const reported = this.#reported()
    const { generationId, costUsd, usage } = reported
    if (generationId === null && costUsd === null && usage === null) return
    this.#end({ kind: 'leftEarly', reported })
  }

  #reported(): Reported {
    const reported = this.#observer.reported()
    return { ...reported, generationId: reported.generationId ?? this.#headerGenerationId }
  }

  #end(outcome: Outcome): void {
    if (this.#ended) return
    this.#ended = true
    this.#resolve(endingOfLeft(outcome))
    this.#attempt.cancel()
  }
}

/** The ending of a call that nobody waits for. */
export function endingOfLeft(
  outcome: Outcome,
): Extract<RelayEnding, { readonly problem: Problem }> {
  return { kind: 'failed', outcome, problem: clientLeft(), upstreamHeaders: {} }
}
