import { z } from 'zod'
import type { CollectorSettings } from '../../telemetry/otlp-export.ts'
import type { MeterSettings } from '../../telemetry/otlp-meter.ts'
import type { SamplerName, TraceSettings } from '../../telemetry/otlp-tracer.ts'
import {
  choice,
  fitting,
  HEADER_NAME,
  HEADER_TEXT,
  matching,
  milliseconds,
  type Setting,
} from './setting.ts'

const SAMPLERS: readonly SamplerName[] = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
]

const HEADER_EXAMPLE = 'authorization=Bearer%20abc'
const PAIR = /^\s*([^\s=,]+)\s*=\s*([^,]*?)\s*$/

/** The settings of traces and exported metrics, which are OpenTelemetry's own and mean what its specification says. */
export const TRACE_SETTINGS = {
  OTEL_EXPORTER_OTLP_ENDPOINT: address(
    { example: 'http://127.0.0.1:4318' },
    'Base address of an OpenTelemetry collector; traces go to `/v1/traces` below it, and metrics to `/v1/metrics`. Without it and the addresses of both, nothing is sent.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: address(
    { example: 'http://127.0.0.1:4318/v1/traces' },
    'The whole address for traces; overrides `OTEL_EXPORTER_OTLP_ENDPOINT`.',
  ),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: address(
    { example: 'http://127.0.0.1:4318/v1/metrics' },
    'The whole address for metrics; overrides `OTEL_EXPORTER_OTLP_ENDPOINT`.',
  ),
  OTEL_METRICS_EXPORTER: matching(
    { fallback: 'otlp', pattern: /^(otlp|none)$/, message: 'must be otlp or none' },
    'Whether metrics are sent: `otlp` sends them to the collector, `none` sends none.',
  ),
  OTEL_METRIC_EXPORT_INTERVAL: milliseconds(
    // Timers accept at most 2^31 milliseconds; a longer one fires at once.
    { fallback: 60_000, max: 86_400_000 },
    'Time in milliseconds between two exports of metrics.',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: {
    ...headers('Headers for the collector, as `name=value,name=value`, values percent-encoded.'),
    secret: true,
  },
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: {
    ...headers('Headers for traces only; overrides `OTEL_EXPORTER_OTLP_HEADERS`.'),
    secret: true,
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: matching(
    {
      fallback: 'http/protobuf',
      pattern: /^http\/protobuf$/,
      message: 'must be http/protobuf: collectors take it on port 4318',
    },
    'The protocol of the collector; `http/protobuf` is the only one supported.',
  ),
  OTEL_EXPORTER_OTLP_TIMEOUT: milliseconds(
    { fallback: 10_000 },
    'Time limit in milliseconds for sending a batch. Requests do not wait for it.',
  ),
  OTEL_SERVICE_NAME: matching(
    { fallback: 'tollgate', pattern: /\S/, message: 'must be a name' },
    'The name of this server in traces and exported metrics.',
  ),
  OTEL_RESOURCE_ATTRIBUTES: pairs(
    { example: 'deployment.environment=production' },
    'Further attributes of this server in traces and exported metrics, as `name=value,name=value`, values percent-encoded.',
  ),
  OTEL_TRACES_SAMPLER: choice(
    { of: SAMPLERS, fallback: 'parentbased_always_on' },
    'Which requests are traced: `always_on`, `always_off`, `traceidratio`, or `parentbased_` followed by one of these, which follows the decision of the caller’s trace if there is one.',
  ),
  OTEL_TRACES_SAMPLER_ARG: {
    schema: z
      .string()
      .default('1')
      .refine(
        (text) => /^(0(\.\d{1,15})?|1(\.0{1,15})?)$/.test(text),
        'must be a fraction from 0 to 1, such as 0.05',
      )
      .transform(Number),
    fallback: '1',
    description: 'The fraction of traces that `traceidratio` keeps.',
    secret: false,
  },
  OTEL_SDK_DISABLED: matching(
    { fallback: 'false', pattern: /^(true|false)$/i, message: 'must be true or false' },
    '`true` turns off traces and the export of metrics.',
  ),
} as const satisfies Record<string, Setting<unknown>>

/** The settings of traces by their names, read and checked. */
type TraceConfig = {
  readonly [Name in keyof typeof TRACE_SETTINGS]: z.output<(typeof TRACE_SETTINGS)[Name]['schema']>
}

/** The collector of traces, and the requests that are traced; null: none. */
export function traceSettingsOf(config: TraceConfig): TraceSettings | null {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own, OTEL_TRACES_SAMPLER: sampler } = config
  const collector = collectorOf(config, { own, path: 'v1/traces' })
  if (collector === null) return null
  return {
    ...collector,
    headers: {
      ...collector.headers,
      ...readPairs(config.OTEL_EXPORTER_OTLP_TRACES_HEADERS),
    },
    sampler,
    sampledFraction: config.OTEL_TRACES_SAMPLER_ARG,
  }
}

/** The collector of metrics, and how often they are sent; null: none. */
export function meterSettingsOf(config: TraceConfig): MeterSettings | null {
  const { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: own, OTEL_METRICS_EXPORTER: exporter } = config
  const collector = collectorOf(config, { own, path: 'v1/metrics' })
  if (collector === null || exporter === 'none') return null
  return { ...collector, exportIntervalMs: config.OTEL_METRIC_EXPORT_INTERVAL }
}

/** The collector of a signal: at its own address, or at its path below the base address if it has none. */
function collectorOf(
  config: TraceConfig,
  { own, path }: { readonly own: string | null; readonly path: string },
): CollectorSettings | null {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base } = config
  const url = own ?? (base === null ? null : `${base.replace(/\/$/, '')}/${path}`)
  if (url === null || /^true$/i.test(config.OTEL_SDK_DISABLED)) return null
  return {
    url,
    headers: readPairs(config.OTEL_EXPORTER_OTLP_HEADERS),
    exportTimeoutMs: config.OTEL_EXPORTER_OTLP_TIMEOUT,
    serviceName: config.OTEL_SERVICE_NAME,
    resourceAttributes: readPairs(config.OTEL_RESOURCE_ATTRIBUTES),
  }
}

