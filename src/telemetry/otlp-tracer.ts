import {
  type Context,
  type HrTime,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { EndedRequest } from '../http/inference.ts'
import { ReportingExporter } from './reporting-exporter.ts'
import { failureOf, type SpanSurroundings, spanAttributes, spanName } from './request-span.ts'
import type { RequestTracer } from './request-tracer.ts'
import { samplerOf } from './sampler.ts'
import type { TraceSettings } from './trace-settings.ts'
import { readTraceparent } from './traceparent.ts'

interface OtlpTracerInput {
  readonly settings: TraceSettings
  readonly version: string
  readonly surroundings: SpanSurroundings
  /** Where requests are sent, for the span of the call. */
  readonly upstream: { readonly address: string; readonly port: number }
  /** Told when the collector stops taking spans, and not again until it has taken some. */
  readonly onFailure: (cause: unknown) => void
  /** Told when it takes them again. */
  readonly onRecovery: () => void
}

// Spans that wait for a collector: what comes above it is dropped. Some 20 MB at the most.
const WAITING_SPANS_MAX = 16_384
const BATCH_SPANS_MAX = 1_024
const BATCH_INTERVAL_MS = 1_000
const CLOSE_TIMEOUT_MS = 3_000

/**
 * Spans to an OpenTelemetry collector. All spans of a request are made when it has ended, from the times
 * that its record has: while it runs nothing is paid for them. They go out in batches that no request
 * waits for; a collector that does not keep up loses spans, and nothing else.
 */
export function createOtlpTracer(input: OtlpTracerInput): RequestTracer {
  const { settings, version, onFailure, onRecovery } = input
  const exporter = new OTLPTraceExporter({
    url: settings.url,
    headers: { ...settings.headers },
    timeoutMillis: settings.exportTimeoutMs,
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.version': version,
      ...settings.resourceAttributes,
      'service.name': settings.serviceName,
    }),
    sampler: samplerOf(settings),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new ReportingExporter(exporter, { onFailure, onRecovery }),
        maxQueueSize: WAITING_SPANS_MAX,
        maxExportBatchSize: BATCH_SPANS_MAX,
        scheduledDelayMillis: BATCH_INTERVAL_MS,
        exportTimeoutMillis: settings.exportTimeoutMs + 1_000,
      }),
    ],
  })
  const spans = new RequestSpans(provider.getTracer('tollgate', version), input)
  return {
    requestEnded: (ended) => spans.make(ended),
    close: () => within(CLOSE_TIMEOUT_MS, provider.shutdown()),
  }
}

class RequestSpans {
  readonly #tracer: Tracer
  readonly #input: OtlpTracerInput

  constructor(tracer: Tracer, input: OtlpTracerInput) {
    this.#tracer = tracer
    this.#input = input
  }

  make(ended: EndedRequest): void {
    const { startedAtMs, endedAtMs, record, httpStatus } = ended
    const caller = readTraceparent(ended.traceparent)
    const parent = caller === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, caller)
    const span = this.#tracer.startSpan(
      spanName(ended),
      { kind: SpanKind.SERVER, startTime: timeOf(startedAtMs) },
      parent,
    )
    if (span.isRecording()) {
      span.setAttributes(spanAttributes(ended, this.#input.surroundings))
      // A client's own mistake is no error of a server, nor is its leaving.
      const brokeOff = httpStatus < 400 && record.errorCode !== null
      if (httpStatus >= 500 || (brokeOff && record.errorCode !== 'client_gone')) {
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      this.#makeSteps(ended, trace.setSpan(ROOT_CONTEXT, span))
    }
    span.end(timeOf(endedAtMs))
  }

  /** The three that a request spends its time on: hold, upstream, settle. */
  #makeSteps(ended: EndedRequest, within: Context): void {
    const { holdAskedAtMs, holdOpenedAtMs, outcomeAtMs, settledAtMs } = ended.record
    const step = (name: string, times: StepTimes): void => {
      const { kind = SpanKind.INTERNAL, fromMs, untilMs, failure = null } = times
      if (fromMs === null || untilMs === null) return
      const { address, port } = this.#input.upstream
      const attributes = {
        ...(kind === SpanKind.CLIENT ? { 'server.address': address, 'server.port': port } : {}),
        ...(failure === null ? {} : { 'error.type': failure }),
      }
      const span = this.#tracer.startSpan(
        name,
        { kind, startTime: timeOf(fromMs), attributes },
        within,
      )
      if (failure !== null) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end(timeOf(untilMs))
    }
    step('hold', { fromMs: holdAskedAtMs, untilMs: holdOpenedAtMs })
    const failure = ended.record.errorCode === null ? null : failureOf(ended)
    step('upstream', {
      kind: SpanKind.CLIENT,
      fromMs: holdOpenedAtMs,
      untilMs: outcomeAtMs,
      failure,
    })
    step('settle', { fromMs: outcomeAtMs, untilMs: settledAtMs })
  }
}

interface StepTimes {
  /** Default a step within the process. */
  readonly kind?: SpanKind
  /** Null: the request never came so far. */
  readonly fromMs: number | null
  readonly untilMs: number | null
  readonly failure?: string | null
}

/** As the API takes a time that it can't mistake for one of another clock. */
function timeOf(timeMs: number): HrTime {
  return [Math.floor(timeMs / 1_000), (timeMs % 1_000) * 1_000_000]
}

/** By position: how long is waited, and for what. Resolves then, however it ended. */
async function within(waitMs: number, ending: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const outOfTime = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, waitMs)
  })
  await Promise.race([ending.catch(() => {}), outOfTime])
  clearTimeout(timer)
}
