import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { WireFormat } from '../../formats/format.ts'
import type { Attempt, AttemptFailure, AttemptObserver } from '../../upstreams/attempt.ts'
import type { Wire } from '../../upstreams/upstream.ts'
import type { Outcome } from '../../vocabulary/outcome.ts'
import { Problem, type ProblemCode } from '../../vocabulary/problem.ts'
import { NOTHING_REPORTED } from '../../vocabulary/usage.ts'
import { endingOfLeft, LeftStream } from './left-stream.ts'
import { StreamRelay } from './stream-relay.ts'
import { WholeAnswer } from './whole-answer.ts'

export interface RelayInput {
  readonly format: WireFormat
  readonly wire: Wire
  /** Whether the client asked for a stream; the answer may be a whole one all the same. */
  readonly stream: boolean
  readonly requestId: string
  readonly client: ServerResponse
  /** Sends the request upstream, once. */
  readonly forward: (observer: AttemptObserver) => Attempt
  /** The headers that a client gets with an answer, made from the provider's. */
  readonly answerHeaders: (upstreamHeaders: IncomingHttpHeaders) => OutgoingHttpHeaders
  /** A client that takes no byte of what is there for it for this long is gone. */
  readonly clientStallTimeoutMs: number
  readonly answerBytesMax: number
  readonly eventBytesMax: number
  /** Takes bytes of the process's budget for buffered answers; throws Problem where none are left. */
  readonly reserveBytes: (count: number) => void
  /**
   * Called once for a stream, in the tick of its last event and before that event is written. The code
   * is what went wrong, as far as more is known of it than the outcome tells; else null. Must not throw.
   */
  readonly onStreamOutcome: (outcome: Outcome, code: ProblemCode | null) => void
  /** Called once, as soon as a stream's generation id is known. */
  readonly onGenerationId: (generationId: string) => void
  /**
   * Called when the client of a stream has left before the headers, the request written in full: whether
   * the call is read on, to learn what it is billed.
   */
  readonly onClientLeftEarly: () => boolean
  /** How long after the headers such a call is read on. */
  readonly readOnTimeoutMs: number
  /** Called when the first byte of the provider's answer has come. */
  readonly onFirstByte: () => void
  /** Told of a fault of ours that broke a stream off, which has been told `onStreamOutcome`. */
  readonly onFault: (cause: unknown) => void
}

/** How the relay of one answer ended. */
export type RelayEnding =
  /** A stream: its 200 was sent, its outcome told to `onStreamOutcome`, and the client has its end. */
  | { readonly kind: 'streamed' }
  /** Nothing has been sent to the client: settle the outcome, then deliver the answer. */
  | { readonly kind: 'answered'; readonly outcome: Outcome; readonly answer: Answer }
  /** Nothing has been sent to the client: settle the outcome, then answer with the problem. */
  | {
      readonly kind: 'failed'
      readonly outcome: Outcome
      readonly problem: Problem
      /** The provider's, of which an allow-list goes back; empty where there were none. */
      readonly upstreamHeaders: IncomingHttpHeaders
    }

/** A provider's whole success, to be delivered unchanged. */
export interface Answer {
  readonly headers: OutgoingHttpHeaders
  readonly bytes: Buffer
}

/**
 * Forwards one call and brings back what became of it. A stream's events are relayed as they arrive;
 * anything else is read whole. Never rejects: every way to fail is an ending.
 */
export function relayAnswer(input: RelayInput): Promise<RelayEnding> {
  return new Promise((resolve) => {
    const relay = new Relay(input, resolve)
    relay.start()
  })
}

/**
 * Decides, at the answer's headers, whether it is relayed as a stream or read whole. A fault of ours
 * anywhere in between ends the attempt like a broken connection: what is held is settled all the same.
 */
class Relay implements AttemptObserver {
  readonly #input: RelayInput
  readonly #resolve: (ending: RelayEnding) => void
  #reader: StreamRelay | LeftStream | WholeAnswer | null = null
  #attempt: Attempt | null = null
  #faulty = false
  /** Whether the ending was told: what the client does from then on changes nothing. */
  #hasEnded = false
  /** Whether the client left before the headers, and the call is read on. */
  #readsOn = false
  #httpStatus = 0

