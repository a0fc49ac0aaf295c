import { type MetricsPage, openMetricsServer } from '../http/metrics-routes.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { Readiness } from '../telemetry/readiness.ts'
import type { RequestTracer } from '../telemetry/request-tracer.ts'
import { Telemetry } from '../telemetry/telemetry.ts'
import { traceSettingsOf } from './trace-settings.ts'
import { VERSION } from './version.ts'
import type { Wiring } from './wiring.ts'

/** What looks on, opened before all that it looks at and closed after it. */
export interface OpenTelemetry {
  readonly telemetry: Telemetry
  readonly readiness: Readiness
  /** Null: nobody can read any. */
  readonly metrics: Metrics | null
  /** Where metrics are on a port of their own; null: they are not. */
  readonly metricsAddress: string | null
  /** For the clients' own port; null: nothing is there. */
  readonly metricsRoute: { readonly page: MetricsPage; readonly metricsToken: string } | null
}

type Opened = Omit<Wiring, 'telemetry'>

/** Which of the threads that look on this one is. Default: the only one. */
export interface LooksOnFrom {
  readonly thread: 'main' | 'worker'
  /** The page of all threads together. */
  readonly renderAll: (own: Metrics) => Promise<string>
}

const ONLY_THREAD: LooksOnFrom = { thread: 'main', renderAll: (own) => own.render() }

/** Opens what is set, and loads nothing that is not. Rejects where the port of the metrics is taken. */
export async function openTelemetry(
  wiring: Opened,
  from: LooksOnFrom = ONLY_THREAD,
): Promise<OpenTelemetry> {
  const { config, clock, log } = wiring
  const readiness = new Readiness({
    clock,
    pricesStaleAfterMs: config.TOLLGATE_PRICES_STALE_AFTER_MS,
  })
  const tracer = await openTracer(wiring)
  const metrics = await openMetrics(wiring, from)
  const telemetry = new Telemetry({ log, readiness, metrics, tracer })
  return { telemetry, readiness, metrics, ...(await servePage(wiring, metrics, from)) }
}

async function openMetrics(
  { config, address }: Opened,
  { thread }: LooksOnFrom,
): Promise<Metrics | null> {
  if (config.METRICS_PORT === null && config.METRICS_TOKEN === null) return null
  const { Metrics: Loaded } = await import('../telemetry/metrics.ts')
  return new Loaded({ version: VERSION, mode: address.mode, thread })
}

async function servePage(
  { config, log, closing }: Opened,
  metrics: Metrics | null,
  { thread, renderAll }: LooksOnFrom,
): Promise<Pick<OpenTelemetry, 'metricsAddress' | 'metricsRoute'>> {
  if (metrics === null) return { metricsAddress: null, metricsRoute: null }
  const { METRICS_PORT: port, METRICS_TOKEN: metricsToken } = config
  const page = { render: () => renderAll(metrics), contentType: metrics.contentType }
  if (port === null) {
    return {
      metricsAddress: null,
      metricsRoute: metricsToken === null ? null : { page, metricsToken },
    }
  }
  if (thread === 'worker') return { metricsAddress: null, metricsRoute: null }
  const host = config.METRICS_HOST ?? config.HOST
  const server = await openMetricsServer({ page, metricsToken, host, port })
  closing.defer(() => server.close())
  log.info({ metricsAddress: server.address }, 'metrics are served')
  return { metricsAddress: server.address, metricsRoute: null }
}

async function openTracer(wiring: Opened): Promise<RequestTracer | null> {
  const { config, address, log, closing } = wiring
  const settings = traceSettingsOf(config)
  if (settings === null) return null
  const { createOtlpTracer } = await import('../telemetry/otlp-tracer.ts')
  const { hostname, port, protocol } = new URL(address.baseUrl)
  const tracer = createOtlpTracer({
    settings,
    version: VERSION,
    surroundings: {
      providerName: address.mode === 'simulator' ? 'simulator' : hostname,
    },
    upstream: { address: hostname, port: portOf(port, protocol) },
    onFailure: (cause) =>
      log.warn({ cause: String(cause) }, 'the collector does not take traces: they are dropped'),
    onRecovery: () => log.info('the collector takes traces again'),
  })
  closing.defer(() => tracer.close())
  return tracer
}

/** By position: as the address has it, and the protocol that it stands for where it has none. */
function portOf(port: string, protocol: string): number {
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}
