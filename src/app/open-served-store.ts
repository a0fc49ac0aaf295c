import type { BatchedLedger } from '../ledger/engines/batched-ledger.ts'
import { createLedger } from '../ledger/engines/create-ledger.ts'
import type { StoreGap } from '../ledger/engines/went-back.ts'
import { openInstance } from '../ledger/instances/open-instance.ts'
import type { LedgerLimits } from '../ledger/ledger.ts'
import { listStoreGaps, recordStoreGap, removeOldMarks } from '../ledger/store-gaps.ts'
import { parseDatabaseUrl } from '../store/database-url.ts'
import type { StoreGapRow } from '../store/gap-tables.ts'
import type { MigratedSchemas } from '../store/migrate.ts'
import { openStore } from '../store/open-store.ts'
import { claimUpstream } from '../store/settings.ts'
import { findCopyAside } from '../store/sqlite/backup.ts'
import { BeatFile } from '../store/sqlite/beat-file.ts'
import { acquireServeLock } from '../store/sqlite/sqlite-connection.ts'
import type { Store } from '../store/store.ts'
import { storeFaultOf } from '../store/store-failure.ts'
import type { ConfiguredUpstreams } from '../upstreams/upstream-settings.ts'
import { type Clock, DAY_MS } from '../vocabulary/clock.ts'
import { countInWords } from '../vocabulary/count-in-words.ts'
import { showMicros } from '../vocabulary/money.ts'
import { type Config, storeUrlOf } from './config.ts'
import type { Wiring } from './wiring.ts'

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
  const beatFile = location.kind === 'sqlite' ? new BeatFile(location.file) : null
  if (location.kind === 'sqlite') {
    const lock = acquireServeLock(location.file)
    closing.defer(() => lock.release())
    beatFile?.check()
  }
  const store = await openMigrated(wiring, url)
  closing.defer(() => store.close())
  await claimUpstream(store.db, markOf(configured))
  const instanceId = ids.next('inst')
  const reporter = new StoreGapReporter(wiring, { store, instanceId })
  closing.defer(() => reporter.stop())
  await reporter.start()
  const ledger = createLedger({
    location: store.location,
    clock,
    limits: limitsOf(config),
    onCommit: (report) => telemetry.committed(report),
    wentBack: {
      instanceId,
      onWentBack(gap) {
        reporter.report(gap)
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
    isStoreDown: () => telemetry.readiness.isStoreDown,
    onBeat(beatAtMs) {
      telemetry.readiness.storeCommitted()
      beatFile?.write({ instanceId, beatAtMs })
    },
    onFailure: (cause) => {
      log.error({ cause: String(cause) }, 'the heartbeat could not be stored')
      telemetry.readiness.storeFailed(storeFaultOf(cause))
    },
  })
  closing.defer(() => instance.close())
  // Heartbeats have the time of this clock.
  await removeOldMarks(store.db, instance.nowMs())
  return { store, ledger, instanceId, isAlive: () => instance.isAlive(), storeClock: instance }
}

/** Opens the store and migrates it if needed, which the log says before and after. By position: the wiring, and its URL. */
async function openMigrated({ clock, log }: Wiring, url: string): Promise<Store> {
  const migrated: MigratedSchemas[] = []
  const store = await openStore({
    url,
    clock,
    migrateStore: 'always',
    onMigration(schemas) {
      migrated.push(schemas)
      log.info(
        schemas,
        'the store is of an older version and is migrated now, which can take minutes; a SQLite file is copied first',
      )
    },
  })
  const { location } = store
  for (const schemas of migrated) {
    const copy = location.kind === 'sqlite' ? findCopyAside(location.file, schemas.from) : null
    log.info({ ...schemas, copy }, 'the store is migrated')
  }
  return store
}

function limitsOf(config: Config): LedgerLimits {
  return {
    openHoldsMax: config.TOLLGATE_REQUESTS_IN_FLIGHT,
    keyRequestsPerMinuteMax: config.TOLLGATE_REQUESTS_PER_MINUTE,
    unbackedAccountRequestsPerMinuteMax: config.TOLLGATE_REQUESTS_PER_MINUTE_UNBACKED,
  }
}

const RECORD_RETRY_MS = 1_000

/** The commits that a database had lost when it went back, and how many are booked again, in a sentence. */
function wordsOf({ isAtLeast, ...gap }: StoreGap): string {
  const seconds = Math.round(Math.max(0, gap.untilMs - gap.fromMs) / 100) / 10
  return (
    `the database went back: ${isAtLeast ? 'at least ' : ''}${countInWords(gap.commits, 'commit')} of ${seconds} s ${gap.commits === 1 ? 'was' : 'were'} gone; ` +
    `${countInWords(gap.requests, 'request')} (${showMicros(gap.chargeMicros)}) and ${countInWords(gap.commands, 'other command')} are booked again, ${gap.lost} ${gap.lost === 1 ? 'is' : 'are'} lost`
  )
}

/** Records and reports where the database went back. */
class StoreGapReporter {
  readonly #wiring: Pick<Wiring, 'log' | 'ids' | 'telemetry' | 'clock'>
  readonly #store: Store
  readonly #instanceId: string
  #closed = false

  constructor(
    wiring: Pick<Wiring, 'log' | 'ids' | 'telemetry' | 'clock'>,
    { store, instanceId }: { readonly store: Store; readonly instanceId: string },
  ) {
    this.#wiring = wiring
    this.#store = store
    this.#instanceId = instanceId
  }

  /** Warns of the lost commits that any gateway found within the last day. */
  async start(): Promise<void> {
    const { clock, telemetry } = this.#wiring
    const [newest] = await listStoreGaps(this.#store.db, clock.nowMs() - DAY_MS)
    if (newest !== undefined) {
      const words = wordsOf({ ...newest, isAtLeast: false })
      telemetry.readiness.warnOfStore(words, newest.foundAtMs + DAY_MS)
    }
  }

  /** The database went back. */
  report(gap: StoreGap): void {
    const { log, ids, telemetry, clock } = this.#wiring
    const { isAtLeast: _isAtLeast, ...figures } = gap
    const foundAtMs = clock.nowMs()
    const row = { id: ids.next('gap'), instanceId: this.#instanceId, foundAtMs, ...figures }
    log.error({ ...row }, wordsOf(gap))
    telemetry.metrics?.storeWentBack(gap)
    telemetry.readiness.warnOfStore(wordsOf(gap), foundAtMs + DAY_MS)
    void this.#record(row)
  }

  stop(): void {
    this.#closed = true
  }

  /** The server has just changed: it is asked until it takes the row. */
  async #record(row: StoreGapRow): Promise<void> {
    while (!this.#closed) {
      try {
        await recordStoreGap(this.#store.db, row)
        return
      } catch {
        await new Promise((resolve) => setTimeout(resolve, RECORD_RETRY_MS).unref())
      }
    }
  }
}

/** The mark of a store, which tells real money from play money. Any upstream of real money takes over from any other. */
function markOf({ mode, upstreams: [first] }: ConfiguredUpstreams): string {
  return mode === 'simulator' ? 'simulator' : first.baseUrl
}