  constructor(input: RelayInput, resolve: (ending: RelayEnding) => void) {
    this.#input = input
    this.#resolve = (ending) => {
      this.#hasEnded = true
      resolve(ending)
    }
  }

  start(): void {
    const { client, stream, forward } = this.#input
    // A whole answer is read to its end for whoever asked, so that its charge is known.
    if (stream) client.once('close', this.#onClientClosed)
    try {
      this.#attempt = forward(this)
    } catch (cause) {
      const problem = new Problem('internal_error', { cause })
      const outcome = { kind: 'neverOpened' } as const
      this.#resolve({ kind: 'failed', outcome, problem, upstreamHeaders: {} })
    }
  }

  readonly #onClientClosed = (): void => {
    if (this.#hasEnded || this.#reader instanceof WholeAnswer) return
    // What was not written in full can't be run.
    const mayRun = this.#reader === null && this.#attempt?.isWritten === true
    this.#readsOn = mayRun && this.#input.onClientLeftEarly()
    if (!this.#readsOn) this.#attempt?.cancel()
  }

  onResponseStart(httpStatus: number, headers: IncomingHttpHeaders): void {
    try {
      this.#input.onFirstByte()
      this.#httpStatus = httpStatus
      if (this.#readsOn) this.#attempt?.endWithin(this.#input.readOnTimeoutMs)
      this.#reader = this.#readerOf(httpStatus, headers)
    } catch (cause) {
      this.#onFault(cause)
    }
  }

  onResponseData(chunk: Buffer): void {
    try {
      this.#reader?.onResponseData(chunk)
    } catch (cause) {
      this.#onFault(cause)
    }
  }

  onResponseEnd(): void {
    try {
      this.#reader?.onResponseEnd()
    } catch (cause) {
      this.#onFault(cause)
    }
  }

  onResponseError(failure: AttemptFailure): void {
    if (this.#faulty) return
    try {
      if (this.#isUnheard(failure)) {
        this.#resolve(endingOfLeft({ kind: 'leftEarly', reported: NOTHING_REPORTED }))
        return
      }
      const reader = this.#reader ?? this.#wholeAnswer(0, {})
      reader.onResponseError(failure)
    } catch (cause) {
      this.#onFault(cause)
    }
  }

  /** Whether a stream was given up before it said anything, and not by the provider. */
  #isUnheard({ kind, cutOff }: AttemptFailure): boolean {
    const isCutOff = kind === 'lost' && cutOff
    if (this.#reader === null) return this.#input.stream && isCutOff
    const isWhole = this.#readsOn && this.#reader instanceof WholeAnswer
    // An error status is an error, whatever became of its body.
    return isWhole && this.#httpStatus < 400 && (isCutOff || kind === 'timedOut')
  }

  #onFault(cause: unknown): void {
    this.#faulty = true
    this.#attempt?.cancel()
    const reader = this.#reader ?? this.#wholeAnswer(0, {})
    reader.onFault(cause)
  }

  #readerOf(
    httpStatus: number,
    headers: IncomingHttpHeaders,
  ): StreamRelay | LeftStream | WholeAnswer {
    const [attempt, resolve] = [this.#attempt, this.#resolve]
    if (!this.#input.stream || attempt === null || httpStatus !== 200) {
      return this.#wholeAnswer(httpStatus, headers)
    }
    if (this.#readsOn) {
      const isKnown = this.#input.wire.generationIdOf(headers) !== null
      if (isKnown || isEventStream(headers)) {
        return new LeftStream(this.#input, { attempt, headers, resolve })
      }
    } else if (isEventStream(headers)) {
      return new StreamRelay(this.#input, { attempt, headers, resolve })
    }
    return this.#wholeAnswer(httpStatus, headers)
  }

  #wholeAnswer(httpStatus: number, headers: IncomingHttpHeaders): WholeAnswer {
    const [attempt, resolve] = [this.#attempt, this.#resolve]
    return new WholeAnswer(this.#input, { attempt, httpStatus, headers, resolve })
  }
}

function isEventStream(headers: IncomingHttpHeaders): boolean {
  const encoding = headers['content-encoding']
  return (
    /^text\/event-stream\b/i.test(headers['content-type'] ?? '') &&
    (encoding === undefined || encoding === 'identity')
  )
}
