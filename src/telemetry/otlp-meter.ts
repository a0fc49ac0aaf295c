import { type Attributes, type Histogram, ValueType } from '@opentelemetry/api'
import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base'
import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from '@opentelemetry/otlp-exporter-base/node-http'
import {
  MetricsExporterMetricsHelper,
  ProtobufMetricsSerializer,
} from '@opentelemetry/otlp-transformer'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import type { EndedRequest } from '../http/inference.ts'
import { promptTokensOf } from '../vocabulary/outcome.ts'
import {
  type CollectorSettings,
  type ExportInput,
  ReportingExporter,
  type RequestExport,
  resourceAttributesOf,
  settledSoon,
} from './otlp-export.ts'
import { failureOf, type TracedUpstream } from './request-span.ts'

/** The collector of metrics, and how often they are sent. */
export interface MeterSettings extends CollectorSettings {
  readonly exportIntervalMs: number
}

// The boundaries that the conventions name.
const DURATION_BOUNDS_SECONDS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
]
const TOKEN_BOUNDS = Array.from({ length: 14 }, (_, power) => 4 ** power)
// A series for each model, operation, error and kind of token: beyond it the SDK counts all together.
const SERIES_MAX = 10_000
const MS_PER_SECOND = 1_000

/**
 * Sends histograms of the calls of upstreams to an OpenTelemetry collector, by the names of the GenAI conventions. A call
 * is counted when its request has ended; sums go out in the background, and an export that failed is in the next one.
 */
export function createOtlpMeter(input: ExportInput<MeterSettings>): RequestExport {
  const { settings, version, upstreams } = input
  const provider = new MeterProvider({
    resource: resourceFromAttributes(resourceAttributesOf(settings, version)),
    readers: [
      new PeriodicExportingMetricReader({
        exporter: new ReportingExporter(metricExporter(settings), input),
        exportIntervalMillis: settings.exportIntervalMs,
        exportTimeoutMillis: Math.min(settings.exportTimeoutMs, settings.exportIntervalMs),
        cardinalityLimits: { histogram: SERIES_MAX },
      }),
    ],
  })
  const meter = provider.getMeter('tollgate', version)
  const calls = new UpstreamCalls(upstreams, {
    duration: meter.createHistogram('gen_ai.client.operation.duration', {
      description: 'GenAI operation duration.',
      unit: 's',
      advice: { explicitBucketBoundaries: DURATION_BOUNDS_SECONDS },
    }),
    tokens: meter.createHistogram('gen_ai.client.token.usage', {
      description: 'Number of input and output tokens used.',
      unit: '{token}',
      valueType: ValueType.INT,
      advice: { explicitBucketBoundaries: TOKEN_BOUNDS },
    }),
  })
  return {
    requestEnded: (ended) => calls.count(ended),
    close: () => settledSoon(provider.shutdown()),
  }
}

/** Does the same as OpenTelemetry's package for it, which is these lines around parts that the exporter of spans brings. */
function metricExporter({ url, headers, exportTimeoutMs }: MeterSettings) {
  const connection = convertLegacyHttpOptions(
    { url, headers: { ...headers }, timeoutMillis: exportTimeoutMs },
    'METRICS',
    'v1/metrics',
    { 'Content-Type': 'application/x-protobuf' },
  )
  return new OTLPExporterBase(
    createOtlpHttpExportDelegate(
      connection,
      ProtobufMetricsSerializer,
      'otlp_http_metric_exporter',
      MetricsExporterMetricsHelper,
      undefined,
    ),
  )
}

interface Histograms {
  readonly duration: Histogram
  readonly tokens: Histogram
}

/** Counts the calls of upstreams: ids and figures, never content or a name that a client chose. */
class UpstreamCalls {
  readonly #upstreams: ReadonlyMap<string, TracedUpstream>
  readonly #histograms: Histograms

  /** By position: each upstream by its name, and where calls are counted. */
  constructor(upstreams: ReadonlyMap<string, TracedUpstream>, histograms: Histograms) {
    this.#upstreams = upstreams
    this.#histograms = histograms
  }

  /** A request that was refused before its hold was open has called no upstream. */
  count(ended: EndedRequest): void {
    const { format, record } = ended
    const { modelId, upstream, holdOpenedAtMs, outcomeAtMs, usage } = record
    if (modelId === null || upstream === null) return
    if (holdOpenedAtMs === null || outcomeAtMs === null) return
    const named = this.#upstreams.get(upstream)
    const attributes: Attributes = {
      'gen_ai.operation.name': format.telemetry.operation,
      'gen_ai.provider.name': named?.providerName,
      'gen_ai.request.model': modelId,
      'server.address': named?.address,
      'server.port': named?.port,
    }
    const { duration, tokens } = this.#histograms
    const seconds = Math.max(0, outcomeAtMs - holdOpenedAtMs) / MS_PER_SECOND
    const failure = failureOf(ended)
    duration.record(
      seconds,
      failure === null ? attributes : { ...attributes, 'error.type': failure },
    )
    if (usage === null) return
    const ofTypes = { input: promptTokensOf(usage), output: usage.outputTokens }
    for (const [type, count] of Object.entries(ofTypes)) {
      if (count > 0) tokens.record(count, { ...attributes, 'gen_ai.token.type': type })
    }
  }
}
