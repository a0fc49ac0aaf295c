import type { Logger } from 'pino'
import type { RefreshOutcome } from '../catalog/catalog-refresher.ts'
import type { EndpointRead } from '../catalog/endpoint-prices.ts'
import { accountRefusal } from '../formats/provider-error.ts'
import type { EndedRequest } from '../http/inference.ts'
import type { CommitReport } from '../ledger/engines/batched-ledger.ts'
import type { StoreGap } from '../ledger/engines/went-back.ts'
import type { KeyUsageLook } from '../reconcile/key-usage.ts'
import type { Doubt } from '../reconcile/lookups.ts'
import type { BilledLate, ReconcileFailure, Settlement } from '../reconcile/reconciler.ts'
import type { ChainLook } from '../sale/chain-look.ts'
import type { Replication } from '../store/postgres/replication.ts'
import { RowsLocked, StoreUnavailable, storeFaultOf } from '../store/store-failure.ts'
import { type KeyUsageAnswer, UpstreamRefusesAccount } from '../upstreams/upstream.ts'
import type { DeliveryOutcome } from '../webhooks/deliveries.ts'
import type { Metrics } from './metrics.ts'
import type { RequestExport } from './otlp-export.ts'
import type { AccountCall, Readiness } from './readiness.ts'

interface TelemetryParts {
  readonly log: Logger
  readonly readiness: Readiness
  /** Null: metrics are off. */
  readonly metrics: Metrics | null
  /** Null: traces are off. */
  readonly tracer: RequestExport | null
  /** Null: no metrics go to a collector. */
  readonly meter: RequestExport | null
}

/**
 * Takes the events of the gateway's parts and passes them to readiness, metrics and traces. No method throws
 * or waits, and none is called for an event of a stream.
 */
export class Telemetry {
  readonly #parts: TelemetryParts

  constructor(parts: TelemetryParts) {
    this.#parts = parts
  }

  /** A request has ended, and its log line is written. */
  requestEnded(ended: EndedRequest): void {
    this.#parts.metrics?.requestEnded(ended)
    this.#parts.tracer?.requestEnded(ended)
    this.#parts.meter?.requestEnded(ended)
    const { problem, record } = ended
    const call =
      record.upstream === null ? null : { upstream: record.upstream, asker: 'request' as const }
    if (problem === null) {
      if (record.state !== null && call !== null) this.#accountAccepted(call)
    } else if (problem.cause instanceof StoreUnavailable) {
      // Locked rows are those of one account: the store works.
      if (!(problem.cause instanceof RowsLocked)) {
        this.#parts.readiness.storeFailed(problem.cause.fault)
      }
    } else if (call !== null) {
      const refusal = accountRefusal(problem)
      const { accountId: likelyOf } = record
      if (refusal === 'said') this.#accountRefused(call)
      if (refusal === 'likely' && likelyOf !== null) this.#accountRefused({ ...call, likelyOf })
    }
  }

  /** The store has taken a heartbeat. */
  heartbeatStored(): void {
    this.#parts.readiness.storeCommitted()
  }

  /** The store has not taken a heartbeat. */
  heartbeatFailed(cause: unknown): void {
    this.#parts.readiness.storeFailed(storeFaultOf(cause))
  }

  /** Whether the store has taken nothing since it failed. */
  get isStoreDown(): boolean {
    return this.#parts.readiness.isStoreDown
  }

  /** The ledger has tried to commit a batch. */
  committed(report: CommitReport): void {
    this.#parts.metrics?.committed(report)
    // A refused command proves nothing, nor does a commit without a write: a server that takes no writes does both.
    if (report.failure !== null) this.#parts.readiness.storeFailed(report.failure.fault)
    else if (report.outcome === 'committed') this.#parts.readiness.storeCommitted()
  }

  /** The database had lost commits, and what could be is booked again. */
  storeWentBack(gap: StoreGap): void {
    this.#parts.metrics?.storeWentBack(gap)
  }

