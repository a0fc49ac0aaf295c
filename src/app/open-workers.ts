import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Catalog } from '../catalog/catalog.ts'
import type { CatalogRefresher } from '../catalog/catalog-refresher.ts'
import type { ReadinessCheck } from '../http/health.ts'
import { faultOf } from '../http/request-log.ts'
import { SqliteLedger } from '../ledger/engines/sqlite-ledger.ts'
import { endInstance } from '../ledger/instances/open-instance.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import type { Metrics, MetricsSnapshot } from '../telemetry/metrics.ts'
import { SumMetrics } from '../telemetry/sum-metrics.ts'
import { ConfigError } from './config.ts'
import type { ServedBooks } from './open-books.ts'
import type { OpenTelemetry } from './open-telemetry.ts'
import { readinessChecks } from './show-gauges.ts'
import type { Wiring } from './wiring.ts'
import type { WorkerStart } from './worker-start.ts'
import { faultsAmong, MAIN_THREAD, PeerFaults } from './workers/peer-faults.ts'
import { ToldOnce } from './workers/told-once.ts'
import { type PreparedWorker, type WorkerLine, Workers } from './workers/workers.ts'
import { WriterLink } from './workers/writer-link.ts'

export interface OpenWorkersInput {
  readonly books: ServedBooks
  readonly catalog: Catalog
  readonly refresher: CatalogRefresher
  readonly reconciler: Reconciler
  readonly looksOn: OpenTelemetry
  /** Takes whole lines of the workers' logs. */
  readonly writeLog: (lines: string) => void
  /** The file that each worker runs. Default the program's own. */
  readonly workerEntry?: URL
}

/** Workers that serve, as the main thread sees them. */
export interface OpenWorkers {
  /** Where clients reach any of them. */
  readonly address: string
  /** One page of the metrics of all threads. */
  renderMetrics(own: Metrics): Promise<string>
  /** Resolves when no request is in flight and no settle under way. */
  settled(): Promise<void>
  /** One look of each worker for holds that it has forgotten; how many were ended. */
  lookForForgotten(): Promise<number>
  /** Tells the workers of the catalog as it is now; resolves when they have it. Never rejects. */
  catalogRefreshed(): Promise<void>
}

const SWEEP_RETRY_MS = 5_000
const LOOK_AT_FAULTS_MS = 1_000
const SHARES_PORTS = new Set<NodeJS.Platform>(['linux', 'freebsd'])

const REPLACING: ReadinessCheck = {
  name: 'serving',
  fault: 'A worker of this server has ended, and another is taking its place.',
}

/** Starts the workers, and resolves when all of them serve. Rejects where one can't. */
export async function openWorkers(wiring: Wiring, input: OpenWorkersInput): Promise<OpenWorkers> {
  await checkPort(wiring)
  const threads = new WorkerThreads(wiring, input)
  wiring.closing.defer(() => threads.close())
  await threads.start()
  return threads
}

/** All workers would share a port with whoever else does: it must be free before they listen. */
async function checkPort({ config: { HOST: host, PORT: port } }: Wiring): Promise<void> {
  if (!SHARES_PORTS.has(process.platform)) {
    throw new ConfigError(
      'WORKERS above 1 needs an operating system on which several threads listen on one port: Linux or FreeBSD. Set WORKERS=1.',
    )
  }
  if (port === 0) return
  const listening = Promise.withResolvers<void>()
  const server = createServer()
  server.once('error', listening.reject)
  server.listen({ host, port }, listening.resolve)
  await listening.promise
  const closed = Promise.withResolvers<void>()
  server.close(() => closed.resolve())
  await closed.promise
}

class WorkerThreads implements OpenWorkers {
  readonly #wiring: Wiring
  readonly #input: OpenWorkersInput
  readonly #workers: Workers
  readonly #faults = new PeerFaults()
  /** Those that have not ended, by their numbers. */
  readonly #known = new Map<number, KnownThread>()
  readonly #metrics = new SumMetrics()
  readonly #bufferCells: BigInt64Array
  readonly #stopping = new AbortController()
  #address: string | null = null
  #timer: NodeJS.Timeout | undefined
  #rendering: Promise<string> | null = null
  #telling: Promise<unknown> = Promise.resolve()

