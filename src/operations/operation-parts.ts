import type { RefreshOutcome } from '../catalog/catalog-refresher.ts'
import type { LedgerBooks } from '../ledger/ledger.ts'
import type { Store } from '../store/open-store.ts'
import type { Clock } from '../vocabulary/clock.ts'
import type { IdSource } from '../vocabulary/ids.ts'

/** What a process has for its operations. */
export interface OperationParts {
  readonly store: Store
  readonly books: Omit<LedgerBooks, 'sweepInstance' | 'sweepHolds'>
  readonly ids: IdSource
  readonly clock: Clock
  /** The `<tag>` of new API keys. */
  readonly keyTag: string
  /** How long an unresolved hold stays reserved. */
  readonly settleAfterMs: number
  readonly maintenance: MaintenanceSwitch
  /** Fetches models and prices. `onImageModel` is called with the number of image models read so far. */
  readonly refreshCatalog: (onImageModel: (done: number) => void) => Promise<RefreshOutcome>
  /**
   * Called when a key or an account has changed; resolves once nothing in this process believes anything
   * older. Never rejects.
   */
  readonly onCallersChanged: () => Promise<void>
}

/** Whether inference is refused for every process of a store. */
export interface MaintenanceSwitch {
  readonly isOn: boolean | Promise<boolean>
  turn(to: 'on' | 'off'): Promise<void>
}
