import type { Catalog } from '../catalog/catalog.ts'
import type { ReadinessCheck } from '../http/health.ts'
import type { Inference } from '../http/inference.ts'
import { type MetricsPage, openMetricsServer } from '../http/metrics-routes.ts'
import type { ByteBudget } from '../journey/gate/byte-budget.ts'
import { countHolds } from '../ledger/activity/unsettled.ts'
import { saleFigures } from '../sale/figures.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { RequestTracer } from '../telemetry/otlp-tracer.ts'
import { Readiness } from '../telemetry/readiness.ts'
import { Telemetry } from '../telemetry/telemetry.ts'
import type { ConfiguredUpstreams } from '../upstreams/upstream-settings.ts'
import { fewNodesWarning } from './chain-settings.ts'
import type { Config } from './config.ts'
import type { Reconcilers } from './open-reconcilers.ts'
import type { ServedStore } from './open-served-store.ts'
import { saleSettingsOf } from './sale-settings.ts'
import { traceSettingsOf } from './trace-settings.ts'
import { VERSION, type Wiring } from './wiring.ts'

/** Metrics, traces and readiness, opened before the parts that they observe and closed after them. */
export interface TelemetryParts {
  readonly telemetry: Telemetry
  readonly readiness: Readiness
  /** Null: metrics are off. */
  readonly metrics: Metrics | null
  /** Where metrics are on a port of their own; null: they are not. */
  readonly metricsAddress: string | null
  /** For the clients' own port; null: nothing is there. */
  readonly metricsRoute: { readonly page: MetricsPage; readonly metricsToken: string } | null
}

type Opened = Omit<Wiring, 'telemetry'>

/**
 * Opens what is set, and loads nothing that is not. `pageOfAll` renders the metrics of all worker processes,
 * one of which this is; METRICS_PORT is then their parent's. Rejects where the port of the metrics is taken.
 */
export async function openTelemetry(
  wiring: Opened,
  { pageOfAll }: { readonly pageOfAll: (() => Promise<string>) | null },
): Promise<TelemetryParts> {
  const { config, configured, clock, log } = wiring
  const readiness = new Readiness({
    clock,
    pricesStaleAfterMs: config.TOLLGATE_PRICES_STALE_AFTER_MS,
    upstreams: configured.upstreams,
    chainWarning: fewNodesWarning(saleSettingsOf(config)),
  })
  const tracer = await openTracer(wiring)
  const metrics = await openMetrics(config, configured)
  const telemetry = new Telemetry({ log, readiness, metrics, tracer })
  const opened = { telemetry, readiness, metrics, metricsAddress: null, metricsRoute: null }
  if (metrics === null) return opened
  const page = { render: pageOfAll ?? (() => metrics.render()), contentType: metrics.contentType }
  const { METRICS_PORT: port, METRICS_TOKEN: metricsToken } = config
  if (port === null) {
    return { ...opened, metricsRoute: metricsToken === null ? null : { page, metricsToken } }
  }
  if (pageOfAll !== null) return opened
  return { ...opened, metricsAddress: await serveMetricsPage(wiring, { page, port }) }
}

async function openMetrics(config: Config, { mode }: ConfiguredUpstreams): Promise<Metrics | null> {
  if (config.METRICS_PORT === null && config.METRICS_TOKEN === null) return null
  const { Metrics: Loaded } = await import('../telemetry/metrics.ts')
  return new Loaded({ version: VERSION, mode })
}

/** Serves metrics on a port of their own, and answers where. Rejects where it is taken. */
export async function serveMetricsPage(
  { config, log, closing }: Pick<Wiring, 'config' | 'log' | 'closing'>,
  { page, port }: { readonly page: MetricsPage; readonly port: number },
): Promise<string> {
  const host = config.METRICS_HOST ?? config.HOST
  const server = await openMetricsServer({ page, metricsToken: config.METRICS_TOKEN, host, port })
  closing.defer(() => server.close())
  log.info({ metricsAddress: server.address }, 'metrics are served')
  return server.address
}

async function openTracer(wiring: Opened): Promise<RequestTracer | null> {
  const { config, configured, log, closing } = wiring
  const settings = traceSettingsOf(config)
  if (settings === null) return null
  const { createOtlpTracer } = await import('../telemetry/otlp-tracer.ts')
  const tracer = createOtlpTracer({
    settings,
    version: VERSION,
    upstreams: new Map(
      configured.upstreams.map(({ name, baseUrl }) => {
        const { hostname, port, protocol } = new URL(baseUrl)
        const providerName = configured.mode === 'simulator' ? 'simulator' : hostname
        return [name, { providerName, address: hostname, port: portOf(port, protocol) }]
      }),
    ),
    onFailure: (cause) =>
      log.warn({ cause: String(cause) }, 'the collector refuses traces: they are dropped'),
    onRecovery: () => log.info('the collector accepts traces again'),
  })
  closing.defer(() => tracer.close())
  return tracer
}

/** By position: the port as the address has it, and the protocol whose default it is otherwise. */
function portOf(port: string, protocol: string): number {
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}

interface ShowGaugesInput {
  readonly telemetryParts: TelemetryParts
  readonly served: Pick<ServedStore, 'store' | 'storeClock'>
  readonly catalog: Catalog
  readonly inference: Pick<Inference, 'inFlight'>
  readonly byteBudget: Pick<ByteBudget, 'bytesReserved'>
  readonly reconcilers: Pick<Reconcilers, 'waiting'>
  /** As `/readyz` answers them. */
  readonly checks: () => readonly ReadinessCheck[]
}

/** Connects the gauges to the parts, once all parts are open. */
export function showGauges({ config, configured, clock }: Wiring, input: ShowGaugesInput): void {
  const { telemetryParts, served, catalog, inference, byteBudget, reconcilers, checks } = input
  telemetryParts.metrics?.watch({
    clock,
    storeClock: served.storeClock,
    inFlight: () => inference.inFlight,
    bufferBytes: () => byteBudget.bytesReserved,
    bufferBytesMax: config.TOLLGATE_BUFFER_BYTES_MAX,
    countHolds: () => countHolds(served.store.reports),
    readSale: () => saleFigures(served.store.reports),
    waiting: () => reconcilers.waiting(),
    catalog: () => ({
      modelIds: catalog.modelIds,
      refreshedAtMs: new Map(
        configured.upstreams.flatMap(({ name }) => {
          const atMs = catalog.refreshedAtMsOf(name)
          return atMs === null ? [] : [[name, atMs] as const]
        }),
      ),
    }),
    checks,
    accountsRefused: () =>
      new Map(
        configured.upstreams.map(({ name }) => [
          name,
          telemetryParts.readiness.isAccountRefused(name),
        ]),
      ),
  })
}
