import type { IncomingHttpHeaders } from 'node:http'
import { isWholeData } from '../../formats/event-data.ts'
import type { StreamEvent } from '../../formats/format.ts'
import { type ProviderError, problemForProviderError } from '../../formats/provider-error.ts'
import type { Attempt, AttemptFailure } from '../../upstreams/attempt.ts'
import type { StreamObserver } from '../../upstreams/upstream.ts'
import { assertNever } from '../../vocabulary/assert-never.ts'
import type { Outcome } from '../../vocabulary/outcome.ts'
import type { ProblemCode } from '../../vocabulary/problem.ts'
import { NOTHING_REPORTED, type Reported } from '../../vocabulary/usage.ts'
import { endAnswer } from './end-answer.ts'
import { type EventSink, EventSplitter } from './event-splitter.ts'
import { EventReader, type ReadEvent } from './read-event.ts'
import type { RelayEnding, RelayInput } from './relay.ts'

export interface StreamRelayInput {
  readonly attempt: Attempt
  readonly headers: IncomingHttpHeaders
  readonly resolve: (ending: RelayEnding) => void
}

/**
 * Relays one stream: whole events, in the tick they arrive, unchanged but for errors and for lines that
 * are no part of the format.
 *
 * Its outcome is told once: at the terminal event, before that event is written, so that a client
 * that sees the end finds its place in flight free; else at the end of the connection, of either side.
 */
export class StreamRelay implements EventSink {
  readonly #input: RelayInput
  readonly #attempt: Attempt
  readonly #resolve: (ending: RelayEnding) => void
  readonly #observer: StreamObserver
  readonly #splitter: EventSplitter
  readonly #events: EventReader
  readonly #headerGenerationId: string | null
  /** Events of the chunk at hand that are to be written, in order. */
  #ready: Buffer[] = []
  #generationIdTold = false
  /** What the first error event was told as; null: there was none. */
  #failure: ProblemCode | null = null
  #outcomeTold = false
  #ended = false
  #paused = false

  constructor(input: RelayInput, { attempt, headers, resolve }: StreamRelayInput) {
    this.#input = input
    this.#attempt = attempt
    this.#resolve = resolve
    this.#observer = input.wire.observeStream()
    this.#splitter = new EventSplitter(input.eventBytesMax)
    this.#events = new EventReader(input.format)
    this.#headerGenerationId = input.wire.generationIdOf(headers)
    input.client.writeHead(200, input.answerHeaders(headers))
    input.client.once('timeout', () => input.client.destroy())
    // The head goes out with the first events where they came together, and by itself where not.
    process.nextTick(() => {
      if (!this.#ended) input.client.flushHeaders()
    })
    this.#tellGenerationId(this.#headerGenerationId)
  }

  onResponseData(chunk: Buffer): void {
    const whole = this.#splitter.push(chunk, this)
    this.#write()
    if (!whole) {
      this.#failure ??= 'upstream_error'
      this.#tellOutcome({ kind: 'unreadable', reported: this.#reported() })
      this.#attempt.cancel()
    }
  }

  /** One whole event, from the splitter. */
  onEvent(whole: Buffer): void {
    this.#relayEvent(this.#events.read(whole))
  }

  #relayEvent(event: ReadEvent): void {
    const { data, bytes } = event
    if (data === '') {
      if (bytes.length > 0) this.#pushReady(bytes)
      return
    }
    const reading = this.#observer.onEvent(event)
    switch (reading.kind) {
      case 'relay':
        this.#pushReady(bytes)
        break
      case 'terminal':
        this.#pushReady(bytes)
        this.#tellLastWord()
        break
      case 'error':
        this.#pushError(reading.error, event)
        break
      case 'terminalError':
        this.#pushError(reading.error, event)
        this.#tellLastWord()
        break
      case 'drop':
        break
      default:
        assertNever(reading)
    }
    if (!this.#generationIdTold) this.#tellGenerationId(this.#observer.reported().generationId)
  }

  /** Events that stood side by side in a chunk are written as the one slice that they are. */
  #pushReady(event: Buffer): void {
    const last = this.#ready.length - 1
    const before = this.#ready[last]
    if (
      before !== undefined &&
      before.buffer === event.buffer &&
      before.byteOffset + before.length === event.byteOffset
    ) {
      this.#ready[last] = Buffer.from(event.buffer, before.byteOffset, before.length + event.length)
    } else {
      this.#ready.push(event)
    }
  }

