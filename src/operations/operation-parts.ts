import type { ModelNotOffered, RefreshOfAll } from '../catalog/catalog-refreshers.ts'
import type { CatalogRow } from '../catalog/claims.ts'
import type { ChargedModel } from '../catalog/served-models.ts'
import type { ChangedCallers } from '../journey/gate/caller.ts'
import type { Maintenance } from '../journey/gate/maintenance.ts'
import type { CommandedLedger } from '../ledger/commands.ts'
import type { Letter } from '../mail/letter.ts'
import type { RequestSchedule, ScheduledRequest } from '../reconcile/schedule.ts'
import type { Sale } from '../sale/sale.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../vocabulary/clock.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import type { Decimal } from '../vocabulary/money.ts'

/** The deployment's limits of each key. */
export interface KeyLimits {
  readonly requestsPerMinuteMax: number
  readonly inFlightMax: number
  /** The most keys that the members of an account can have in it, and can create in 24 hours. */
  readonly accountKeysMax: number
}

/** The parts of a process that operations use. */
export interface OperationParts {
  readonly store: Store
  readonly ledger: CommandedLedger
  /** Null: the gateway sells no credit. */
  readonly sale: Sale | null
  /** The seller on receipts; null: it is not set. */
  readonly seller: { readonly name: string | null; readonly taxId: string | null }
  readonly ids: IdSource
  readonly clock: Clock
  /** The `<tag>` of new API keys. */
  readonly keyTag: string
  /** The limits of keys without their own. */
  readonly keyLimits: KeyLimits
  /** The address of the page for browsers, without `/app`. Links begin with it. */
  readonly pageUrl: string
  /** The name of the service; null: the operator gave it none. */
  readonly serviceName: string | null
  /** Queues an email, which is sent later; null: no email is sent. */
  readonly postLetter: ((letter: Letter, untilMs: number) => void) | null
  /** Networks that are not public, but that webhooks can be sent to. */
  readonly webhookNetworks: readonly string[]
  readonly maintenance: Maintenance
  /** The state of a serving process; null: it serves nothing. */
  readonly server: {
    readonly version: string
    readonly mode: 'simulator' | 'live'
    /** The checks of `/readyz`, and of the mail server: the fault of each, or null. */
    checks(): readonly {
      readonly name: string
      readonly fault: string | null
      readonly warning?: string
    }[]
    catalog(): {
      readonly models: number
      /** Null: no list was ever loaded. */
      readonly refreshedAtMs: number | null
      /** Models with a figure that fell steeply and is not used yet. */
      readonly doubtedIds: readonly string[]
    }
    /** The models at the prices that an account with this fee is charged, in hundredths of a percent; null: at each model's own. */
    modelsAt(feeBasisPoints: number | null): readonly ChargedModel[]
    /** Every row of the catalog: a model at each of its upstreams. `isStale`: its prices are so old that requests are refused. */
    catalogRows(): readonly (CatalogRow & { readonly isStale: boolean })[]
    /** The models that upstreams list and the gateway does not offer, and why. */
    notOffered(): readonly ModelNotOffered[]
    verification(): VerificationReport
    /** When an unsettled request is looked up, and when it is settled without a cost. By position: it, its upstream. */
    scheduleOf(request: ScheduledRequest, upstream: string): RequestSchedule
    /** Called when the result of an audit could not be noted for webhooks. */
    onReportFailure(cause: unknown): void
  } | null
  /** The configured upstreams in order; none if the built-in simulator answers. Rejects if their settings are wrong. */
  readonly upstreams: () => Promise<readonly UpstreamFacts[]>
  /** Fetches models and prices. `onImageModel` is called with the number of image models read so far. */
  readonly refreshCatalog: (onImageModel: (done: number) => void) => Promise<RefreshOfAll>
  /**
   * Called when a key or an account has changed. Resolves once nothing in this process uses older
   * data. Never rejects.
   */
  readonly onCallersChanged: (changed: ChangedCallers) => Promise<void>
  /**
   * Called when admin tokens were made or revoked, with the IDs of the revoked ones. From then on, this process uses no older
   * data, and refuses the revoked ones also if the database loses that. Never rejects.
   */
  readonly onAdminTokensChanged: (revokedIds: readonly string[]) => Promise<void>
}

/** How reported costs are verified now. */
export interface VerificationReport {
  readonly lookups: 'verify' | 'all'
  /** The units whose reported costs are all looked up, in words. */
  readonly doubted: readonly string[]
  /**
   * Whether the usage of our key went with the booked costs when they were last compared; null: never, or it can't
   * be.
   */
  readonly keyUsageAgrees: boolean | null
}

/** The state of an upstream as a process knows it, without its address and its key. */
export interface UpstreamFacts {
  readonly name: string
  readonly dialect: string
  /** The most calls at once; null: no limit. */
  readonly inFlightMax: number | null
  /** Whether it last refused the gateway's key or has no credit left for it; false if this is not known. */
  readonly isAccountRefused: boolean
  /** The remaining limit of the gateway's key, in dollars; null: not known. */
  readonly left: Decimal | null
}
