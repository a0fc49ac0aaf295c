import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { SettleInput } from '../ledger/ledger.ts'
import type { Wire } from '../upstreams/upstream.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import type { Call } from '../vocabulary/call.ts'
import type { Micros } from '../vocabulary/money.ts'
import type { Offer } from '../vocabulary/offer.ts'
import { NOTHING_REPORTED, type Outcome, type Resolution } from '../vocabulary/outcome.ts'
import { type FailureCode, Problem, type ProblemCode } from '../vocabulary/problem.ts'
import { answerHeaders, returnedHeaders } from './answer-headers.ts'
import type { ByteReservation } from './gate/byte-budget.ts'
import type { GateSlot } from './gate/gate.ts'
import type { JourneyParts, JourneyRequest } from './journey.ts'
import { clientLeft } from './relay/client-left.ts'
import { endAnswer } from './relay/end-answer.ts'
import { resolveOutcome } from './settle/resolve.ts'

/** How the relay of one answer ended. */
export type RelayEnding =
  /** A stream: its 200 was sent, its outcome settled by `settleStream`, and the client has its end. */
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
interface Answer {
  readonly headers: OutgoingHttpHeaders
  readonly bytes: Buffer
}

interface HeldRequestInput {
  readonly request: JourneyRequest
  readonly call: Call
  readonly offer: Offer
  readonly slot: GateSlot
  readonly grant: { readonly grantedMicros: Micros }
  /** Bytes of the process's budget: for its body until that is sent, then for what is buffered of its answer. */
  readonly memory: ByteReservation
  readonly wire: Wire
}

/**
 * A request whose hold is open, until the hold is settled, which happens once. The relay tells it what
 * comes of the call.
 */
export class HeldRequest {
  readonly request: JourneyRequest
  readonly wire: Wire
  readonly #parts: JourneyParts
  readonly #call: Call
  readonly #offer: Offer
  readonly #slot: GateSlot
  readonly #grantedMicros: Micros
  readonly #memory: ByteReservation
  #firstByteAtMs: number | null = null
  #leftEarly = false

  constructor(parts: JourneyParts, input: HeldRequestInput) {
    const { request, call, offer, slot, grant, memory, wire } = input
    this.request = request
    this.wire = wire
    this.#parts = parts
    this.#call = call
    this.#offer = offer
    this.#slot = slot
    this.#grantedMicros = grant.grantedMicros
    this.#memory = memory
  }

  get client(): ServerResponse {
    return this.request.client
  }

  /** Whether the client asked for a stream; the answer may be a whole one all the same. */
  get isStream(): boolean {
    return this.#call.stream
  }

  get limits(): Pick<JourneyParts, 'timeouts' | 'answerBytesMax' | 'eventBytesMax'> {
    return this.#parts
  }

  /** The headers that the client gets with an answer, made from the provider's. */
  answerHeaders(upstreamHeaders: IncomingHttpHeaders): OutgoingHttpHeaders {
    return answerHeaders(upstreamHeaders, {
      request: this.request,
      publicNames: this.#parts.publicNames,
    })
  }

  /** Takes bytes of the process's budget for what is buffered. Throws Problem where none are left. */
  takeMemory(bytes: number): void {
    this.#memory.grow(bytes)
  }

  /** A stream's generation id is known. */
  foundGenerationId(generationId: string): void {
    this.#parts.ledger.noteGeneration({ requestId: this.request.requestId, generationId })
  }

  /** The first byte of the provider's answer has come. */
  firstByte(): void {
    this.#firstByteAtMs = this.#parts.clock.nowMs()
    this.request.record.firstByteAtMs = this.#firstByteAtMs
  }

  /**
   * Runs a step that must not fail between the hold and its forwarding, and releases the hold if it
   * does, or if the client has gone: nothing has been sent upstream.
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

  /** Notes a fault of ours that no status tells of, for the log. */
  fault(cause: unknown): void {
    this.request.record.fault = cause
  }

