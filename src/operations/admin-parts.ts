import type { RefreshOutcome } from '../catalog/catalog-refresher.ts'
import type { LedgerBooks } from '../ledger/ledger.ts'
import type { Store } from '../store/open-store.ts'
import type { Clock } from '../vocabulary/clock.ts'
import type { IdSource } from '../vocabulary/ids.ts'

/** What the operations that commands run are made of. */
export interface CommandParts {
  readonly store: Store
  readonly books: Omit<LedgerBooks, 'sweepInstance' | 'sweepHolds'>
  readonly ids: IdSource
  readonly clock: Clock
  /** The `<tag>` of new API keys. */
  readonly keyTag: string
  readonly maintenance: MaintenanceSwitch
  /**
   * Told when a key or an account has changed; resolves once nothing in this process believes anything
   * older. Never rejects.
   */
  readonly onCallersChanged: () => Promise<void>
}

/** Whether inference is refused for every process of a store. */
export interface MaintenanceSwitch {
  readonly isOn: boolean | Promise<boolean>
  turn(to: 'on' | 'off'): Promise<void>
}

/** What the admin API is made of. */
export interface AdminParts extends CommandParts {
  /** Never rejects. */
  readonly refreshCatalog: () => Promise<RefreshOutcome>
}
