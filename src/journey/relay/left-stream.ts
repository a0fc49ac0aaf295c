import type { Attempt, AttemptFailure } from '../../upstreams/attempt.ts'
import { NOTHING_REPORTED, type Outcome } from '../../vocabulary/outcome.ts'
import type { Problem } from '../../vocabulary/problem.ts'
import { clientLeft } from '../client-answer.ts'
import type { HeldRequest, RelayEnding } from '../held-request.ts'
import {
  type EventSink,
  type ReadEvent,
  StreamReader,
  type StreamRelayInput,
} from './stream-reader.ts'

/**
 * Reads an answer whose client left before its headers, until the answer reports a generation id, a cost or
 * counts, by which it is billed or looked up. If the provider has no look-ups, it reads until the counts of the whole
 * answer. Then it cancels the call.
 */
export class LeftStream implements EventSink {
  readonly #held: HeldRequest
  readonly #attempt: Attempt
  readonly #resolve: (ending: RelayEnding) => void
  readonly #reader: StreamReader
  #hasFailed = false
  #hasText = false
  #ended = false

  constructor(held: HeldRequest, { attempt, headers, resolve }: StreamRelayInput) {
    this.#held = held
    this.#attempt = attempt
    this.#resolve = resolve
    this.#reader = new StreamReader(held, headers, this)
    this.#endIfKnown()
  }

  onResponseData(chunk: Buffer): void {
    if (this.#ended) return
    try {
      // Without a client there is no back-pressure to bound these bytes.
      this.#held.takeMemory(chunk.length)
    } catch {
      this.#end(this.#givenUp())
      return
    }
    const whole = this.#reader.push(chunk)
    if (whole) this.#endIfKnown()
    else this.#end(this.#givenUp())
    this.#noteText()
  }

  onEvent(event: ReadEvent): void {
    if (this.#ended || event.data === '') return
    const { kind } = this.#reader.observe(event)
    if (kind === 'error' || kind === 'terminalError') this.#hasFailed = true
    if (kind !== 'terminal' && kind !== 'terminalError') return
    this.#end({ kind: this.#hasFailed ? 'failed' : 'completed', reported: this.#reader.reported() })
  }

  onMatched(): void {}

  onResponseEnd(): void {
    if (this.#ended) return
    this.#reader.end()
    this.#endIfKnown()
    this.#end(this.#brokenOff())
  }

  onResponseError({ kind, cutOff }: AttemptFailure): void {
    const isCutByGateway = kind !== 'lost' || cutOff
    this.#end(isCutByGateway ? this.#givenUp() : this.#brokenOff())
  }

  /** A fault of the gateway during the reading. */
  onFault(cause: unknown): void {
    this.#held.fault(cause)
    this.#end({
      kind: 'leftEarly',
      reported: { ...NOTHING_REPORTED, generationId: this.#reader.headerGenerationId },
    })
  }

  // A call that can't be looked up is estimated from the text that came after the counts so far.
  #givenUp(): Outcome {
    const reported = this.#reader.reported()
    if (this.#held.hasLookUps) return { kind: 'leftEarly', reported }
    return leftOutcome(this.#held, this.#reader)
  }

  /** From its first text on, an answer is near its end: less time is left. */
  #noteText(): void {
    if (this.#hasText || this.#ended || !this.#reader.hasText) return
    this.#hasText = true
    if (!this.#held.hasLookUps) this.#attempt.endWithin(this.#held.readOnMs({ hasText: true }))
  }

  #brokenOff(): Outcome {
    const reported = this.#reader.reported()
    if (this.#hasFailed) return { kind: 'failed', reported }
    return { kind: 'lost', stage: 'afterHeaders', reported }
  }

  #endIfKnown(): void {
    if (this.#hasFailed) return
    const reported = this.#reader.reported()
    const { generationId, costUsd, usage } = reported
    // Intermediate counts are not the cost, which can't be looked up later.
    if (!this.#held.hasLookUps && reported.countsAreCost !== true) return
    if (generationId === null && costUsd === null && usage === null) return
    this.#end({ kind: 'leftEarly', reported })
  }

  #end(outcome: Outcome): void {
    if (this.#ended) return
    this.#ended = true
    this.#resolve(endingOfLeft(outcome))
    this.#attempt.cancel()
  }
}

/** A stream that was read on, and whose counts did not come in time. */
export function leftOutcome(held: HeldRequest, reader: StreamReader): Outcome {
  return {
    kind: 'clientGone',
    stage: 'afterHeaders',
    reported: reader.reported(),
    relayedTokens: reader.relayedTokens(),
    ...(reader.hasText ? {} : { silentMs: held.sinceHeadersMs() }),
  }
}

/** The ending of a call whose client has left. */
export function endingOfLeft(
  outcome: Outcome,
): Extract<RelayEnding, { readonly problem: Problem }> {
  return { kind: 'failed', outcome, problem: clientLeft(), upstreamHeaders: {} }
}
