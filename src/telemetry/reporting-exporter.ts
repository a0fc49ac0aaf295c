import type { SpanExporter } from '@opentelemetry/sdk-trace'

/** Who is told how the collector fares. */
interface CollectorReports {
  /** Told when the collector stops taking spans, and not again until it has taken some. */
  readonly onFailure: (cause: unknown) => void
  /** Told when it takes them again. */
  readonly onRecovery: () => void
}

type Export = Parameters<SpanExporter['export']>

// As the API numbers them.
const SUCCESS = 0

/** An exporter that says once that its collector is away, and once that it is back. */
export class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #reports: CollectorReports
  #isAway = false

  constructor(exporter: SpanExporter, reports: CollectorReports) {
    this.#exporter = exporter
    this.#reports = reports
  }

  export(spans: Export[0], onResult: Export[1]): void {
    this.#exporter.export(spans, (exported) => {
      const failed = exported.code !== SUCCESS
      if (failed && !this.#isAway) this.#reports.onFailure(exported.error)
      if (!failed && this.#isAway) this.#reports.onRecovery()
      this.#isAway = failed
      onResult(exported)
    })
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }
}
