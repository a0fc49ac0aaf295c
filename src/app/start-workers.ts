import { randomFillSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ListenOptions, type Server } from 'node:net'
import type { Logger } from 'pino'
import { createLedger } from '../ledger/engines/create-ledger.ts'
import { openStore } from '../store/open-store.ts'
import { claimUpstream } from '../store/settings.ts'
import type { ConfiguredUpstreams } from '../upstreams/upstream-settings.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { createIdSource } from '../vocabulary/ids.ts'
import { type Config, storeUrlOf } from './config.ts'
import type { Gateway } from './gateway.ts'
import { serveMetricsPage } from './open-telemetry.ts'
import { markOf, openWhole } from './wiring.ts'
import { WorkerProcesses } from './worker-processes.ts'

interface StartWorkersInput {
  /** `WORKERS` is above 1, and the store is PostgreSQL. */
  readonly config: Config
  readonly configured: ConfiguredUpstreams
  readonly log: Logger
  /** Takes whole lines of the workers' logs. */
  readonly writeLog: (lines: string) => void
}

/** What serves at an address, one gateway or several workers, and the store for a first start. */
export type RunningServer = Pick<Gateway, 'address' | 'store' | 'ledger' | 'ids' | 'close'>

/**
 * Starts `WORKERS` processes on one port, each a gateway as it would be alone. This process serves no client: it
 * brings the store up to date before they start, replaces those that end, and serves the metrics of all on
 * METRICS_PORT. Rejects where one can't start; none is left then.
 */
export function startWorkers(input: StartWorkersInput): Promise<RunningServer> {
  return openWhole((closing) => open(input, closing))
}

async function open(
  input: StartWorkersInput,
  closing: AsyncDisposableStack,
): Promise<RunningServer> {
  const { config, configured, log, writeLog } = input
  const { METRICS_PORT: metricsPort } = config
  const store = await openStore({ url: storeUrlOf(config), migrateStore: 'always' })
  closing.defer(() => store.close())
  await claimUpstream(store.db, markOf(configured))
  const ledger = createLedger({ location: store.location })
  closing.defer(() => ledger.close())
  const ids = createIdSource({ clock: systemClock, fillRandom: (bytes) => randomFillSync(bytes) })
  const port = await settlePort(config, closing)
  const workers = new WorkerProcesses({
    entry: new URL('./worker.ts', import.meta.url),
    count: config.WORKERS,
    startWith: { config: configOfWorker(config, port.number), configured },
    log,
    writeLog,
  })
  if (metricsPort !== null) {
    // Loaded where there are metrics, and for their content type alone.
    const { Registry } = await import('prom-client')
    const contentType = Registry.PROMETHEUS_CONTENT_TYPE
    const page = { render: () => workers.metricsPage(), contentType }
    await serveMetricsPage({ config, log, closing }, { page, port: metricsPort })
  }
  closing.defer(() => workers.stop())
  const address = await workers.start()
  await port.release()
  return { address, store, ledger, ids, close: () => closing.disposeAsync() }
}

/** The settings of each worker: the port that all share, and its part of the memory for bodies. */
function configOfWorker(config: Config, port: number): Config {
  const bufferBytesMax = Math.floor(config.TOLLGATE_BUFFER_BYTES_MAX / config.WORKERS)
  return { ...config, PORT: port, TOLLGATE_BUFFER_BYTES_MAX: bufferBytesMax }
}

/**
 * Settles the port that all workers listen on, and by position what closes. Rejects where another program
 * listens on it, or where the system lets no two processes listen on one.
 */
async function settlePort({ HOST: host, PORT: wanted }: Config, closing: AsyncDisposableStack) {
  // Alone at first: other programs that share their ports would share this one.
  const alone = await listen({ host, port: wanted })
  const bound = alone.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : wanted
  await close(alone)
  const shared = await listen({ host, port, reusePort: true })
  const release = (): Promise<void> => close(shared)
  // A free port that was asked for is kept until the workers listen. Clients know any other port already.
  if (wanted === 0) closing.defer(release)
  else await release()
  return { number: port, release }
}

async function listen(options: ListenOptions): Promise<Server> {
  const server = createServer((socket) => socket.destroy())
  server.listen(options)
  await once(server, 'listening')
  return server
}

/** Does nothing where it is closed already. */
async function close(server: Server): Promise<void> {
  if (!server.listening) return
  server.close()
  await once(server, 'close')
}