  /**
   * The client of a stream has left before the headers: whether the call is read on without it. If so, its
   * place in flight is free from this tick on, here and in the ledger, while its credit stays reserved.
   */
  clientLeftEarly(): boolean {
    this.#leftEarly = this.#slot.readOn()
    this.request.record.leftEarly = this.#leftEarly ? 'readOn' : 'cancelled'
    if (this.#leftEarly) this.#parts.settler.abandon(this.request.requestId)
    return this.#leftEarly
  }

  /** Settles a stream, in this tick, so that the settle is queued before the client sees the end. */
  settleStream(outcome: Outcome, code: ProblemCode | null): void {
    this.#settle(outcome, { httpStatus: 200, code })
    this.#slot.leave()
  }

  /** Settles an answer that is not a stream, then delivers it or throws its problem. */
  async conclude(ending: RelayEnding): Promise<void> {
    switch (ending.kind) {
      case 'streamed':
        return
      case 'answered': {
        const input = this.#settleInput(ending.outcome, ANSWERED_OK)
        const settled = await this.#parts.settler.settleInTime(input)
        this.request.record.settledAtMs = this.#parts.clock.nowMs()
        this.#slot.leave()
        await this.#deliver(ending.answer, settled?.chargedMicros ?? chargeOf(input.resolution))
        return
      }
      case 'failed': {
        const problem = this.#leftEarly ? clientLeft() : ending.problem
        await this.#parts.settler.settleInTime(this.#settleInput(ending.outcome, problem))
        this.request.record.settledAtMs = this.#parts.clock.nowMs()
        this.#returnHeaders(ending.upstreamHeaders)
        throw problem
      }
      default:
        assertNever(ending)
    }
  }

  async #deliver({ headers, bytes }: Answer, chargedMicros: number): Promise<void> {
    const { client } = this.request
    if (client.destroyed) return
    client.writeHead(200, {
      ...headers,
      'content-length': bytes.length,
      [this.#parts.publicNames.costHeader]: chargedMicros,
    })
    // Its bytes stay in the budget until the client has taken them.
    await endAnswer(client, { bytes, stallTimeoutMs: this.#parts.timeouts.stallTimeoutMs })
  }

  #returnHeaders(upstreamHeaders: IncomingHttpHeaders): void {
    const { client, format } = this.request
    const returned = returnedHeaders(upstreamHeaders, {
      format,
      publicNames: this.#parts.publicNames,
    })
    for (const [name, value] of Object.entries(returned)) {
      if (value !== undefined) client.setHeader(name, value)
    }
  }

  #settle(outcome: Outcome, answer: ClientAnswer): void {
    const input = this.#settleInput(outcome, answer)
    // Never rejects: it is tried until the store answers.
    void this.#parts.settler.settle(input)
  }

  // A fault in the rule for money leaves no hold open: its credit stays reserved until it is known.
  #resolutionOf(outcome: Outcome): Resolution {
    try {
      return resolveOutcome({
        outcome,
        call: this.#call,
        offer: this.#offer,
        grantedMicros: this.#grantedMicros,
      })
    } catch (cause) {
      this.fault(cause)
      const generationId = 'reported' in outcome ? outcome.reported.generationId : null
      return { kind: 'unresolved', generationId }
    }
  }

  #settleInput(outcome: Outcome, { httpStatus, code }: ClientAnswer): SettleInput {
    const resolution = this.#resolutionOf(outcome)
    const { record } = this.request
    record.state = resolution.kind
    record.chargeMicros = chargeOf(resolution)
    const reported = 'reported' in outcome ? outcome.reported : null
    record.outcomeAtMs = this.#parts.clock.nowMs()
    record.usage = reported?.usage ?? null
    record.generationId = reported?.generationId ?? null
    const errorCode = this.#leftEarly ? 'client_gone' : errorCodeOf(outcome, code)
    record.errorCode = errorCode
    return {
      requestId: this.request.requestId,
      resolution,
      facts: {
        httpStatus,
        errorCode,
        usage: record.usage,
        generationId: record.generationId,
        firstByteAtMs: this.#firstByteAtMs,
      },
    }
  }
}

/** The client left before a byte went upstream. */
const LEFT_UNSENT: Outcome = {
  kind: 'clientGone',
  stage: 'beforeHeaders',
  reported: NOTHING_REPORTED,
  relayedTokens: 0,
}

/** The answer that the client got: its status, and its error where there is one. */
interface ClientAnswer {
  readonly httpStatus: number
  readonly code: ProblemCode | null
}

const ANSWERED_OK: ClientAnswer = { httpStatus: 200, code: null }

/** Why a request is marked failed, also one whose answer began with 200; null where it is not. */
function errorCodeOf(outcome: Outcome, code: ProblemCode | null): FailureCode | null {
  switch (outcome.kind) {
    case 'completed':
      return null
    case 'clientGone':
    case 'leftEarly':
      return 'client_gone'
    case 'timedOut':
      return code ?? 'upstream_timeout'
    case 'lost':
      return code ?? 'upstream_disconnected'
    case 'failed':
    case 'unreadable':
    case 'neverOpened':
      return code ?? 'upstream_error'
    default:
      return assertNever(outcome)
  }
}

function chargeOf(resolution: Resolution): number {
  switch (resolution.kind) {
    case 'final':
    case 'provisional':
      return resolution.chargeMicros
    case 'released':
    case 'unresolved':
      return 0
    default:
      return assertNever(resolution)
  }
}
