import type { Catalog } from '../catalog/catalog.ts'
import { createHealth, type ReadinessCheck } from '../http/health.ts'
import type { Inference } from '../http/inference.ts'
import { type MetricsPage, openMetricsServer } from '../http/metrics-routes.ts'
import type { ByteBudget } from '../journey/gate/byte-budget.ts'
import { countHolds } from '../ledger/activity/unsettled.ts'
import { saleFigures } from '../sale/figures.ts'
import { parseDatabaseUrl } from '../store/database-url.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { RequestExport } from '../telemetry/otlp-export.ts'
import { Readiness } from '../telemetry/readiness.ts'
import type { TracedUpstream } from '../telemetry/request-span.ts'
import { Telemetry } from '../telemetry/telemetry.ts'
import type { ConfiguredUpstreams } from '../upstreams/upstream-settings.ts'
import { type Config, storeUrlOf } from './config.ts'
import type { Reconcilers } from './open-reconcilers.ts'
import type { ServedStore } from './open-served-store.ts'
import { fewNodesWarning } from './settings/chain-settings.ts'
import { saleSettingsOf } from './settings/sale-settings.ts'
import { meterSettingsOf, traceSettingsOf } from './settings/trace-settings.ts'
import { VERSION, type Wiring, warning } from './wiring.ts'

/** Metrics, traces and readiness, opened before the parts that they observe and closed after them. */
export interface TelemetryParts {
  readonly telemetry: Telemetry
  readonly readiness: Readiness
  /** Null: metrics are off. */
  readonly metrics: Metrics | null
  /** The address of metrics on a separate port; null: they have none. */
  readonly metricsAddress: string | null
  /** For the clients' own port; null: nothing is there. */
  readonly metricsRoute: { readonly page: MetricsPage; readonly metricsToken: string } | null
  /** The checks behind `/readyz` on the port of the metrics; until all parts are open, it says that they are not. */
  readonly probed: { checks: () => readonly ReadinessCheck[] }
}

type Opened = Omit<Wiring, 'telemetry'>

const STARTING: readonly ReadinessCheck[] = [
  { name: 'serving', fault: 'The server is starting: send requests to another one.' },
]

/** Opens the parts that are set, and loads no others. Rejects if the port of the metrics is taken. */
export async function openTelemetry(wiring: Opened): Promise<TelemetryParts> {
  const { config, configured, clock, log } = wiring
  const readiness = new Readiness({
    clock,
    storeKind: parseDatabaseUrl(storeUrlOf(config)).kind,
    pricesStaleAfterMs: config.TOLLGATE_PRICES_STALE_AFTER_MS,
    upstreams: configured.upstreams,
    chainWarning: fewNodesWarning(saleSettingsOf(config)),
  })
  const tracer = await openTracer(wiring)
  const meter = await openMeter(wiring)
  wiring.closing.defer(async () => void (await Promise.all([tracer?.close(), meter?.close()])))
  const metrics = await openMetrics(config, configured)
  const telemetry = new Telemetry({ log, readiness, metrics, tracer, meter })
  const probed: TelemetryParts['probed'] = { checks: () => STARTING }
  const opened = { telemetry, readiness, metrics, metricsAddress: null, metricsRoute: null, probed }
  if (metrics === null) return opened
  const page = { render: () => metrics.render(), contentType: metrics.contentType }
  const { METRICS_PORT: port, METRICS_TOKEN: metricsToken } = config
  if (port === null) {
    return { ...opened, metricsRoute: metricsToken === null ? null : { page, metricsToken } }
  }
  const health = createHealth({ ids: wiring.ids, readiness: () => probed.checks() })
  const host = config.METRICS_HOST ?? config.HOST
  const onFailure = warning(log, 'a connection for metrics could not be accepted')
  const server = await openMetricsServer({ page, health, metricsToken, host, port, onFailure })
  wiring.closing.defer(() => server.close())
  log.info({ metricsAddress: server.address }, 'metrics are served')
  return { ...opened, metricsAddress: server.address }
}

async function openMetrics(config: Config, { mode }: ConfiguredUpstreams): Promise<Metrics | null> {
  if (config.METRICS_PORT === null && config.METRICS_TOKEN === null) return null
  const { Metrics: Loaded } = await import('../telemetry/metrics.ts')
  return new Loaded({ version: VERSION, mode })
}

async function openTracer(wiring: Opened): Promise<RequestExport | null> {
  const settings = traceSettingsOf(wiring.config)
  if (settings === null) return null
  const { createOtlpTracer } = await import('../telemetry/otlp-tracer.ts')
  const lost = 'they are dropped'
  return createOtlpTracer({ settings, ...exportOf(wiring, 'traces', lost) })
}

async function openMeter(wiring: Opened): Promise<RequestExport | null> {
  const settings = meterSettingsOf(wiring.config)
  if (settings === null) return null
  const { createOtlpMeter } = await import('../telemetry/otlp-meter.ts')
  const lost = 'the next export repeats them'
  return createOtlpMeter({ settings, ...exportOf(wiring, 'metrics', lost) })
}

/** The parts of an export. By position: the process, what is exported, and what becomes of it while the collector refuses it. */
function exportOf({ configured, log }: Opened, exported: string, whileRefused: string) {
  return {
    version: VERSION,
    upstreams: tracedUpstreams(configured),
    onFailure: warning(log, `the collector refuses ${exported}: ${whileRefused}`),
    onRecovery: () => log.info(`the collector accepts ${exported} again`),
  }
}

function tracedUpstreams({ upstreams, mode }: ConfiguredUpstreams): Map<string, TracedUpstream> {
  return new Map(
    upstreams.map(({ name, baseUrl }) => {
      const { hostname, port, protocol } = new URL(baseUrl)
      const providerName = mode === 'simulator' ? 'simulator' : hostname
      return [name, { providerName, address: hostname, port: portOf(port, protocol) }]
    }),
  )
}

/** By position: the port as the address has it, and the protocol whose default it is otherwise. */
function portOf(port: string, protocol: string): number {
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}

interface ShowGaugesInput extends Pick<ServedStore, 'store' | 'storeClock'> {
  readonly telemetryParts: TelemetryParts
  readonly catalog: Catalog
  readonly inference: Pick<Inference, 'inFlight'>
  readonly byteBudget: Pick<ByteBudget, 'bytesReserved'>
  readonly reconcilers: Pick<Reconcilers, 'waiting'>
  /** As `/readyz` answers them. */
  readonly checks: () => readonly ReadinessCheck[]
}

/** Connects the gauges and the probes on the port of the metrics to the parts, once all parts are open. */
export function showGauges({ config, configured, clock }: Wiring, input: ShowGaugesInput): void {
  const { telemetryParts, store, storeClock, catalog, inference, byteBudget, reconcilers } = input
  const { checks } = input
  telemetryParts.probed.checks = checks
  telemetryParts.metrics?.watch({
    clock,
    storeClock,
    inFlight: () => inference.inFlight,
    bufferBytes: () => byteBudget.bytesReserved,
    bufferBytesMax: config.TOLLGATE_BUFFER_BYTES_MAX,
    countHolds: () => countHolds(store.reports),
    readSale: () => saleFigures(store.reports),
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
