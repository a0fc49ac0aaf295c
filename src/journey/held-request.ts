import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import {
  type ProviderError,
  problemForProviderError,
  refusesOwnCap,
} from '../formats/provider-error.ts'
import { NOTHING_SENT, type SentFacts } from '../formats/sent-facts.ts'
import type { Settled } from '../ledger/ledger.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import type { UpstreamTimeouts } from '../upstreams/upstream-settings.ts'
import type { StreamObserver, Wire } from '../upstreams/wire.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import type { Call } from '../vocabulary/call.ts'
import { TIMER_MS_MAX } from '../vocabulary/clock.ts'
import type { QueuePlace } from '../vocabulary/fair-queue.ts'
import { formatDecimal, type Micros, micros } from '../vocabulary/money.ts'
import type { Offer } from '../vocabulary/offer.ts'
import {
  NOTHING_REPORTED,
  type Outcome,
  promptTokensOf,
  type Reported,
  type Resolution,
} from '../vocabulary/outcome.ts'
import { Problem, type ProblemCode } from '../vocabulary/problem.ts'
import { rateLimitHeaders } from '../vocabulary/request-window.ts'
import { answerHeaders, clientClosed, clientLeft, returnedHeaders } from './client-answer.ts'
import type { ByteReservation } from './gate/byte-budget.ts'
import type { GateSlot } from './gate/gate.ts'
import type { JourneyParts, JourneyRequest } from './journey-parts.ts'
import { chargeOf, failureCodeOf, resolveOutcome } from './settle/resolve.ts'
import type { HeldSettle } from './settle/settler.ts'
import { withPossibleCounts } from './settle/usage-charge.ts'

/** The header by which a client asks, with `include`, for the charge of a stream, in a comment before its end. */
export const USAGE_HEADER = 'x-service-usage'

/** How the relay of one answer ended. */
export type RelayEnding =
  /** A stream: its 200 was sent, its outcome was settled by `settleStream`, and the client has its end. */
  | { readonly kind: 'streamed' }
  /** Nothing has been sent to the client: settle the outcome, then deliver the answer. */
  | {
      readonly kind: 'answered'
      readonly outcome: Outcome
      readonly headers: OutgoingHttpHeaders
      readonly bytes: Buffer
    }
  /** Nothing has been sent to the client: settle the outcome, then answer with the problem. */
  | {
      readonly kind: 'failed'
      readonly outcome: Outcome
      readonly problem: Problem
      /** The provider's headers, of which the client gets an allow-list. */
      readonly upstreamHeaders: IncomingHttpHeaders
    }

interface HeldRequestInput {
  readonly request: JourneyRequest
  readonly call: Call
  readonly offer: Offer
  readonly slot: GateSlot
  readonly grant: { readonly grantedMicros: Micros }
  /** Bytes of the process's budget: for the request's body until it is sent, then for its buffered answer. */
  readonly memory: ByteReservation
  readonly upstream: Upstream
  readonly wire: Wire
  /** Its place among the upstream's calls; null: the upstream has no limit. */
  readonly place: QueuePlace | null
}

/** A request with an open hold, which is settled exactly once. The relay reports the call's progress to it. */
export class HeldRequest {
  readonly request: JourneyRequest
  readonly wire: Wire
  /** Facts about the forwarded request, which explain a refusal by the provider. */
  sent: SentFacts = NOTHING_SENT
  readonly #parts: JourneyParts
  readonly #held: HeldRequestInput
  /** When the headers arrived, on the steady clock of the process, which no change of the system's clock moves. */
  #headersSteadyMs: number | null = null
  #leftEarly = false

  constructor(parts: JourneyParts, held: HeldRequestInput) {
    this.request = held.request
    this.wire = held.wire
    this.#parts = parts
    this.#held = held
  }

  get client(): ServerResponse {
    return this.request.client
  }

  /** Whether the client asked for a stream; the provider may still answer with a whole body. */
  get isStream(): boolean {
    return this.#held.call.stream
  }

  /** Whether the provider can be asked for the cost of a request that has ended. */
  get hasLookUps(): boolean {
    return this.#held.upstream.dialect.fetchGeneration !== null
  }

