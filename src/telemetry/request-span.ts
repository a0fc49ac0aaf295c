import {
  type Attributes,
  type Context,
  type HrTime,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { EndedRequest } from '../http/inference.ts'
import { promptTokensOf, type TokenUsage } from '../vocabulary/outcome.ts'

/** The provider, as spans name it. */
export interface TracedUpstream {
  /** Runs the models, as far as the gateway knows: the upstream's host. */
  readonly providerName: string
  readonly address: string
  readonly port: number
}

const MS_PER_SECOND = 1_000

/** Makes the span of a request that has ended, with its steps, from the times in the request's record. */
export class RequestSpans {
  readonly #tracer: Tracer
  readonly #upstreams: ReadonlyMap<string, TracedUpstream>

  /** By position: where spans go, and each upstream by its name. */
  constructor(tracer: Tracer, upstreams: ReadonlyMap<string, TracedUpstream>) {
    this.#tracer = tracer
    this.#upstreams = upstreams
  }

  make(ended: EndedRequest): void {
    const { startedAtMs, endedAtMs, record, httpStatus, format } = ended
    const { operation } = format.telemetry
    const caller = readTraceparent(ended.traceparent)
    const parent = caller === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, caller)
    const span = this.#tracer.startSpan(
      record.modelId === null ? operation : `${operation} ${record.modelId}`,
      { kind: SpanKind.SERVER, startTime: timeOf(startedAtMs) },
      parent,
    )
    if (span.isRecording()) {
      span.setAttributes(attributesOf(ended, this.#upstreamOf(ended)))
      // Neither a client's mistake nor a client that leaves is an error of the server.
      const brokeOff = httpStatus < 400 && record.errorCode !== null
      if (httpStatus >= 500 || (brokeOff && record.errorCode !== 'client_gone')) {
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      this.#makeSteps(ended, trace.setSpan(ROOT_CONTEXT, span))
    }
    span.end(timeOf(endedAtMs))
  }

  /** The three steps that a request spends its time on: hold, upstream, settle. */
  #makeSteps(ended: EndedRequest, parent: Context): void {
    const { holdAskedAtMs, holdOpenedAtMs, outcomeAtMs, settledAtMs, errorCode } = ended.record
    const { address, port } = this.#upstreamOf(ended) ?? {}
    this.#makeStep('hold', { fromMs: holdAskedAtMs, untilMs: holdOpenedAtMs, parent })
    this.#makeStep('upstream', {
      fromMs: holdOpenedAtMs,
      untilMs: outcomeAtMs,
      parent,
      kind: SpanKind.CLIENT,
      attributes: { 'server.address': address, 'server.port': port },
      failure: errorCode === null ? null : failureOf(ended),
    })
    this.#makeStep('settle', { fromMs: outcomeAtMs, untilMs: settledAtMs, parent })
  }

  /** For a request that was refused before its model was known, the only upstream; null: there are several. */
  #upstreamOf({ record }: EndedRequest): TracedUpstream | null {
    if (record.upstream !== null) return this.#upstreams.get(record.upstream) ?? null
    const [first] = this.#upstreams.values()
    return this.#upstreams.size === 1 ? (first ?? null) : null
  }

  #makeStep(name: string, step: Step): void {
    const { fromMs, untilMs, parent, kind = SpanKind.INTERNAL, failure = null } = step
    if (fromMs === null || untilMs === null) return
    const attributes = {
      ...step.attributes,
      ...(failure === null ? {} : { 'error.type': failure }),
    }
    const span = this.#tracer.startSpan(
      name,
      { kind, startTime: timeOf(fromMs), attributes },
      parent,
    )
    if (failure !== null) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(timeOf(untilMs))
  }
}

/** A step without both times was not reached and has no span. */
interface Step {
  readonly fromMs: number | null
  readonly untilMs: number | null
  readonly parent: Context
  readonly kind?: SpanKind
  readonly attributes?: Attributes
  readonly failure?: string | null
}

/** A time in the one form that the API can't mistake for a time of another clock. */
function timeOf(timeMs: number): HrTime {
  return [Math.floor(timeMs / MS_PER_SECOND), (timeMs % MS_PER_SECOND) * 1_000_000]
}

// Later versions may add more fields after the flags; they are ignored.
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** The span that a caller's `traceparent` names (W3C Trace Context); null for an invalid header. */
export function readTraceparent(header: string | string[] | undefined): SpanContext | null {
  if (typeof header !== 'string' || header.length > 512) return null
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(header) ?? []
  if (version === undefined || traceId === undefined || spanId === undefined) return null
  if (version === 'ff' || (version === '00' && more !== undefined)) return null
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null
  return { traceId, spanId, traceFlags: Number.parseInt(flags ?? '00', 16) & 1, isRemote: true }
}

/** Why a request failed; null: it did not. */
export function failureOf({ problem, record }: EndedRequest): string | null {
  return problem?.code ?? record.errorCode
}

/**
 * The attributes of a request's span, by the semantic conventions of HTTP and of GenAI: figures and ids,
 * never content or a name that a client chose.
 */
function attributesOf(ended: EndedRequest, upstream: TracedUpstream | null): Attributes {
  const { format, record, httpStatus, requestId } = ended
  return {
    'http.request.method': 'POST',
    'http.route': format.path,
    'http.response.status_code': httpStatus,
    'gen_ai.operation.name': format.telemetry.operation,
    'gen_ai.provider.name': upstream?.providerName,
    'gen_ai.request.model': record.modelId ?? undefined,
    'gen_ai.request.stream': record.stream,
    'gen_ai.output.type': format.telemetry.outputType ?? undefined,
    'gen_ai.response.id': record.generationId ?? undefined,
    'gen_ai.response.time_to_first_chunk': timeToFirstChunk(ended),
    ...usageAttributes(record.usage),
    'error.type': failureOf(ended) ?? undefined,
    'tollgate.request.id': requestId,
    'tollgate.account.id': record.accountId ?? undefined,
    'tollgate.api_key.id': record.apiKeyId ?? undefined,
    'tollgate.charge.state': record.state ?? undefined,
    'tollgate.charge.micros': record.chargeMicros ?? undefined,
    'tollgate.hold.micros': record.holdMicros ?? undefined,
  }
}

/** Seconds; only streams have chunks. */
function timeToFirstChunk({ record, startedAtMs }: EndedRequest): number | undefined {
  const { stream, firstByteAtMs } = record
  if (!stream || firstByteAtMs === null) return undefined
  return Math.max(0, firstByteAtMs - startedAtMs) / MS_PER_SECOND
}

function usageAttributes(usage: TokenUsage | null): Attributes {
  if (usage === null) return {}
  const cacheWriteTokens = usage.cacheWriteTokens + usage.cacheWriteLongTokens
  return {
    'gen_ai.usage.input_tokens': promptTokensOf(usage),
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cacheReadTokens,
    'gen_ai.usage.cache_write.input_tokens': cacheWriteTokens,
    'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens,
  }
}
