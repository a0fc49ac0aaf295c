import type { StreamEvent } from '../../formats/format.ts'
import type { ProviderError } from '../../formats/provider-error.ts'
import type { Attempt, AttemptFailure } from '../../upstreams/attempt.ts'
import { assertNever } from '../../vocabulary/assert-never.ts'
import type { Outcome, Reported } from '../../vocabulary/outcome.ts'
import { Problem, type ProblemCode } from '../../vocabulary/problem.ts'
import { type HeldRequest, type RelayEnding, USAGE_HEADER } from '../held-request.ts'
import { leftOutcome } from './left-stream.ts'
import {
  dataLines,
  type EventSink,
  type ReadEvent,
  StreamReader,
  type StreamRelayInput,
} from './stream-reader.ts'

const CR = 13
const LF = 10

// Above this size, a copy costs more than the three additional pieces that Node makes of a write.
const FRAMED_BYTES_MAX = 16 * 1024

// Nearly all events are smaller: their bytes are not counted.
const UNCOUNTED_BYTES_MAX = 256 * 1024

/**
 * Relays one stream: whole events, in the tick they arrive, unchanged except for errors and for lines that
 * are not part of the format.
 *
 * Its outcome is settled once: at the terminal event, before that event is written, so that a client that has
 * seen the end finds its place in flight free; otherwise when either connection ends.
 */
export class StreamRelay implements EventSink {
  readonly #held: HeldRequest
  readonly #attempt: Attempt
  readonly #resolve: (ending: RelayEnding) => void
  readonly #reader: StreamReader
  /** Events of the current chunk to write, in order. */
  #ready: Buffer[] = []
  #hasGenerationId = false
  /** The code that the client got for the first error event; null: there was none. */
  #failure: ProblemCode | null = null
  #isSettled = false
  #ended = false
  /** Whether a write follows in this tick. */
  #writesSoon = true
  #hasHead = false
  #paused = false
  /** Whether the client has left, and the stream is read on. */
  #hasLeft = false
  /** Whether the stream had shown text when the client left: less time is left after the first text. */
  #hadText = false
  /** The size of the largest unfinished event so far, which takes memory of the budget until the end of the stream. */
  #eventBytes = UNCOUNTED_BYTES_MAX

  constructor(held: HeldRequest, { attempt, headers, resolve }: StreamRelayInput) {
    this.#held = held
    this.#attempt = attempt
    this.#resolve = resolve
    this.#reader = new StreamReader(held, headers, this)
    held.client.writeHead(200, held.answerHeaders(headers))
    held.client.once('timeout', () => held.client.destroy())
    // The head is sent together with events that arrived with it, else alone.
    process.nextTick(writeNow, this)
    this.#noteGenerationId(this.#reader.headerGenerationId)
  }

  /** Whether only the rest of the stream shows its cost, because its provider has no look-ups. */
  get awaitsCounts(): boolean {
    return (
      !this.#isSettled &&
      !this.#held.hasLookUps &&
      this.#reader.reportedAtLeast().countsAreCost !== true
    )
  }