  /** A fresh observer for this request's stream. */
  observeStream(): StreamObserver {
    return this.wire.observeStream(this.#held.call)
  }

  get limits(): Pick<JourneyParts, 'answerBytesMax' | 'eventBytesMax'> {
    return this.#parts
  }

  get timeouts(): UpstreamTimeouts {
    return this.#held.upstream.settings.timeouts
  }

  /** The headers of a successful answer for the client, made from the provider's. */
  answerHeaders(upstreamHeaders: IncomingHttpHeaders): OutgoingHttpHeaders {
    const { format, requestId } = this.request
    const { publicNames } = this.#parts
    const headers = {
      ...answerHeaders(upstreamHeaders, { format, requestId, publicNames }),
      ...rateLimitHeaders(this.request.record.rateLimits),
    }
    // The page's calls already have a stricter one.
    if (this.client.hasHeader('cache-control')) delete headers['cache-control']
    return headers
  }

  /**
   * Ends the client's answer with its last bytes, if any are left. Resolves once the kernel has all of them or
   * the client is gone: until then the answer takes memory. A client that stalls is disconnected.
   */
  endAnswer(bytes: Buffer | null): Promise<void> {
    const { client } = this.request
    if (bytes === null) client.end()
    else client.end(bytes)
    // The kernel takes nearly all answers at once; these need no watch.
    if (client.destroyed || client.writableLength === 0) return Promise.resolve()
    client.setTimeout(this.timeouts.stallTimeoutMs, () => client.destroy())
    return clientClosed(client)
  }

  /** Takes bytes of the process's budget for a buffered answer. Throws Problem if none are left. */
  takeMemory(bytes: number): void {
    this.#held.memory.grow(bytes)
  }

  /** Records the generation id of a stream. */
  foundGenerationId(generationId: string): void {
    this.#parts.ledger.noteGeneration({ requestId: this.request.requestId, generationId })
  }

  /** Records that the first byte of the provider's answer has arrived. */
  firstByte(): void {
    this.request.record.firstByteAtMs = this.#parts.clock.nowMs()
    this.#headersSteadyMs = performance.now()
  }

  /**
   * Runs a step between the hold and the forwarding. If the step fails, or the client has left, the hold is released.
   */
  orRelease<T>(step: () => T): T {
    if (this.request.client.destroyed) {
      const problem = clientLeft()
      this.#settle(LEFT_UNSENT, problem)
      throw problem
    }
    try {
      return step()
    } catch (cause) {
      const problem = cause instanceof Problem ? cause : new Problem('internal_error', { cause })
      this.#settle({ kind: 'neverOpened' }, problem)
      throw problem
    }
  }

  /** The client's problem for an error of the provider. By position: the error, the header `retry-after`. */
  problemFor(error: ProviderError, retryAfter: string | undefined): Problem {
    const problem = problemForProviderError(error, { retryAfter, sent: this.sent })
    if (refusesOwnCap(problem, this.sent)) {
      const { upstream, modelId } = this.#held.offer
      this.#parts.ownCapRefused({ upstream, modelId, tokens: this.sent.ownCap?.tokens ?? 0 })
    }
    return problem
  }

  /** Frees the upstream's place after the call has ended, although the client may still be reading the answer. */
  callEnded(): void {
    this.#held.place?.leave()
  }

  /** Records, for the log, a fault of the gateway that no status shows. */
  fault(cause: unknown): void {
    this.request.record.fault = cause
  }

  /**
   * Records that the client of a stream has left before the headers, or before counts that can't be looked up later.
   * True if the call is read on without it, because the provider bills it anyway. Its place in flight is then free from
   * this tick on, here and in the ledger, while its credit stays held. If its key has too many such calls, it keeps its
   * place.
   */
  clientLeftEarly(): boolean {
    this.#leftEarly = this.#held.upstream.readsOn
    this.request.record.leftEarly = this.#leftEarly ? 'readOn' : 'cancelled'
    if (this.#leftEarly && this.#held.slot.readOn()) {
      this.#parts.settler.abandon(this.request.requestId)
    }
    return this.#leftEarly
  }

  /** How long a stream is read on after its client has left: longer while it has no text and can't be looked up. */
  readOnMs({ hasText }: { readonly hasText: boolean }): number {
    const { readOnTimeoutMs } = this.timeouts
    if (hasText || this.hasLookUps) return readOnTimeoutMs
    return Math.min(readOnTimeoutMs * SILENT_READ_ON_TIMES, TIMER_MS_MAX)
  }

  /** The time since the answer's headers arrived; zero before they have. */
  sinceHeadersMs(): number {
    return this.#headersSteadyMs === null ? 0 : performance.now() - this.#headersSteadyMs
  }

  /**
   * Settles a stream that is complete or has ended. The settle is queued in this tick, and both of its places are
   * free, before the client sees the end.
   */
  settleStream(outcome: Outcome, code: ProblemCode | null): void {
    this.#settle(outcome, { httpStatus: 200, code })
    this.callEnded()
    this.#held.slot.leave()
  }

  /**
   * The charge of a settled stream, as JSON for its comment; null: its client did not ask for it, or its
   * charge is not known yet.
   */
  usageComment(): string | null {
    const { headers, record, requestId } = this.request
    if (headers[USAGE_HEADER] !== 'include') return null
    if (record.state !== 'final' && record.state !== 'provisional') return null
    const charge = micros(record.chargeMicros ?? 0)
    return JSON.stringify({
      request_id: requestId,
      charge,
      charge_usd: formatDecimal({ digits: BigInt(charge), exponent: -6 }),
      state: record.state,
      input_tokens: record.usage === null ? null : promptTokensOf(record.usage),
      output_tokens: record.usage?.outputTokens ?? null,
    })
  }

  /** Settles an answer that is not a stream, then delivers it or throws its problem. */
  async conclude(ending: RelayEnding): Promise<void> {
    switch (ending.kind) {
      case 'streamed':
        return
      case 'answered': {
        const input = this.#settleInput(ending.outcome, { httpStatus: 200, code: null })
        const settled = await this.#settleInTime(input)
        this.#held.slot.leave()
        await this.#deliver(ending, settled?.chargedMicros ?? chargeOf(input.resolution))
        return
      }
      case 'failed': {
        const problem = this.#leftEarly ? clientLeft() : ending.problem
        await this.#settleInTime(this.#settleInput(ending.outcome, problem))
        this.#returnHeaders(ending.upstreamHeaders)
        throw problem
      }
      default:
        assertNever(ending)
    }
  }

  async #deliver(
    { headers, bytes }: Extract<RelayEnding, { kind: 'answered' }>,
    chargedMicros: number,
  ): Promise<void> {
    const { client } = this.request
    if (client.destroyed) return
    client.writeHead(200, {
      ...headers,
      'content-length': bytes.length,
      [this.#parts.publicNames.costHeader]: chargedMicros,
    })
    // The bytes stay in the budget until the client has taken them.
    await this.endAnswer(bytes)
  }

  #returnHeaders(upstreamHeaders: IncomingHttpHeaders): void {
    const { client, format } = this.request
    const { publicNames } = this.#parts
    const returned = returnedHeaders(upstreamHeaders, { format, publicNames })
    for (const [name, value] of Object.entries(returned)) {
      if (value !== undefined) client.setHeader(name, value)
    }
  }

