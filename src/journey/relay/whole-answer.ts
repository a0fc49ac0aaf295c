import type { IncomingHttpHeaders } from 'node:http'
import type { ProviderError } from '../../formats/provider-error.ts'
import { parseListedError, parseModelAnswer } from '../../json/body.ts'
import type { Attempt, AttemptFailure } from '../../upstreams/attempt.ts'
import { assertNever } from '../../vocabulary/assert-never.ts'
import { GrowingBytes } from '../../vocabulary/growing-bytes.ts'
import {
  type AttemptStage,
  NOTHING_REPORTED,
  type Outcome,
  type Reported,
} from '../../vocabulary/outcome.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { clientLeft } from '../client-answer.ts'
import type { HeldRequest, RelayEnding } from '../held-request.ts'

/** Statuses of a complete answer, which clients get with 200. */
export const ANSWER_STATUSES: ReadonlySet<number> = new Set([200, 201, 203])

/** Reads one answer to its end, within bounds, and finds its ending. */
export class WholeAnswer {
  readonly #held: HeldRequest
  readonly #attempt: Attempt | null
  readonly #httpStatus: number
  readonly #headers: IncomingHttpHeaders
  readonly #resolve: (ending: RelayEnding) => void
  readonly #bytes = new GrowingBytes()
  /** Why reading stopped and the attempt was cancelled; null: it continues. */
  #refusal: Problem | null = null

  constructor(
    held: HeldRequest,
    {
      attempt,
      httpStatus,
      headers,
      resolve,
    }: {
      readonly attempt: Attempt | null
      readonly httpStatus: number
      readonly headers: IncomingHttpHeaders
      readonly resolve: (ending: RelayEnding) => void
    },
  ) {
    this.#held = held
    this.#attempt = attempt
    this.#httpStatus = httpStatus
    this.#headers = headers
    this.#resolve = resolve
  }

  onResponseData(chunk: Buffer): void {
    if (this.#refusal !== null) return
    if (this.#bytes.length + chunk.length > this.#held.limits.answerBytesMax) {
      this.#refuse(new Problem('upstream_error', { cause: 'the answer is over its limit' }))
      return
    }
    try {
      this.#held.takeMemory(chunk.length)
    } catch (cause) {
      this.#refuse(cause instanceof Problem ? cause : new Problem('internal_error', { cause }))
      return
    }
    this.#bytes.add(chunk)
  }

  onResponseEnd(): void {
    this.#endingOf(this.#bytes.take())
  }

  onResponseError(failure: AttemptFailure): void {
    const isDeadline = failure.kind === 'timedOut'
    if (this.#httpStatus >= 400 && !isDeadline) {
      // The status says that the call failed, even if the body is lost.
      this.#failAs(this.#held.wire.readError(null, this.#httpStatus), NOTHING_REPORTED)
      return
    }
    const { outcome, problem } = this.#endingOfFailure(failure)
    this.#fail(outcome, problem)
  }

  /** Ends the reading after a fault of the gateway. */
  onFault(cause: unknown): void {
    const reported = this.#withGenerationId(NOTHING_REPORTED)
    this.#fail(
      { kind: 'lost', stage: 'afterHeaders', reported },
      new Problem('internal_error', { cause }),
    )
  }

