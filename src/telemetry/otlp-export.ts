import type { EndedRequest } from '../http/inference.ts'
import type { TracedUpstream } from './request-span.ts'

/** Sends ended requests to an OpenTelemetry collector. */
export interface RequestExport {
  /** Takes an ended request. Never throws, and waits for nothing. */
  requestEnded(ended: EndedRequest): void
  /** Sends the waiting data, within a few seconds, and stops. Never rejects. */
  close(): Promise<void>
}

/** The address of a collector, and the name of this server there. */
export interface CollectorSettings {
  /** Takes batches, as OTLP over HTTP in protobuf. */
  readonly url: string
  /** For the collector; may be secret. */
  readonly headers: Readonly<Record<string, string>>
  readonly exportTimeoutMs: number
  readonly serviceName: string
  readonly resourceAttributes: Readonly<Record<string, string>>
}

/** The parts of an export to a collector. */
export interface ExportInput<Settings> extends CollectorEvents {
  readonly settings: Settings
  readonly version: string
  /** By their names in the settings. */
  readonly upstreams: ReadonlyMap<string, TracedUpstream>
}

interface CollectorEvents {
  /** Called when the collector stops accepting batches, and not again until it has accepted one. */
  readonly onFailure: (cause: unknown) => void
  /** Called when the collector accepts batches again. */
  readonly onRecovery: () => void
}

/** The attributes by which a collector knows this server. By position: the settings, and the version of tollgate. */
export function resourceAttributesOf(
  { serviceName, resourceAttributes }: CollectorSettings,
  version: string,
): Record<string, string> {
  return { 'service.version': version, ...resourceAttributes, 'service.name': serviceName }
}

/** The common interface of OpenTelemetry's exporters of spans and of metrics. */
interface Exporter<Batch> {
  export(batch: Batch, onResult: (result: ExportResult) => void): void
  forceFlush?(): Promise<void>
  shutdown(): Promise<void>
}

interface ExportResult {
  readonly code: number
  readonly error?: Error
}

// The API's number for a successful export.
const SUCCESS = 0

/** An exporter that reports once that its collector is away, and once that it is back. */
export class ReportingExporter<Batch> implements Exporter<Batch> {
  readonly #exporter: Exporter<Batch>
  readonly #events: CollectorEvents
  #isAway = false

  constructor(exporter: Exporter<Batch>, events: CollectorEvents) {
    this.#exporter = exporter
    this.#events = events
  }

  export(batch: Batch, onResult: (result: ExportResult) => void): void {
    this.#exporter.export(batch, (exported) => {
      const failed = exported.code !== SUCCESS
      if (failed && !this.#isAway) this.#events.onFailure(exported.error)
      if (!failed && this.#isAway) this.#events.onRecovery()
      this.#isAway = failed
      onResult(exported)
    })
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.()
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }
}

const CLOSE_TIMEOUT_MS = 3_000

/** Resolves when `ending` has settled, or after three seconds: a collector keeps no stop waiting. */
export async function settledSoon(ending: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const outOfTime = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, CLOSE_TIMEOUT_MS)
  })
  await Promise.race([ending.catch(() => {}), outOfTime])
  clearTimeout(timer)
}
