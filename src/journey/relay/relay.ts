import type { IncomingHttpHeaders } from 'node:http'
import type { Attempt, AttemptFailure, AttemptObserver } from '../../upstreams/attempt.ts'
import { NOTHING_REPORTED, type Outcome } from '../../vocabulary/outcome.ts'
import { Problem } from '../../vocabulary/problem.ts'
import type { HeldRequest, RelayEnding } from '../held-request.ts'
import type { JourneyParts } from '../journey-parts.ts'
import { endingOfLeft, LeftStream } from './left-stream.ts'
import { StreamRelay } from './stream-relay.ts'
import { ANSWER_STATUSES, WholeAnswer } from './whole-answer.ts'

/**
 * Forwards one call and resolves with its ending. The events of a stream are relayed as they arrive; any other
 * answer is read whole. Never rejects: every failure is an ending.
 */
export function relayAnswer(held: HeldRequest, input: RelayInput): Promise<RelayEnding> {
  return new Promise((resolve) => new Relay(held, { ...input, resolve }).start())
}

interface RelayInput extends Pick<JourneyParts, 'takeVerdicts'> {
  readonly forward: (observer: AttemptObserver) => Attempt
}

/**
 * Decides at the answer's headers whether it is relayed as a stream or read whole. A fault of the gateway at any
 * point ends the attempt like a broken connection, so that the hold is still settled.
 */
class Relay implements AttemptObserver {
  readonly #held: HeldRequest
  readonly #input: RelayInput
  readonly #resolve: (ending: RelayEnding) => void
  #reader: StreamRelay | LeftStream | WholeAnswer | null = null
  #attempt: Attempt | null = null
  #faulty = false
  /** Whether the ending is known, so that a client that leaves changes nothing. */
  #hasEnded = false
  /** Whether the client left, and the call is read on. */
  #readsOn = false
  #httpStatus = 0

  constructor(
    held: HeldRequest,
    input: RelayInput & { readonly resolve: (ending: RelayEnding) => void },
  ) {
    this.#held = held
    this.#input = input
    const end = (ending: RelayEnding): void => {
      this.#hasEnded = true
      held.callEnded()
      input.resolve(ending)
    }
    this.#resolve = end
  }

  start(): void {
    const { isStream, client } = this.#held
    // A whole answer is read to its end even if its client leaves, so that its charge is known.
    if (isStream) client.once('close', this.#onClientClosed)
    try {
      this.#attempt = this.#input.forward(this)
    } catch (cause) {
      const problem = new Problem('internal_error', { cause })
      const outcome = { kind: 'neverOpened' } as const
      this.#resolve({ kind: 'failed', outcome, problem, upstreamHeaders: {} })
    }
  }

  readonly #onClientClosed = (): void => {
    if (this.#hasEnded || this.#reader instanceof WholeAnswer) return
    const reader = this.#reader
    // A request that was not written in full can't run.
    const mayRun = reader === null && this.#attempt?.isWritten === true
    const isUncounted = reader instanceof StreamRelay && reader.awaitsCounts
    this.#readsOn = (mayRun || isUncounted) && this.#held.clientLeftEarly()
    if (!this.#readsOn) this.#attempt?.cancel()
    else if (reader instanceof StreamRelay) reader.continueWithoutClient()
  }

  onResponseStart(httpStatus: number, headers: IncomingHttpHeaders): void {
    try {
      this.#held.firstByte()
      this.#httpStatus = httpStatus
      if (this.#readsOn) this.#attempt?.endWithin(this.#held.readOnMs({ hasText: false }))
      this.#reader = this.#readerOf(httpStatus, headers)
    } catch (cause) {
      this.#onFault(cause)
    }
  }

  onResponseData(chunk: Buffer): void {
    this.#input.takeVerdicts()
    try {
      this.#reader?.onResponseData(chunk)
    } catch (cause) {
      this.#onFault(cause)
    }
  }

  onResponseEnd(): void {
    this.#held.callEnded()
    try {
      this.#reader?.onResponseEnd()
    } catch (cause) {
      this.#onFault(cause)
    }
  }

  onResponseError(failure: AttemptFailure): void {
    this.#held.callEnded()
    if (this.#faulty) return
    try {
      if (this.#isUnanswered(failure)) {
        this.#resolve(endingOfLeft(this.#unansweredOutcome(failure)))
        return
      }
      const reader = this.#reader ?? this.#wholeAnswer(0, {})
      reader.onResponseError(failure)
    } catch (cause) {
      this.#onFault(cause)
    }
  }

  /** Whether a stream was given up by the gateway, before the provider reported anything. */
  #isUnanswered({ kind, cutOff }: AttemptFailure): boolean {
    const isCutOff = kind === 'lost' && cutOff
    if (this.#reader === null) return this.#held.isStream && isCutOff
    const isWhole = this.#readsOn && this.#reader instanceof WholeAnswer
    // An error status is an error, even if its body is lost.
    return isWhole && this.#httpStatus < 400 && (isCutOff || kind === 'timedOut')
  }

  // A call that can't be looked up is estimated, by its prompt alone if the provider had not begun to answer.
  #unansweredOutcome({ stage }: AttemptFailure): Outcome {
    const reported = NOTHING_REPORTED
    if (!this.#readsOn || this.#held.hasLookUps) return { kind: 'leftEarly', reported }
    const silentMs = this.#held.sinceHeadersMs()
    return { kind: 'clientGone', stage, reported, relayedTokens: 0, silentMs }
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
    if (!this.#held.isStream || attempt === null || !ANSWER_STATUSES.has(httpStatus)) {
      return this.#wholeAnswer(httpStatus, headers)
    }
    if (this.#readsOn) {
      const isKnown = this.#held.wire.generationIdOf(headers) !== null
      if (isKnown || isEventStream(headers)) {
        return new LeftStream(this.#held, { attempt, headers, resolve })
      }
    } else if (isEventStream(headers)) {
      return new StreamRelay(this.#held, { attempt, headers, resolve })
    }
    return this.#wholeAnswer(httpStatus, headers)
  }

  #wholeAnswer(httpStatus: number, headers: IncomingHttpHeaders): WholeAnswer {
    const [attempt, resolve] = [this.#attempt, this.#resolve]
    return new WholeAnswer(this.#held, { attempt, httpStatus, headers, resolve })
  }
}

function isEventStream(headers: IncomingHttpHeaders): boolean {
  const encoding = headers['content-encoding']
  return (
    /^text\/event-stream\b/i.test(headers['content-type'] ?? '') &&
    (encoding === undefined || encoding === 'identity')
  )
}
