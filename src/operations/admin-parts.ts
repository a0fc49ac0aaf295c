import type { RefreshOutcome } from '../catalog/catalog-refresher.ts'
import type { Maintenance } from '../journey/gate/maintenance.ts'
import type { LedgerBooks } from '../ledger/ledger.ts'
import type { Store } from '../store/open-store.ts'
import type { Clock } from '../vocabulary/clock.ts'
import type { IdSource } from '../vocabulary/ids.ts'

/** What the admin API is made of. */
export interface AdminParts {
  readonly store: Store
  readonly books: Pick<LedgerBooks, 'addCredit' | 'redeemCode' | 'correct'>
  readonly ids: IdSource
  readonly clock: Clock
  /** The `<tag>` of new API keys. */
  readonly keyTag: string
  readonly maintenance: Maintenance
  /** Never rejects. */
  readonly refreshCatalog: () => Promise<RefreshOutcome>
  /**
   * Told when a key or an account has changed; resolves once nothing in this process believes anything
   * older. Never rejects.
   */
  readonly onCallersChanged: () => Promise<void>
}
