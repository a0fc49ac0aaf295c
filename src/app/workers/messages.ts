import type { MessagePort } from 'node:worker_threads'
import type { RefreshOutcome } from '../../catalog/catalog-refresher.ts'
import type { CatalogRow } from '../../catalog/row.ts'
import type { ReadinessCheck } from '../../http/health.ts'
import type { UnsettledRequest } from '../../ledger/activity/list-unsettled.ts'
import type { MetricsSnapshot } from '../../telemetry/metrics.ts'

/** What the main thread asks and tells a worker. */
export type AskedOfWorker = {
  /** Answered at once: who does not answer stands still. */
  readonly alive: { readonly asked: null; readonly answer: undefined }
  /** The catalog has been refreshed: these are its rows from now on. */
  readonly catalog: { readonly asked: readonly CatalogRow[]; readonly answer: undefined }
  /** A key or an account has changed. */
  readonly forgetCallers: { readonly asked: null; readonly answer: undefined }
  /** Maintenance has been turned on or off. */
  readonly askMaintenance: { readonly asked: null; readonly answer: undefined }
  /** What is wrong with other threads, for `/readyz`. */
  readonly faults: { readonly asked: readonly ReadinessCheck[]; readonly answer: undefined }
  /** A port to the thread that writes the ledger, in the place of one that has closed. */
  readonly ledgerPort: { readonly asked: MessagePort; readonly answer: undefined }
  readonly metrics: { readonly asked: null; readonly answer: MetricsSnapshot }
  /** Answered when no request is in flight and no settle under way. */
  readonly settled: { readonly asked: null; readonly answer: undefined }
  /** One look for holds of its own that it has forgotten; how many it has ended. */
  readonly lookForForgotten: { readonly asked: null; readonly answer: number }
  /** Answered when its requests have ended and everything of it is closed. */
  readonly stop: { readonly asked: null; readonly answer: undefined }
}

/** What a worker asks and tells the main thread. */
export type AskedOfMain = {
  /** It listens, at this address. */
  readonly serving: { readonly asked: string; readonly answer: undefined }
  /** Whole lines for the log. */
  readonly log: { readonly asked: string; readonly answer: undefined }
  /** Requests that have just become provisional or unresolved. */
  readonly unsettled: { readonly asked: readonly UnsettledRequest[]; readonly answer: undefined }
  /** Holds that nobody ran any more have become unresolved. */
  readonly swept: { readonly asked: null; readonly answer: undefined }
  /** What is wrong with it, where that has changed. */
  readonly faults: { readonly asked: readonly ReadinessCheck[]; readonly answer: undefined }
  readonly refreshCatalog: { readonly asked: null; readonly answer: RefreshOutcome }
  /** Answered when all other workers know. */
  readonly callersChanged: { readonly asked: null; readonly answer: undefined }
  /** Answered when all other workers know. */
  readonly maintenanceTurned: { readonly asked: null; readonly answer: undefined }
  /** The metrics of all threads together, as a page. */
  readonly metricsPage: { readonly asked: null; readonly answer: string }
}
