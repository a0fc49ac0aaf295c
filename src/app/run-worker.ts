import { randomFillSync } from 'node:crypto'
import type { MessagePort } from 'node:worker_threads'
import { Catalog } from '../catalog/catalog.ts'
import type { EndpointPrices } from '../catalog/endpoint-prices.ts'
import { FORMATS } from '../formats/formats.ts'
import type { ReadinessCheck } from '../http/health.ts'
import { createSharedByteBudget } from '../journey/gate/byte-budget.ts'
import type { UnsettledRequest } from '../ledger/activity/list-unsettled.ts'
import { openrouter } from '../upstreams/openrouter/openrouter.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { createIdSource } from '../vocabulary/ids.ts'
import { catalogSettingsOf } from './config.ts'
import { openThreadLog } from './log.ts'
import { openWorkerBooks, type WorkerBooks } from './open-books.ts'
import { openServing, type Serving } from './open-serving.ts'
import { type OpenTelemetry, openTelemetry } from './open-telemetry.ts'
import { openEndpointPrices, openUpstream } from './open-upstream.ts'
import { readinessChecks, showGauges } from './show-gauges.ts'
import type { Wiring } from './wiring.ts'
import type { WorkerStart } from './worker-start.ts'
import { Line, type LineMessage } from './workers/line.ts'
import type { AskedOfMain, AskedOfWorker } from './workers/messages.ts'
import { faultsAmong, withFaultsOfOthers } from './workers/peer-faults.ts'
import { ToldOnce } from './workers/told-once.ts'

/** The worker's side of its line to the main thread. */
type MainLine = Line<AskedOfMain, AskedOfWorker>

// What a worker that dies has not told by then is found by the reconciler's next sweep of the store.
const TELL_UNSETTLED_MS = 100
const LOOK_AT_FAULTS_MS = 1_000

/**
 * Serves in a worker thread until the main thread has it stop: by position, the line's port and what it
 * begins with. Rejects where it can't start.
 */
export async function runWorker(port: MessagePort, start: WorkerStart): Promise<void> {
  const closing = new AsyncDisposableStack()
  const opened = Promise.withResolvers<OpenWorker>()
  // Who asks before is answered by the failure to open, which ends the thread.
  opened.promise.catch(() => {})
  const line: MainLine = new Line({
    post: (message, ports) => port.postMessage(message, ports),
    answers: answersOf(opened.promise, closing),
  })
  port.on('message', (message: LineMessage<AskedOfMain, AskedOfWorker>) => line.received(message))
  const { log, flush } = openThreadLog({
    level: start.config.LOG_LEVEL,
    worker: start.number,
    post: (lines) => line.tell('log', lines),
  })
  closing.defer(flush)
  // What it wrote of its last moments is what tells why they were.
  process.on('uncaughtExceptionMonitor', flush)
  try {
    const worker = await open({ start, line, log, closing })
    opened.resolve(worker)
    line.tell('serving', worker.serving.address)
  } catch (error) {
    opened.reject(error)
    await closing.disposeAsync()
    throw error
  }
}

/** A worker, once it serves. */
interface OpenWorker {
  readonly books: WorkerBooks
  readonly catalog: Catalog
  readonly endpoints: EndpointPrices
  readonly looksOn: OpenTelemetry
  readonly serving: Serving
  /** What is wrong with other threads. */
  readonly others: { faults: readonly ReadinessCheck[] }
}

interface OpenInput {
  readonly start: WorkerStart
  readonly line: MainLine
  readonly log: Wiring['log']
  readonly closing: AsyncDisposableStack
}

