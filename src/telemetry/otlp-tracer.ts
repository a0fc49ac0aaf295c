import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { assertNever } from '../vocabulary/assert-never.ts'
import {
  type CollectorSettings,
  type ExportInput,
  ReportingExporter,
  type RequestExport,
  resourceAttributesOf,
  settledSoon,
} from './otlp-export.ts'
import { RequestSpans } from './request-span.ts'

/** OpenTelemetry's names for which traces are kept. */
export type SamplerName =
  | 'always_on'
  | 'always_off'
  | 'traceidratio'
  | 'parentbased_always_on'
  | 'parentbased_always_off'
  | 'parentbased_traceidratio'

/** The collector of traces, and the requests that are traced. */
export interface TraceSettings extends CollectorSettings {
  readonly sampler: SamplerName
  /** The share of traces that `traceidratio` keeps, from 0 to 1. */
  readonly sampledFraction: number
}

// Spans that wait for a collector, some 20 MB at most; further spans are dropped.
const WAITING_SPANS_MAX = 16_384
const BATCH_SPANS_MAX = 1_024
const BATCH_INTERVAL_MS = 1_000

/**
 * Sends spans to an OpenTelemetry collector. All spans of a request are made when it has ended, from the
 * times in its record, so that tracing costs a running request nothing. Batches go out in the background; a
 * collector that does not keep up loses spans, and nothing else.
 */
export function createOtlpTracer(input: ExportInput<TraceSettings>): RequestExport {
  const { settings, version, upstreams } = input
  const exporter = new OTLPTraceExporter({
    url: settings.url,
    headers: { ...settings.headers },
    timeoutMillis: settings.exportTimeoutMs,
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes(resourceAttributesOf(settings, version)),
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
    close: () => settledSoon(provider.shutdown()),
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