  /** Reads the rest of the stream for its counts after the client has left. The text is dropped. */
  continueWithoutClient(): void {
    this.#hasLeft = true
    this.#hadText = this.#reader.hasText
    this.#attempt.endWithin(this.#held.readOnMs({ hasText: this.#hadText }))
    if (!this.#paused) return
    this.#paused = false
    this.#attempt.resume()
  }

  onResponseData(chunk: Buffer): void {
    const whole = this.#reader.push(chunk) && this.#hasMemory()
    if (this.#hasLeft && !this.#hadText && this.#reader.hasText) this.continueWithoutClient()
    if (!this.#writesSoon) {
      // All pieces that arrive in one read of the socket are one write.
      this.#writesSoon = true
      process.nextTick(writeNow, this)
    }
    if (!whole) {
      this.#failure ??= 'upstream_error'
      const [reported, relayedTokens] = [this.#reader.reported(), this.#reader.relayedTokens()]
      this.#settle({ kind: 'unreadable', reported, relayedTokens })
      this.#attempt.cancel()
    }
  }

  // The client may not have taken an event when the next one comes.
  #hasMemory(): boolean {
    const { unfinishedBytes } = this.#reader
    if (unfinishedBytes <= this.#eventBytes) return true
    try {
      this.#held.takeMemory(unfinishedBytes - this.#eventBytes)
    } catch (cause) {
      if (!(cause instanceof Problem)) throw cause
      this.#failure ??= cause.code
      return false
    }
    this.#eventBytes = unfinishedBytes
    return true
  }

  onEvent(event: ReadEvent): void {
    const { data, bytes } = event
    if (data === '') {
      if (bytes.length > 0) this.#pushReady(bytes)
      return
    }
    const reading = this.#reader.observe(event)
    switch (reading.kind) {
      case 'relay':
        this.#pushReady(bytes)
        break
      case 'replaced':
        this.#pushReady(Buffer.from(dataLines(reading.data), 'latin1'))
        break
      case 'terminal':
        this.#settleTerminal()
        this.#pushUsage()
        this.#pushReady(bytes)
        break
      case 'error':
        this.#pushError(reading.error, event)
        break
      case 'terminalError':
        this.#pushError(reading.error, event)
        this.#settleTerminal()
        break
      case 'drop':
        break
      default:
        assertNever(reading)
    }
    if (!this.#hasGenerationId) this.#noteGenerationId(this.#reader.reported().generationId)
  }

  onMatched(events: Buffer): void {
    this.#pushReady(events)
  }

  /** Joins adjacent events of a chunk into one slice, to write them without a copy. */
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

  /** The charge, as a comment before the end of the stream, for a client that asked for it. */
  #pushUsage(): void {
    const usage = this.#held.usageComment()
    if (usage !== null) this.#ready.push(Buffer.from(`: ${USAGE_HEADER} ${usage}\n\n`, 'latin1'))
  }

  #pushError(error: ProviderError, event: StreamEvent): void {
    const { format, requestId } = this.#held.request
    const problem = this.#held.problemFor(error, undefined)
    this.#failure ??= problem.code
    this.#ready.push(Buffer.from(format.errorEvent({ problem, requestId, event }), 'utf8'))
  }

  onResponseEnd(): void {
    this.#reader.end()
    this.#settle(this.#endedWithoutTerminal())
    this.#end()
  }

  onResponseError(failure: AttemptFailure): void {
    this.#settle(this.#failedOutcome(failure))
    this.#end()
  }

  /** Ends a stream after a fault of the gateway: the client must not see a proper end. */
  onFault(cause: unknown): void {
    if (this.#ended) return
    this.#ended = true
    this.#failure = 'internal_error'
    this.#settle({
      kind: 'lost',
      stage: 'afterHeaders',
      reported: this.#reader.reportedAtLeast(),
    })
    this.#held.fault(cause)
    this.#held.client.destroy()
    this.#resolve({ kind: 'streamed' })
  }

  /** Writes the events that are ready, or the head alone if there are none. */
  writeNow(): void {
    this.#writesSoon = false
    if (this.#ended) return
    this.#write()
    if (this.#hasHead) return
    this.#hasHead = true
    this.#held.client.flushHeaders()
  }

  #write(): void {
    const ready = this.#ready
    if (ready.length === 0) return
    this.#ready = []
    if (this.#hasLeft) return
    const [first] = ready
    const bytes = ready.length === 1 && first !== undefined ? first : Buffer.concat(ready)
    if (!this.#send(bytes) && !this.#paused) this.#pause()
  }

  /** Node would write a chunk in four pieces: its length, a line end, the bytes, a line end. */
  #send(bytes: Buffer): boolean {
    const { client } = this.#held
    const isFramed = bytes.length > 0 && bytes.length <= FRAMED_BYTES_MAX
    if (!client.chunkedEncoding || !isFramed) return client.write(bytes)
    client.chunkedEncoding = false
    try {
      return client.write(chunkOf(bytes))
    } finally {
      client.chunkedEncoding = true
    }
  }

  #pause(): void {
    const { client, timeouts } = this.#held
    this.#paused = true
    this.#attempt.pause()
    client.setTimeout(timeouts.stallTimeoutMs)
    client.once('drain', () => {
      this.#paused = false
      client.setTimeout(0)
      this.#attempt.resume()
    })
  }

  #settleTerminal(): void {
    const reported = this.#reader.reported()
    this.#settle({ kind: this.#hasFailed() ? 'failed' : 'completed', reported })
    this.#attempt.expectEnd()
  }

  #hasFailed(): boolean {
    return this.#failure !== null
  }

  // A clean end without a terminal event is a dropped stream, unless the cost or the full counts were reported,
  // which come last.
  #endedWithoutTerminal(): Outcome {
    const reported = this.#reader.reported()
    if (this.#hasFailed()) return { kind: 'failed', reported }
    const hasCost = reported.costUsd !== null || reported.countsAreCost === true
    if (hasCost) return { kind: 'completed', reported }
    return this.#lostOutcome(reported)
  }

  #failedOutcome({ kind }: AttemptFailure): Outcome {
    const reported = this.#reader.reported()
    if (this.#hasFailed()) return { kind: 'failed', reported }
    switch (kind) {
      case 'neverOpened':
      case 'lost':
        return this.#lostOutcome(reported)
      case 'timedOut':
        if (this.#hasLeft) return this.#clientGoneOutcome(reported)
        return { kind: 'timedOut', stage: 'afterHeaders', reported }
      case 'cancelled':
        return this.#clientGoneOutcome(reported)
      default:
        return assertNever(kind)
    }
  }

  // At a shutdown both connections are cut at once; then the client counts as the side that left.
  #lostOutcome(reported: Reported): Outcome {
    if (this.#held.client.destroyed) return this.#clientGoneOutcome(reported)
    return { kind: 'lost', stage: 'afterHeaders', reported }
  }

  #clientGoneOutcome(reported: Reported): Outcome {
    if (this.#hasLeft) return leftOutcome(this.#held, this.#reader)
    const relayedTokens = this.#reader.relayedTokens()
    return { kind: 'clientGone', stage: 'afterHeaders', reported, relayedTokens }
  }

  #noteGenerationId(generationId: string | null): void {
    if (this.#hasGenerationId || generationId === null) return
    this.#hasGenerationId = true
    this.#held.foundGenerationId(generationId)
  }

  #settle(outcome: Outcome): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#held.settleStream(outcome, this.#failure)
  }

  #end(): void {
    if (this.#ended) return
    this.#write()
    this.#ended = true
    void this.#held.endAnswer(null).then(() => this.#resolve({ kind: 'streamed' }))
  }
}

/** A chunk of an HTTP/1.1 body. */
function chunkOf(bytes: Buffer): Buffer {
  const head = `${bytes.length.toString(16)}\r\n`
  const start = head.length
  const end = start + bytes.length
  const chunk = Buffer.allocUnsafe(end + 2)
  chunk.write(head, 'latin1')
  bytes.copy(chunk, start)
  chunk[end] = CR
  chunk[end + 1] = LF
  return chunk
}

// A function, because a method would have to be bound for each read.
function writeNow(relay: StreamRelay): void {
  relay.writeNow()
}
