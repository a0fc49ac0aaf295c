import type { BatchedLedger } from '../ledger/engines/batched-ledger.ts'
import { createLedger } from '../ledger/engines/create-ledger.ts'
import { openInstance } from '../ledger/instances/open-instance.ts'
import type { LedgerLimits } from '../ledger/ledger.ts'
import { parseDatabaseUrl } from '../store/database-url.ts'
import { openStore } from '../store/open-store.ts'
import { claimUpstream } from '../store/settings.ts'
import { acquireServeLock } from '../store/sqlite/sqlite-connection.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../vocabulary/clock.ts'
import { type Config, storeUrlOf } from './config.ts'
import { StoreGapTeller } from './store-gaps.ts'
import { markOf, type Wiring } from './wiring.ts'

/** A store with its ledger, and this process's place among those that open holds. */
export interface ServedStore {
  readonly store: Store
  readonly ledger: BatchedLedger
  readonly instanceId: string
  readonly isAlive: () => boolean
  /** The time that is in the store's rows. */
  readonly storeClock: Clock
}

/**
 * Opens the store that this process serves from. A SQLite store is served by one process; tables are migrated first.
 * `onAbandoned` is called when holds of dead processes have become unresolved, `onWentBack` when the database had lost
 * commits, and with them perhaps prices.
 */
export async function openServedStore(
  wiring: Wiring,
  {
    onAbandoned,
    onWentBack,
  }: { readonly onAbandoned: () => void; readonly onWentBack: () => void },
): Promise<ServedStore> {
  const { config, configured, log, clock, ids, telemetry, closing } = wiring
  const url = storeUrlOf(config)
  // Before anything is migrated or marked: no other process may be serving from this store.
  const location = parseDatabaseUrl(url)
  if (location.kind === 'sqlite') {
    const lock = acquireServeLock(location.file)
    closing.defer(() => lock.release())
  }
  const store = await openStore({ url, clock, migrateStore: 'always' })
  closing.defer(() => store.close())
  await claimUpstream(store.db, markOf(configured))
  const instanceId = ids.next('inst')
  const teller = new StoreGapTeller(wiring, { store, instanceId })
  closing.defer(() => teller.stop())
  await teller.start()
  const ledger = createLedger({
    location: store.location,
    clock,
    limits: limitsOf(config),
    onCommit: (report) => telemetry.committed(report),
    wentBack: {
      instanceId,
      onWentBack(gap) {
        teller.tell(gap)
        onWentBack()
      },
    },
  })
  closing.defer(() => ledger.close())
  const instance = await openInstance({
    store,
    ledger,
    instanceId,
    clock,
    onAbandoned: (swept) => {
      log.warn({ swept }, 'requests of a dead process were in flight and are unresolved now')
      onAbandoned()
    },
    isStoreDown: () => telemetry.isStoreDown,
    onBeat: () => telemetry.heartbeatStored(),
    onFailure: (cause) => {
      log.error({ cause: String(cause) }, 'the heartbeat could not be stored')
      telemetry.heartbeatFailed(cause)
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
