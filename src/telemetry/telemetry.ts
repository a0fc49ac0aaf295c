import type { Logger } from 'pino'
import type { RefreshOutcome } from '../catalog/catalog-refresher.ts'
import { accountRefusal, type RefusedFor } from '../formats/provider-error.ts'
import type { EndedRequest } from '../http/inference.ts'
import type { CommitReport } from '../ledger/engines/batched-ledger.ts'
import { NotDone, StoreUnavailable } from '../store/store-failure.ts'
import { type KeyUsageAnswer, UpstreamRefusesAccount } from '../upstreams/provider-records.ts'
import type { Metrics } from './metrics.ts'
import type { RequestExport } from './otlp-export.ts'
import type { AccountCall, AccountRefused, Readiness } from './readiness.ts'

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
 * Takes the events of the gateway's parts that concern readiness or traces, and counts them. Events that are only counted
 * go to `metrics`. No method throws or waits, and none is called for an event of a stream.
 */
export class Telemetry {
  /** Null: metrics are off. */
  readonly metrics: Metrics | null
  readonly readiness: Readiness
  readonly #parts: TelemetryParts

  constructor(parts: TelemetryParts) {
    this.metrics = parts.metrics
    this.readiness = parts.readiness
    this.#parts = parts
  }

  /** A request has ended, and its log line is written. */
  requestEnded(ended: EndedRequest): void {
    this.metrics?.requestEnded(ended)
    this.#parts.tracer?.requestEnded(ended)
    this.#parts.meter?.requestEnded(ended)
    const { problem, record } = ended
    const call =
      record.upstream === null ? null : { upstream: record.upstream, asker: 'request' as const }
    if (problem === null) {
      // A stream can report after its 200 that our account is refused.
      const isAccepted = record.state !== null && record.errorCode !== 'service_unavailable'
      if (isAccepted && call !== null) this.#accountAccepted(call)
    } else if (problem.cause instanceof StoreUnavailable) {
      // With one account's rows locked or one right missing, the store works.
      if (!(problem.cause instanceof NotDone)) {
        this.readiness.storeFailed(problem.cause.fault)
      }
    } else if (call !== null) {
      const refusal = accountRefusal(problem)
      const { accountId: likelyOf } = record
      if (refusal === null) return
      const { refusedFor, isOnlyLikely } = refusal
      if (!isOnlyLikely) this.#accountRefused({ ...call, refusedFor })
      else if (likelyOf !== null) this.#accountRefused({ ...call, refusedFor, likelyOf })
    }
  }

  /** The ledger has tried to commit a batch. */
  committed(report: CommitReport): void {
    this.metrics?.committed(report)
    // A refused command proves nothing, nor does a commit without a write: a server that takes no writes does both.
    if (report.failure !== null) this.readiness.storeFailed(report.failure.fault)
    else if (report.outcome === 'committed') this.readiness.storeCommitted()
  }

  /** A refresh of an upstream's models has ended, and the catalog has its result. */
  catalogRefreshed(outcome: RefreshOutcome, upstream: string): void {
    this.metrics?.catalogRefreshed(outcome, upstream)
    if (outcome.kind === 'refreshed') this.#accountAccepted({ upstream, asker: 'catalog' })
    else if (outcome.cause instanceof UpstreamRefusesAccount)
      this.#accountRefused({ upstream, asker: 'catalog', ...reasonOf(outcome.cause) })
  }

  /** An upstream was asked for the usage of our key. By position: its name, and its answer. */
  keyAnswered(upstream: string, answer: KeyUsageAnswer): void {
    this.metrics?.creditLeft(upstream, answer.kind === 'found' ? answer.leftUsd : null)
    if (answer.kind === 'found') {
      this.#accountAccepted({ upstream, asker: 'key' })
    } else if (answer.kind === 'refused')
      this.#accountRefused({ upstream, asker: 'key', ...reasonOf(answer.cause) })
  }

  #accountRefused(call: AccountRefused): void {
    if (!this.readiness.accountRefused(call)) return
    this.#parts.log.error(call, `the provider refuses the gateway: ${ADVICE[call.refusedFor]}`)
  }

  #accountAccepted(call: AccountCall): void {
    if (!this.readiness.accountAccepted(call)) return
    this.#parts.log.info(call, 'the provider accepts the gateway again')
  }
}

const ADVICE: Readonly<Record<RefusedFor, string>> = {
  key: 'check the API key of this upstream and its permissions',
  credit: 'add credit to its account at the provider',
}

function reasonOf({ refusedFor, message }: UpstreamRefusesAccount) {
  return { refusedFor, said: message }
}