function address(
  { example }: { readonly example: string },
  description: string,
): Setting<string | null> {
  const schema = fitting(
    (text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''),
    `must be an http or https address, such as ${example}`,
  )
  return { schema, fallback: null, description, secret: false }
}

function pairs(
  { example }: { readonly example: string },
  description: string,
): Setting<string | null> {
  const schema = fitting(
    (text) => text.split(',').every((pair) => readPair(pair) !== null),
    `must be name=value,name=value with percent-encoded values, such as ${example}`,
  )
  return { schema, fallback: null, description, secret: false }
}

function headers(description: string): Setting<string | null> {
  const { schema, ...rest } = pairs({ example: HEADER_EXAMPLE }, description)
  const areHeaders = (text: string | null): boolean =>
    Object.entries(readPairs(text)).every(
      ([name, value]) => HEADER_NAME.test(name) && HEADER_TEXT.test(value),
    )
  const message = `must be names and values that a header can have, such as ${HEADER_EXAMPLE}`
  return { ...rest, schema: schema.refine((text) => text === null || areHeaders(text), message) }
}

function readPairs(text: string | null): Readonly<Record<string, string>> {
  const read = (text ?? '').split(',').map(readPair)
  return Object.fromEntries(read.filter((pair) => pair !== null))
}

function readPair(text: string): readonly [string, string] | null {
  const [, name, value] = PAIR.exec(text) ?? []
  if (name === undefined || value === undefined) return null
  try {
    return [name, decodeURIComponent(value)]
  } catch {
    return null
  }
}