async function open({ start, line, log, closing }: OpenInput): Promise<OpenWorker> {
  const { config, upstream: address } = start
  const clock = systemClock
  const ids = createIdSource({ clock, fillRandom: (bytes) => randomFillSync(bytes) })
  const opening = {
    config,
    formats: FORMATS,
    dialect: openrouter,
    address,
    log,
    clock,
    ids,
    closing,
  }
  const looksOn = await openTelemetry(opening, {
    thread: 'worker',
    renderAll: () => line.ask('metricsPage', null),
  })
  const { telemetry } = looksOn
  const wiring: Wiring = { ...opening, telemetry }
  const onSwept = (): void => line.tell('swept', null)
  const books = await openWorkerBooks(wiring, { ...start, onSwept })
  const catalog = new Catalog({ clock, settings: catalogSettingsOf(config) })
  if (start.catalogRows.length > 0) catalog.replace(start.catalogRows)
  const upstream = openUpstream(wiring)
  const endpoints = openEndpointPrices(wiring, upstream)
  const byteBudget = createSharedByteBudget({
    bytesMax: config.TOLLGATE_BUFFER_BYTES_MAX,
    cells: start.bufferCells,
    place: start.number,
  })
  const others = { faults: start.faults }
  const serving = await openServing(wiring, {
    books,
    catalog,
    endpoints,
    upstream,
    byteBudget,
    onUnsettled: tellUnsettled(line, closing),
    onSwept,
    refreshCatalog: () => line.ask('refreshCatalog', null),
    onCallersChanged: () => line.ask('callersChanged', null),
    onMaintenanceTurned: () => line.ask('maintenanceTurned', null),
    metricsRoute: looksOn.metricsRoute,
    readiness: (isDraining) =>
      withFaultsOfOthers(readinessChecks(looksOn, { books, catalog, isDraining }), others),
  })
  showGauges(wiring, {
    looksOn,
    books,
    catalog,
    serving: { inference: serving.inference, byteBudget },
    reconciler: null,
  })
  tellFaults(line, () =>
    readinessChecks(looksOn, { books, catalog, isDraining: () => serving.inference.isDraining }),
  )
  return { books, catalog, endpoints, looksOn, serving, others }
}

/** By position: the worker, once it is open, and what closes it. */
function answersOf(
  opened: Promise<OpenWorker>,
  closing: AsyncDisposableStack,
): ConstructorParameters<typeof Line<AskedOfMain, AskedOfWorker>>[0]['answers'] {
  return {
    alive: () => undefined,
    catalog: async (rows) => {
      const { catalog, endpoints, looksOn } = await opened
      catalog.replace(rows)
      void endpoints.refresh(catalog.modelIds)
      looksOn.metrics?.catalogReplaced()
    },
    forgetCallers: async () => {
      ;(await opened).serving.authenticator.forget()
    },
    askMaintenance: async () => {
      await (await opened).serving.maintenance.askAgain()
    },
    faults: async (faults) => {
      ;(await opened).others.faults = faults
    },
    ledgerPort: async (port) => {
      ;(await opened).books.attachedLedger?.attach(port)
    },
    metrics: async () => (await (await opened).looksOn.metrics?.snapshot()) ?? [],
    settled: async () => {
      await (await opened).serving.settled()
    },
    lookForForgotten: async () => (await opened).serving.forgottenHolds.look(),
    stop: async () => {
      await opened
      await closing.disposeAsync()
    },
  }
}

/** Tells of many at once: a message for each would cost the main thread a part of each request. */
function tellUnsettled(
  line: MainLine,
  closing: AsyncDisposableStack,
): (request: UnsettledRequest) => void {
  let untold: UnsettledRequest[] = []
  const tell = (): void => {
    if (untold.length > 0) line.tell('unsettled', untold)
    untold = []
  }
  const timer = setInterval(tell, TELL_UNSETTLED_MS)
  timer.unref()
  closing.defer(() => {
    clearInterval(timer)
    tell()
  })
  return (request) => void untold.push(request)
}

/** By position: the line, and the checks of this thread. */
function tellFaults(line: MainLine, checks: () => readonly ReadinessCheck[]): void {
  const told = new ToldOnce<readonly ReadinessCheck[]>({
    tell: (faults) => line.tell('faults', faults),
    first: [],
  })
  setInterval(() => told.say(faultsAmong(checks())), LOOK_AT_FAULTS_MS).unref()
}