  #pushError(error: ProviderError, event: StreamEvent): void {
    const { format, requestId } = this.#input
    const problem = problemForProviderError(error, { retryAfter: undefined })
    this.#failure ??= problem.code
    this.#ready.push(Buffer.from(format.errorEvent({ problem, requestId, event }), 'utf8'))
  }

  onResponseEnd(): void {
    const tail = this.#events.read(this.#splitter.takeTail())
    // The blank line behind the last event may be missing. What is no event then is half of one.
    if (isWholeData(tail.data)) this.#relayEvent(tail)
    this.#tellOutcome(this.#endedWithoutTerminal())
    this.#write()
    this.#end()
  }

  onResponseError(failure: AttemptFailure): void {
    this.#tellOutcome(this.#failedOutcome(failure))
    this.#end()
  }

  /** A fault of ours: the client can't be given a true end. */
  onFault(cause: unknown): void {
    if (this.#ended) return
    this.#ended = true
    this.#failure = 'internal_error'
    this.#tellOutcome({ kind: 'lost', stage: 'afterHeaders', reported: this.#reportedSoFar() })
    this.#input.onFault(cause)
    this.#input.client.destroy()
    this.#resolve({ kind: 'streamed' })
  }

  #write(): void {
    const ready = this.#ready
    if (ready.length === 0) return
    this.#ready = []
    const [first] = ready
    const bytes = ready.length === 1 && first !== undefined ? first : Buffer.concat(ready)
    if (!this.#input.client.write(bytes) && !this.#paused) this.#pause()
  }

  #pause(): void {
    const { client, clientStallTimeoutMs } = this.#input
    this.#paused = true
    this.#attempt.pause()
    client.setTimeout(clientStallTimeoutMs)
    client.once('drain', () => {
      this.#paused = false
      client.setTimeout(0)
      this.#attempt.resume()
    })
  }

  #tellLastWord(): void {
    const reported = this.#reported()
    this.#tellOutcome({ kind: this.#hasFailed() ? 'failed' : 'completed', reported })
    this.#attempt.expectEnd()
  }

  #hasFailed(): boolean {
    return this.#failure !== null
  }

  // A provider that closes cleanly but says no last word has dropped the stream, unless it said what
  // the answer cost, which it says last.
  #endedWithoutTerminal(): Outcome {
    const reported = this.#reported()
    if (this.#hasFailed()) return { kind: 'failed', reported }
    if (reported.costUsd !== null) return { kind: 'completed', reported }
    return this.#lostOutcome(reported)
  }

  #failedOutcome({ kind }: AttemptFailure): Outcome {
    const reported = this.#reported()
    if (this.#hasFailed()) return { kind: 'failed', reported }
    switch (kind) {
      case 'neverOpened':
      case 'lost':
        return this.#lostOutcome(reported)
      case 'timedOut':
        return { kind: 'timedOut', stage: 'afterHeaders', reported }
      case 'cancelled':
        return this.#clientGoneOutcome(reported)
      default:
        return assertNever(kind)
    }
  }

  // Whoever left first ended it: at a shutdown both sides are cut at once.
  #lostOutcome(reported: Reported): Outcome {
    if (this.#input.client.destroyed) return this.#clientGoneOutcome(reported)
    return { kind: 'lost', stage: 'afterHeaders', reported }
  }

  #clientGoneOutcome(reported: Reported): Outcome {
    const relayedTokens = this.#observer.relayedTokens()
    return { kind: 'clientGone', stage: 'afterHeaders', reported, relayedTokens }
  }

  #reported(): Reported {
    const reported = this.#observer.reported()
    if (reported.generationId !== null || this.#headerGenerationId === null) return reported
    return { ...reported, generationId: this.#headerGenerationId }
  }

  // Where the observer itself may be what fails.
  #reportedSoFar(): Reported {
    try {
      return this.#reported()
    } catch {
      return { ...NOTHING_REPORTED, generationId: this.#headerGenerationId }
    }
  }

  #tellGenerationId(generationId: string | null): void {
    if (this.#generationIdTold || generationId === null) return
    this.#generationIdTold = true
    this.#input.onGenerationId(generationId)
  }

  #tellOutcome(outcome: Outcome): void {
    if (this.#outcomeTold) return
    this.#outcomeTold = true
    this.#input.onStreamOutcome(outcome, this.#failure)
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    const { client, clientStallTimeoutMs } = this.#input
    const streamed = (): void => this.#resolve({ kind: 'streamed' })
    void endAnswer(client, { bytes: null, stallTimeoutMs: clientStallTimeoutMs }).then(streamed)
  }
}