  /** The server has said how a standby follows it. By position: the kind; null: it did not say. */
  replicationRead(kind: Replication['kind'] | null): void {
    this.#parts.metrics?.replicationRead(kind)
  }

  /** By position: what operators are warned of about the store, and until when. */
  storeHadGone(words: string, untilMs: number): void {
    this.#parts.readiness.warnOfStore(words, untilMs)
  }

  /** A peer that is not named as a proxy has sent the address of another. */
  metUnnamedProxy(): void {
    this.#parts.readiness.warnOfProxy()
  }

  /** A refresh of an upstream's models has ended, and the catalog has its result. */
  catalogRefreshed(outcome: RefreshOutcome, upstream: string): void {
    this.#parts.metrics?.catalogRefreshed(outcome, upstream)
    if (outcome.kind === 'refreshed') this.#accountAccepted({ upstream, asker: 'catalog' })
    else if (outcome.cause instanceof UpstreamRefusesAccount)
      this.#accountRefused({ upstream, asker: 'catalog' })
  }

  /** A read of a model's endpoint prices has ended or failed. */
  endpointsRead(read: EndpointRead): void {
    this.#parts.metrics?.endpointsRead(read)
  }

  /** The reconciler has settled a request. */
  reconciled(settlement: Settlement): void {
    this.#parts.metrics?.reconciled(settlement)
  }

  /** So many reported costs stood without a look-up. */
  stood(requests: number): void {
    this.#parts.metrics?.stood(requests)
  }

  /** This process has learned of a doubt in reported costs, or of the end of one. */
  doubtChanged(change: { readonly isOpen: boolean }): void {
    this.#parts.metrics?.doubtChanged(change)
  }

  /** An upstream was asked what our key has used. By position: its name, and its answer. */
  keyAnswered(upstream: string, answer: KeyUsageAnswer): void {
    this.#parts.metrics?.creditLeft(upstream, answer.kind === 'found' ? answer.leftUsd : null)
    if (answer.kind === 'found') {
      this.#accountAccepted({ upstream, asker: 'key' })
    } else if (answer.kind === 'refused')
      this.#accountRefused({ upstream, asker: 'key', said: answer.cause.message })
  }

  /** The usage of the provider's key was read and compared. */
  keyUsageLooked(result: KeyUsageLook['kind']): void {
    this.#parts.metrics?.keyUsageLooked(result)
  }

  /** A query of the reconciler has failed. */
  reconcileFailed(failure: ReconcileFailure): void {
    this.#parts.metrics?.reconcileFailed(failure)
  }

  /** The provider billed a request that was released. */
  billedLate(billed: BilledLate): void {
    this.#parts.metrics?.billedLate(billed)
  }

  /** A record of the provider is in doubt. */
  lookupDoubted(doubt: Doubt): void {
    this.#parts.metrics?.lookupDoubted(doubt)
  }

  /** A look at the chain has ended; null: the store failed. */
  chainLooked(look: ChainLook | null): void {
    this.#parts.metrics?.chainLooked(look)
  }

  /** A node of the chain, by its host, has failed a question. */
  chainNodeFailed(node: string): void {
    this.#parts.metrics?.chainNodeFailed(node)
  }

  /** An attempt to send a message to a webhook has ended. */
  webhookSent(event: string, outcome: DeliveryOutcome): void {
    this.#parts.metrics?.webhookSent(event, outcome)
  }

  #accountRefused(call: AccountCall): void {
    if (!this.#parts.readiness.accountRefused(call)) return
    this.#parts.log.error(
      call,
      'the provider refuses the gateway: check the API key of this upstream and the credit behind it',
    )
  }

  #accountAccepted(call: AccountCall): void {
    if (!this.#parts.readiness.accountAccepted(call)) return
    this.#parts.log.info(call, 'the provider accepts the gateway again')
  }
}