  constructor(wiring: Wiring, input: OpenWorkersInput) {
    const { config, log } = wiring
    this.#wiring = wiring
    this.#input = input
    const cellBytes = BigInt64Array.BYTES_PER_ELEMENT
    this.#bufferCells = new BigInt64Array(new SharedArrayBuffer((config.WORKERS + 1) * cellBytes))
    this.#workers = new Workers({
      entry: input.workerEntry ?? new URL('./worker.ts', import.meta.url),
      count: config.WORKERS,
      prepare: (number) => this.#prepare(number),
      onServing: (number, address) => {
        this.#address ??= address
        log.info({ worker: number }, 'worker serves')
        this.#lookAtFaults()
      },
      onEnded: ({ number, cause, retryMs }) => {
        const why = { code: codeOf(cause), cause: faultOf(cause) }
        log.error({ worker: number, ...why, retryMs }, 'worker ended: replacing it')
        this.#faults.forget(number)
        this.#lookAtFaults()
      },
    })
  }

  get address(): string {
    if (this.#address === null) throw new Error('no worker serves')
    return this.#address
  }

  async start(): Promise<void> {
    this.#lookAtFaults()
    await this.#workers.start()
    this.#timer = setInterval(() => this.#lookAtFaults(), LOOK_AT_FAULTS_MS)
    this.#timer.unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#stopping.abort()
    await this.#workers.stop()
  }

  renderMetrics(own: Metrics): Promise<string> {
    // However many ask, the threads are asked once at a time.
    this.#rendering ??= this.#render(own).finally(() => {
      this.#rendering = null
    })
    return this.#rendering
  }

  async settled(): Promise<void> {
    await this.#workers.waitForAll('settled', null)
  }

  async lookForForgotten(): Promise<number> {
    const swept = await this.#workers.waitForAll('lookForForgotten', null)
    return swept.reduce((sum, holds) => sum + holds, 0)
  }

  async catalogRefreshed(): Promise<void> {
    this.#telling = this.#workers.askAll('catalog', this.#input.catalog.rows())
    await this.#telling
  }

  async #render(own: Metrics): Promise<string> {
    // Who has a number now may have ended by then, and another have it.
    const asked = new Map(this.#known)
    const [mine, theirs] = await Promise.all([
      own.snapshot(),
      this.#workers.askAll('metrics', null),
    ])
    for (const [number, snapshot] of theirs) {
      const thread = asked.get(number)
      if (thread !== undefined) thread.metrics = snapshot
    }
    return this.#metrics.page([mine, ...[...this.#known.values()].map(({ metrics }) => metrics)])
  }

  #prepare(number: number): PreparedWorker {
    const { config, address: upstream, ids } = this.#wiring
    const { books, catalog } = this.#input
    const instanceId = ids.next('inst')
    const link = books.ledger instanceof SqliteLedger ? new WriterLink(books.ledger) : null
    const port = this.#address === null ? config.PORT : Number(new URL(this.#address).port)
    const faults = this.#faults.besides(number)
    const startWith: WorkerStart = {
      number,
      instanceId,
      config: { ...config, PORT: port },
      upstream,
      ledgerPort: link?.port ?? null,
      bufferCells: this.#bufferCells,
      catalogRows: catalog.rows(),
      faults,
    }
    return {
      startWith,
      transfer: link === null ? [] : [link.port],
      answers: this.#answersTo(number),
      meet: (line) => this.#meet(line, { number, link, faults }),
      clearUp: () => this.#clearUp({ number, instanceId, link }),
    }
  }

  #answersTo(number: number): PreparedWorker['answers'] {
    const { refresher, reconciler, looksOn, writeLog } = this.#input
    const { metrics } = looksOn
    return {
      log: (lines) => {
        writeLog(lines)
      },
      unsettled: (requests) => {
        for (const request of requests) reconciler.noticed(request)
      },
      swept: () => {
        reconciler.sweepNow()
      },
      faults: (faults) => {
        this.#faults.set(number, faults)
        this.#lookAtFaults()
      },
      refreshCatalog: async () => {
        const outcome = await refresher.refreshNow()
        await this.#telling
        return outcome
      },
      callersChanged: async () => {
        await this.#workers.askAll('forgetCallers', null)
      },
      maintenanceTurned: async () => {
        await this.#workers.askAll('askMaintenance', null)
      },
      metricsPage: () => (metrics === null ? '' : this.renderMetrics(metrics)),
    }
  }

  #meet(line: WorkerLine, { number, link, faults }: Met): void {
    link?.keep((port) => line.tell('ledgerPort', port, [port]))
    const tell = (news: readonly ReadinessCheck[]): void => line.tell('faults', news)
    this.#known.set(number, { faults: new ToldOnce({ tell, first: faults }), metrics: [] })
  }

  /** Nothing runs on the holds of a thread that is gone: they are ended as those of a dead process. */
  async #clearUp({ number, instanceId, link }: Ended): Promise<void> {
    const { log, clock } = this.#wiring
    const { books, reconciler } = this.#input
    const { store, ledger } = books
    const { signal } = this.#stopping
    Atomics.store(this.#bufferCells, number, 0n)
    this.#metrics.threadEnded(this.#known.get(number)?.metrics ?? [])
    this.#known.delete(number)
    await link?.ended()
    for (;;) {
      try {
        const swept = await endInstance({ store, ledger, instanceId, clock })
        if (swept > 0)
          log.warn({ worker: number, swept }, 'requests of a worker that ended: unresolved')
        // Whatever was swept now: an earlier try may have, and of its last settles it told nobody.
        reconciler.sweepNow()
        return
      } catch (cause) {
        log.error({ worker: number, cause: String(cause) }, 'holds of a worker could not be ended')
        // Whoever starts next finds them.
        if (signal.aborted) return
        await delay(SWEEP_RETRY_MS, null, { signal, ref: false }).catch(() => {})
      }
    }
  }

  /** Looks at this thread's own faults, and tells each worker what is wrong besides it. */
  #lookAtFaults(): void {
    const { looksOn, books, catalog } = this.#input
    const own = readinessChecks(looksOn, { books, catalog, isDraining: () => false })
    const missing = this.#workers.allServe ? [] : [REPLACING]
    this.#faults.set(MAIN_THREAD, [...missing, ...faultsAmong(own)])
    for (const [number, { faults }] of this.#known) faults.say(this.#faults.besides(number))
  }
}

/** Such as `ERR_WORKER_OUT_OF_MEMORY`; null where it has none. */
function codeOf(cause: unknown): string | null {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : null
}

interface KnownThread {
  /** What it is told of other threads. */
  readonly faults: ToldOnce<readonly ReadinessCheck[]>
  /** As it told them last; empty where nobody has asked. */
  metrics: MetricsSnapshot
}

interface Met {
  readonly number: number
  readonly link: WriterLink | null
  /** What it was started with. */
  readonly faults: readonly ReadinessCheck[]
}

interface Ended {
  readonly number: number
  readonly instanceId: string
  readonly link: WriterLink | null
}