  #settle(outcome: Outcome, answer: ClientAnswer): void {
    // Never rejects: it is retried until the store answers.
    void this.#parts.settler.settle(this.#settleInput(outcome, answer))
  }

  /** Settles an answer that is not a stream. Null: it takes too long, and the hold is still open. */
  async #settleInTime(input: HeldSettle): Promise<Settled | null> {
    const settled = await this.#parts.settler.settleInTime(input)
    const { record } = this.request
    if (settled === null) record.state = 'open'
    else record.settledAtMs = this.#parts.clock.nowMs()
    return settled
  }

  // Even a fault in the money rule ends the hold: unresolved, with its credit held until reconciliation.
  #resolutionOf(outcome: Outcome): Resolution {
    try {
      const { call, offer, grant } = this.#held
      const { grantedMicros } = grant
      const hasLookUps = this.hasLookUps
      const tokenFactor = this.#parts.tokenFactors.factorOf(offer)
      const input = { outcome, call, offer, tokenFactor, grantedMicros, hasLookUps }
      const resolution = resolveOutcome(input)
      // The cost of an answer that was lost on the way is looked up, even if a cost was reported before.
      if (outcome.kind !== 'completed') return resolution
      return this.#believed(resolution, outcome.reported)
    } catch (cause) {
      this.fault(cause)
      const generationId = 'reported' in outcome ? outcome.reported.generationId : null
      return { kind: 'unresolved', generationId }
    }
  }

  #believed(resolution: Resolution, reported: Reported): Resolution {
    if (resolution.kind !== 'provisional' || resolution.costUsd === null) return resolution
    const { call, offer } = this.#held
    const stands = this.#parts.costStands({
      requestId: this.request.requestId,
      upstream: offer.upstream,
      modelId: offer.modelId,
      endpoint: this.request.format.endpoint,
      stream: call.stream,
      chargeMicros: resolution.chargeMicros,
      ownProviderKey: reported.ownProviderKey === true,
    })
    return stands ? { ...resolution, stands } : resolution
  }

  #settleInput(attempted: Outcome, { httpStatus, code }: ClientAnswer): HeldSettle {
    const outcome = withPossibleCounts(attempted, this.#held)
    const resolution = this.#resolutionOf(outcome)
    const { record } = this.request
    record.state = resolution.kind
    record.chargeMicros = chargeOf(resolution)
    const reported = 'reported' in outcome ? outcome.reported : null
    record.outcomeAtMs = this.#parts.clock.nowMs()
    record.usage = reported?.usage ?? null
    if (outcome.kind === 'completed' && record.usage !== null) {
      const { call, offer } = this.#held
      this.#parts.tokenFactors.learn(call, { offer, usage: record.usage })
    }
    record.generationId = reported?.generationId ?? null
    const isUncounted = reported?.countsAreCost !== true
    record.isUncounted = outcome.kind === 'completed' && isUncounted && !this.hasLookUps
    const errorCode = this.#leftEarly ? 'client_gone' : failureCodeOf(outcome, code)
    record.errorCode = errorCode
    return {
      requestId: this.request.requestId,
      upstream: this.#held.offer.upstream,
      feeBasisPoints: this.#held.offer.feeBasisPoints,
      resolution,
      facts: {
        httpStatus,
        errorCode,
        usage: record.usage,
        generationId: record.generationId,
        firstByteAtMs: record.firstByteAtMs,
      },
    }
  }
}

// A model that reasons may send no text for a minute.
const SILENT_READ_ON_TIMES = 6

/** The client left before a byte went upstream. */
const LEFT_UNSENT: Outcome = {
  kind: 'clientGone',
  stage: 'notWritten',
  reported: NOTHING_REPORTED,
  relayedTokens: 0,
}

/** The answer that the client got: its status, and its error if there is one. */
interface ClientAnswer {
  readonly httpStatus: number
  readonly code: ProblemCode | null
}
