import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { EndedRequest } from '../http/inference.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import { RequestSpans, type TracedUpstream } from './request-span.ts'

/** Makes the spans of each request, once it has ended. */
export interface RequestTracer {
  /** Queues the spans of an ended request, if its trace is sampled. Never throws. */
  requestEnded(ended: EndedRequest): void
  /** Sends the queued spans, within a few seconds, and stops. Never rejects. */
  close(): Promise<void>
}

/** OpenTelemetry's names for which traces are kept. */
export type SamplerName =
  | 'always_on'
  | 'always_off'
  | 'traceidratio'
  | 'parentbased_always_on'
  | 'parentbased_always_off'
  | 'parentbased_traceidratio'

/** Where traces go, and which. */
export interface TraceSettings {
  /** Takes batches of spans, as OTLP over HTTP in protobuf. */
  readonly url: string
  /** For the collector; may be secret. */
  readonly headers: Readonly<Record<string, string>>
  readonly exportTimeoutMs: number
  readonly serviceName: string
  readonly resourceAttributes: Readonly<Record<string, string>>
  readonly sampler: SamplerName
  /** The share of traces that `traceidratio` keeps, from 0 to 1. */
  readonly sampledFraction: number
}

interface CollectorEvents {
  /** Called when the collector stops accepting spans, and not again until it has accepted some. */
  readonly onFailure: (cause: unknown) => void
  /** Called when the collector accepts spans again. */
  readonly onRecovery: () => void
}

interface OtlpTracerInput extends CollectorEvents {
  readonly settings: TraceSettings
  readonly version: string
  /** By their names in the settings. */
  readonly upstreams: ReadonlyMap<string, TracedUpstream>
}

// Spans that wait for a collector, some 20 MB at most; further spans are dropped.
const WAITING_SPANS_MAX = 16_384
const BATCH_SPANS_MAX = 1_024
const BATCH_INTERVAL_MS = 1_000
const CLOSE_TIMEOUT_MS = 3_000

/**
 * Sends spans to an OpenTelemetry collector. All spans of a request are made when it has ended, from the
 * times in its record, so that tracing costs a running request nothing. Batches go out in the background; a
 * collector that does not keep up loses spans, and nothing else.
 */
export function createOtlpTracer(input: OtlpTracerInput): RequestTracer {
  const { settings, version, upstreams } = input
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
        exporter: new ReportingExporter(exporter, input),
        maxQueueSize: WAITING_SPANS_MAX,
        maxExportBatchSize: BATCH_SPANS_MAX,
        scheduledDelayMillis: BATCH_INTERVAL_MS,
        exportTimeoutMillis: settings.exportTimeoutMs + 1_000,
      }),
    ],
  })
  const spans = new RequestSpans(provider.getTracer('tollgate', version), upstreams)
  return {
    requestEnded: (ended) => spans.make(ended),
    close: () => within(CLOSE_TIMEOUT_MS, provider.shutdown()),
  }
}

function samplerOf({ sampler, sampledFraction }: TraceSettings): Sampler {
  switch (sampler) {
    case 'always_on':
      return new AlwaysOnSampler()
    case 'always_off':
      return new AlwaysOffSampler()
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(sampledFraction)
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() })
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() })
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampledFraction) })
    default:
      return assertNever(sampler)
  }
}

type Export = Parameters<SpanExporter['export']>

// The API's number for a successful export.
const SUCCESS = 0

/** An exporter that reports once that its collector is away, and once that it is back. */
class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #events: CollectorEvents
  #isAway = false

  constructor(exporter: SpanExporter, events: CollectorEvents) {
    this.#exporter = exporter
    this.#events = events
  }

  export(spans: Export[0], onResult: Export[1]): void {
    this.#exporter.export(spans, (exported) => {
      const failed = exported.code !== SUCCESS
      if (failed && !this.#isAway) this.#events.onFailure(exported.error)
      if (!failed && this.#isAway) this.#events.onRecovery()
      this.#isAway = failed
      onResult(exported)
    })
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }
}

/** Resolves when `ending` has settled, or after `waitMs`. */
async function within(waitMs: number, ending: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const outOfTime = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, waitMs)
  })
  await Promise.race([ending.catch(() => {}), outOfTime])
  clearTimeout(timer)
}