  #endingOfFailure({ kind, stage, isLate, cause }: AttemptFailure): {
    outcome: Outcome
    problem: Problem
  } {
    const reported = this.#withGenerationId(NOTHING_REPORTED)
    const problem = this.#refusal ?? new Problem('upstream_error', { cause })
    switch (kind) {
      case 'neverOpened':
        return {
          outcome: { kind: 'neverOpened' },
          problem: isLate ? this.#timeoutProblem(cause) : problem,
        }
      case 'lost':
        return { outcome: { kind: 'lost', stage, reported }, problem }
      case 'timedOut':
        return {
          outcome: { kind: 'timedOut', stage, reported },
          problem: this.#timeoutProblem(cause),
        }
      case 'cancelled':
        // The gateway cancelled the call because of its answer, or because the client of a stream left before the
        // headers.
        return this.#refusal === null
          ? {
              outcome: {
                kind: 'clientGone',
                stage: this.#stageAt(stage),
                reported,
                relayedTokens: 0,
              },
              problem: clientLeft(),
            }
          : { outcome: { kind: 'unreadable', reported }, problem }
      default:
        return assertNever(kind)
    }
  }

  /** Advises to stream if the call did not, and streams of its format have no deadline. */
  #timeoutProblem(cause: unknown): Problem {
    const { isStream, request } = this.#held
    const { output, deadline } = request.format.rules
    const mayStream = output.cap !== 'none' && !deadline.boundsStreams
    if (isStream || !mayStream) return new Problem('upstream_timeout', { cause })
    const message =
      'The provider did not answer before the deadline. Try again, and stream long answers.'
    return new Problem('upstream_timeout', { cause, message })
  }

  /** The stage, unless the request was not written in full, so that the provider can't have run it. */
  #stageAt(stage: AttemptStage): AttemptStage | 'notWritten' {
    return this.#attempt?.isWritten === true ? stage : 'notWritten'
  }

  #refuse(problem: Problem): void {
    this.#refusal = problem
    this.#bytes.clear()
    this.#attempt?.cancel()
  }

  #fail(outcome: Outcome, problem: Problem): void {
    this.#resolve({ kind: 'failed', outcome, problem, upstreamHeaders: this.#headers })
  }

  #endingOf(bytes: Buffer): void {
    const { wire } = this.#held
    const body = this.#isEncoded() ? null : parseModelAnswer(bytes)
    const isAccepted = this.#httpStatus >= 200 && this.#httpStatus < 300
    if (!isAccepted) {
      const reported = body === null ? NOTHING_REPORTED : wire.readAnswer(body).reported
      const root = body?.root ?? parseListedError(bytes)
      this.#failAs(wire.readError(root, this.#httpStatus), reported)
      return
    }
    if (body === null) {
      this.#lose(NOTHING_REPORTED, 'the answer is not a JSON object')
      return
    }
    const reading = wire.readAnswer(body)
    if (reading.kind === 'error') {
      this.#failAs(reading.error, reading.reported)
      return
    }
    if (!ANSWER_STATUSES.has(this.#httpStatus)) {
      // A status such as 202 (the call runs later) or 206 (a part): the call may be billed, and there is no complete
      // answer.
      this.#lose(reading.reported, `the answer has the status ${this.#httpStatus}`)
      return
    }
    this.#resolve({
      kind: 'answered',
      outcome: { kind: 'completed', reported: this.#withGenerationId(reading.reported) },
      headers: this.#held.answerHeaders(this.#headers),
      bytes,
    })
  }

  /** Ends a call that the provider has accepted, but whose answer can't be used. */
  #lose(seen: Reported, cause: string): void {
    const reported = this.#withGenerationId(seen)
    this.#fail(
      this.#isEncoded()
        ? { kind: 'unreadable', reported }
        : { kind: 'lost', stage: 'afterHeaders', reported },
      new Problem('upstream_error', { cause }),
    )
  }

  // The request asks for `identity`: an encoded answer can't be read here.
  #isEncoded(): boolean {
    const encoding = this.#headers['content-encoding']
    return encoding !== undefined && encoding !== 'identity'
  }

  #failAs(error: ProviderError, reported: Reported): void {
    const problem = this.#held.problemFor(error, this.#headers['retry-after'])
    this.#fail({ kind: 'failed', reported: this.#withGenerationId(reported) }, problem)
  }

  #withGenerationId(reported: Reported): Reported {
    if (reported.generationId !== null) return reported
    return { ...reported, generationId: this.#held.wire.generationIdOf(this.#headers) }
  }
}
