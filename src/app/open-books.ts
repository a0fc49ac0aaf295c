import { AttachedLedger } from '../ledger/engines/attached-ledger.ts'
import type { BatchedLedger } from '../ledger/engines/batched-ledger.ts'
import { openLedger } from '../ledger/engines/open-ledger.ts'
import { type Instance, openInstance } from '../ledger/instances/open-instance.ts'
import type { LedgerLimits } from '../ledger/ledger.ts'
import { parseDatabaseUrl } from '../store/database-url.ts'
import { openStore, type Store } from '../store/open-store.ts'
import { claimUpstream } from '../store/settings.ts'
import { acquireServeLock } from '../store/sqlite/serve-lock.ts'
import type { Clock } from '../vocabulary/clock.ts'
import type { Config } from './config.ts'
import { storeUrlOf } from './config.ts'
import { sourceOf, type Wiring } from './wiring.ts'
import type { WorkerStart } from './worker-start.ts'

/** A store with its ledger, and this thread's place among those that open holds. */
export interface ServedBooks {
  readonly store: Store
  readonly ledger: BatchedLedger
  readonly instanceId: string
  readonly isAlive: () => boolean
  /** The time that is in the store's rows. */
  readonly storeClock: Clock
}

interface OpenBooksInput {
  /** Told when holds of dead processes have become unresolved. */
  readonly onSwept: () => void
}

/** Opens the books of a process: nobody else serves from a SQLite store, and its tables are up to date. */
export async function openBooks(wiring: Wiring, { onSwept }: OpenBooksInput): Promise<ServedBooks> {
  const { config, address, clock, ids, telemetry, closing } = wiring
  const url = storeUrlOf(config)
  // Before anything is migrated or swept: nobody else may be serving from this store.
  const location = parseDatabaseUrl(url)
  if (location.kind === 'sqlite') {
    const lock = acquireServeLock(location.file)
    closing.defer(() => lock.release())
  }
  const store = await openStore({ url, clock, migrateStore: 'always' })
  closing.defer(() => store.close())
  await claimUpstream(store.db, sourceOf(address))
  const ledger = openLedger({
    location,
    clock,
    limits: limitsOf(config),
    onCommit: (report) => telemetry.committed(report),
  })
  closing.defer(() => ledger.close())
  return joinInstances(wiring, {
    store,
    ledger,
    instanceId: ids.next('inst'),
    isBesideOthers: false,
    onSwept,
  })
}

/** The books of a worker thread, and what attaches its ledger to the thread that writes another time. */
export interface WorkerBooks extends ServedBooks {
  /** Null on PostgreSQL, where each worker has a connection of its own. */
  readonly attachedLedger: AttachedLedger | null
}

/** Opens the books of a worker thread, beside the main thread's. */
export async function openWorkerBooks(
  wiring: Wiring,
  {
    instanceId,
    ledgerPort,
    onSwept,
  }: OpenBooksInput & Pick<WorkerStart, 'instanceId' | 'ledgerPort'>,
): Promise<WorkerBooks> {
  const { config, clock, telemetry, closing } = wiring
  const store = await openStore({ url: storeUrlOf(config), clock })
  closing.defer(() => store.close())
  const settings = {
    clock,
    limits: limitsOf(config),
    onCommit: telemetry.committed.bind(telemetry),
  }
  const attachedLedger = ledgerPort === null ? null : new AttachedLedger(settings)
  if (ledgerPort !== null) attachedLedger?.attach(ledgerPort)
  const ledger = attachedLedger ?? openLedger({ location: store.location, ...settings })
  closing.defer(() => ledger.close())
  const books = await joinInstances(wiring, {
    store,
    ledger,
    instanceId,
    isBesideOthers: true,
    onSwept,
  })
  return { ...books, attachedLedger }
}

interface JoinInput {
  readonly store: Store
  readonly ledger: BatchedLedger
  readonly instanceId: string
  readonly isBesideOthers: boolean
  readonly onSwept: () => void
}

async function joinInstances(
  { log, clock, telemetry, closing }: Wiring,
  { store, ledger, instanceId, isBesideOthers, onSwept }: JoinInput,
): Promise<ServedBooks> {
  const instance: Instance = await openInstance({
    store,
    ledger,
    instanceId,
    clock,
    isBesideOthers,
    onSwept: (swept) => {
      log.warn({ swept }, 'requests of a dead process were in flight: unresolved')
      onSwept()
    },
    onBeat: () => telemetry.heartbeatStored(),
    onFailure: (cause) => {
      log.error({ cause: String(cause) }, 'the heartbeat could not be stored')
      telemetry.heartbeatFailed()
    },
  })
  closing.defer(() => instance.close())
  return { store, ledger, instanceId, isAlive: () => instance.isAlive(), storeClock: instance }
}

function limitsOf(config: Config): LedgerLimits {
  return {
    openHoldsMax: config.TOLLGATE_REQUESTS_IN_FLIGHT,
    keyRequestsPerMinuteMax: config.TOLLGATE_REQUESTS_PER_MINUTE,
    unbackedAccountRequestsPerMinuteMax: config.TOLLGATE_REQUESTS_PER_MINUTE_UNBACKED,
  }
}
