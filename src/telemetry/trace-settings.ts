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
  /** What `traceidratio` keeps, from 0 to 1. */
  readonly sampledFraction: number
}
