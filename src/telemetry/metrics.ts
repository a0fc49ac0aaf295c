import { collectDefaultMetrics, type Histogram, Registry } from 'prom-client'
import type { RefreshOutcome } from '../catalog/catalog-refresher.ts'
import type { EndpointRead } from '../catalog/endpoint-prices.ts'
import type { EndedRequest } from '../http/inference.ts'
import type { HoldCount } from '../ledger/activity/unsettled.ts'
import type { CommitReport } from '../ledger/engines/batched-ledger.ts'
import type { StoreGap } from '../ledger/engines/went-back.ts'
import type { KeyUsageLook } from '../reconcile/key-usage.ts'
import type { Doubt } from '../reconcile/lookups.ts'
import type { BilledLate, ReconcileFailure, Settlement } from '../reconcile/reconciler.ts'
import type { ChainLook } from '../sale/chain-look.ts'
import type { SaleFigures } from '../sale/figures.ts'
import type { Replication } from '../store/postgres/replication.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import type { Clock } from '../vocabulary/clock.ts'
import {
  type Decimal,
  formatDecimal,
  MICROS_PER_DOLLAR,
  microsOfDecimal,
} from '../vocabulary/money.ts'
import type { DeliveryOutcome } from '../webhooks/deliveries.ts'
import { makeOwnMetrics, type OwnMetrics } from './metric-table.ts'
import { CHARGE_STATES, RequestTallies, STATUS_CLASSES, TOKEN_KINDS } from './request-tallies.ts'
import { StoreFigures } from './store-figures.ts'

/** The sources of gauges. They are read only when the metrics are. */
export interface MetricSources {
  readonly clock: Clock
  /** The clock of the times in the store's rows. */
  readonly storeClock: Clock
  readonly inFlight: () => number
  readonly bufferBytes: () => number
  readonly bufferBytesMax: number
  /** Asks the store for its unsettled holds. */
  readonly countHolds: () => Promise<readonly HoldCount[]>
  /** Reads the sums of sold credit from the store. */
  readonly readSale: () => Promise<SaleFigures>
  /** Requests that wait for a look-up by the reconciler, and when the first is due. */
  readonly waiting: () => { readonly requests: number; readonly nextDueAtMs: number | null }
  readonly catalog: () => {
    readonly modelIds: ReadonlySet<string>
    /** When the newest prices of each upstream were requested, by its name; none of one that never listed any. */
    readonly refreshedAtMs: ReadonlyMap<string, number>
  }
  readonly checks: () => readonly { readonly name: string; readonly fault: string | null }[]
  /** Whether each upstream refuses our account, by its name. */
  readonly accountsRefused: () => ReadonlyMap<string, boolean>
}

const DOUBT_LABELS: Readonly<Record<Doubt, string>> = {
  otherGeneration: 'other_generation',
  zeroCost: 'zero_cost',
  absurdCost: 'absurd_cost',
}

const STANDBY_KINDS = [
  'synchronous',
  'asynchronous',
  'none',
] as const satisfies readonly Replication['kind'][]

const MS_PER_SECOND = 1_000

/**
 * Every metric of one gateway. Ended requests are counted in whole numbers, and gauges are read, only when
 * the metrics are asked for: then they get their names and labels.
 */
export class Metrics {
  readonly #registry = new Registry()
  readonly #tallies = new RequestTallies()
  readonly #own: OwnMetrics
  readonly #timings = new Map<
    string,
    Record<'firstByte' | 'duration', Histogram.Internal<string>>
  >()
  #sources: MetricSources | null = null
  #holds: StoreFigures<readonly HoldCount[]> | null = null
  #sale: StoreFigures<SaleFigures> | null = null

  constructor(labels: { readonly version: string; readonly mode: 'simulator' | 'live' }) {
    this.#own = makeOwnMetrics(this.#registry)
    this.#own.buildInfo.set(labels, 1)
    collectDefaultMetrics({ register: this.#registry })
  }

  /** Shows gauges from now on. */
  watch(sources: MetricSources): void {
    this.#sources = sources
    const { clock, countHolds, readSale } = sources
    this.#holds = new StoreFigures({ clock, query: countHolds })
    this.#sale = new StoreFigures({ clock, query: readSale })
  }

  /** Counts a request that has ended. Metrics cost a request nothing else. */
  requestEnded(ended: EndedRequest): void {
    const { record, problem, format } = ended
    this.#tallies.count(ended)
    if (record.state !== null) this.#time(ended)
    if (record.leftEarly !== null) {
      const call = record.leftEarly === 'readOn' ? 'read_on' : 'cancelled'
      this.#own.streamsLeftEarly.inc({ call })
    }
    if (problem !== null) {
      this.#own.refusals.inc({ endpoint: format.endpoint, code: problem.code })
    }
    const overrunMicros = (record.chargeMicros ?? 0) - (record.holdMicros ?? 0)
    if (overrunMicros > 0) {
      this.#overran({ kind: format.rules.heldBy === 'images' ? 'image' : 'text', overrunMicros })
    }
  }

  /** Counts a commit of the ledger. */
  committed({ commands, durationMs, outcome }: CommitReport): void {
    this.#own.commitCommands.observe(commands)
    this.#own.commitDuration.observe(durationMs / MS_PER_SECOND)
    if (outcome === 'refused' || outcome === 'unavailable') this.#own.commitFailures.inc()
  }

  /** Counts a time at which the database went back, and the commands that were booked again. */
  storeWentBack({ requests, commands, lost }: StoreGap): void {
    this.#own.storeWentBack.inc()
    this.#own.commandsRebooked.inc({ outcome: 'booked' }, requests + commands)
    this.#own.commandsRebooked.inc({ outcome: 'lost' }, lost)
  }

  /** Shows how a standby follows the server. By position: its kind; null: the server did not say. */
  replicationRead(kind: Replication['kind'] | null): void {
    this.#own.storeStandby.reset()
    if (kind === null) return
    for (const each of STANDBY_KINDS) {
      this.#own.storeStandby.set({ kind: each }, each === kind ? 1 : 0)
    }
  }

  /** Counts a refresh of an upstream's models, and drops the series of models that have left the catalog. */
  catalogRefreshed({ kind }: RefreshOutcome, upstream: string): void {
    this.#own.catalogRefreshes.inc({ outcome: kind, upstream })
    if (kind === 'refreshed' && this.#sources !== null) {
      this.#tallies.keepOnly(this.#sources.catalog().modelIds)
    }
  }

  /** Counts a read of a model's endpoint prices. */
  endpointsRead({ failure }: EndpointRead): void {
    this.#own.endpointPriceReads.inc({ outcome: failure === null ? 'read' : 'failed' })
  }

  /** Counts a request that the reconciler settled. */
  reconciled({ correction, corrected }: Settlement): void {
    this.#own.reconciled.inc({ outcome: outcomeOf(correction.kind) })
    const { differenceMicros, overrunMicros } = corrected
    if (differenceMicros !== 0) {
      const direction = differenceMicros > 0 ? 'up' : 'down'
      const dollars = Math.abs(differenceMicros) / MICROS_PER_DOLLAR
      this.#own.corrections.inc({ direction }, dollars)
    }
    // Only text has look-ups. A request that had overrun before was counted when it ended.
    const isNews = overrunMicros > 0 && overrunMicros - differenceMicros <= 0
    if (isNews) this.#overran({ kind: 'text', overrunMicros })
  }

  /** Counts reported costs that stood without a look-up. */
  stood(requests: number): void {
    this.#own.reconciled.inc({ outcome: 'stood' }, requests)
  }

  /** Counts the units in doubt. */
  doubtChanged({ isOpen }: { readonly isOpen: boolean }): void {
    this.#own.doubtedCosts.inc(isOpen ? 1 : -1)
  }

  /** Counts a comparison of the key's usage with the booked costs. */
  keyUsageLooked(result: KeyUsageLook['kind']): void {
    if (result === 'agrees' || result === 'differs') this.#own.keyUsage.inc({ outcome: result })
    if (result === 'unavailable') this.#own.keyUsage.inc({ outcome: result })
  }

  /** Shows the rest of our key's limit. By position: the upstream, and dollars; null: it has no limit. */
  creditLeft(upstream: string, leftUsd: Decimal | null): void {
    const { upstreamCredit } = this.#own
    if (leftUsd === null) upstreamCredit.remove({ upstream })
    else upstreamCredit.set({ upstream }, Number(formatDecimal(leftUsd)))
  }

  /** Counts a query of the reconciler that failed. */
  reconcileFailed({ of }: ReconcileFailure): void {
    this.#own.reconcileFailures.inc({ of })
  }

  /** Counts the amount that the provider billed for a released request. */
  billedLate({ costUsd }: BilledLate): void {
    if (costUsd.digits === 0n) return
    this.#own.unchargedRequests.inc()
    this.#own.unchargedDollars.inc((microsOfDecimal(costUsd) ?? 0) / MICROS_PER_DOLLAR)
  }

  /** Counts a look-up whose answer was doubted. */
  lookupDoubted(doubt: Doubt): void {
    this.#own.lookupsDoubted.inc({ doubt: DOUBT_LABELS[doubt] })
  }

  /** Counts a look at the chain; null: the store failed. */
  chainLooked(look: ChainLook | null): void {
    this.#own.chainLooks.inc({ outcome: look?.kind ?? 'failed' })
    if (look === null || 'reason' in look) return
    this.#own.chainLag.set(look.kind === 'idle' ? 0 : look.top - look.to)
    const stuck = Object.values(look.waiting).filter(({ kind }) => kind !== 'catchingUp')
    this.#own.chainTokensWaiting.set(stuck.length)
  }

  /** Counts a question that a node of the chain has failed. */
  chainNodeFailed(node: string): void {
    this.#own.chainNodeFailures.inc({ node })
  }

  /** Counts an attempt to send a message to a webhook. */
  webhookSent(event: string, outcome: DeliveryOutcome): void {
    this.#own.webhookAttempts.inc({ event, outcome })
  }

  /** All metrics, in the text format of Prometheus. */
  async render(): Promise<string> {
    await this.#nameAll()
    return this.#registry.metrics()
  }

  /** The content type of {@link render}. */
  get contentType(): string {
    return this.#registry.contentType
  }

  async #nameAll(): Promise<void> {
    this.#nameTallies()
    if (this.#sources === null || this.#holds === null) return
    this.#readGauges(this.#sources)
    const storeNowMs = this.#sources.storeClock.nowMs()
    this.#nameHolds(await this.#holds.read(), storeNowMs)
    this.#nameSale((await this.#sale?.read()) ?? null, storeNowMs)
  }

  #time({ format: { endpoint }, record, startedAtMs, endedAtMs }: EndedRequest): void {
    const stream = record.stream ? 'true' : 'false'
    const upstream = record.upstream ?? ''
    const timed = `${endpoint} ${stream} ${upstream}`
    let timings = this.#timings.get(timed)
    if (timings === undefined) {
      const { timeToFirstByte, requestDuration } = this.#own
      timings = {
        firstByte: timeToFirstByte.labels({ endpoint, stream, upstream }),
        duration: requestDuration.labels({ endpoint, stream, upstream }),
      }
      this.#timings.set(timed, timings)
    }
    timings.duration.observe(secondsSince(startedAtMs, endedAtMs))
    const { firstByteAtMs } = record
    if (firstByteAtMs !== null) timings.firstByte.observe(secondsSince(startedAtMs, firstByteAtMs))
  }

  #overran({ kind, overrunMicros }: { readonly kind: string; readonly overrunMicros: number }) {
    this.#own.overruns.inc({ kind })
    this.#own.overrunDollars.inc({ kind }, overrunMicros / MICROS_PER_DOLLAR)
  }

  #nameTallies(): void {
    const { requests, tokens, charges } = this.#own
    for (const counter of [requests, tokens, charges]) counter.reset()
    for (const tally of this.#tallies.all()) {
      const { endpoint, modelId: model, upstream } = tally
      for (const statusClass of STATUS_CLASSES) {
        for (const state of CHARGE_STATES) {
          const count = tally.requests[statusClass][state]
          if (count === 0) continue
          requests.inc({ endpoint, model, status: statusClass, state, upstream }, count)
        }
      }
      if (model === '') continue
      for (const kind of TOKEN_KINDS) tokens.inc({ model, kind }, tally.tokens[kind])
      charges.inc({ model }, tally.chargedMicros / MICROS_PER_DOLLAR)
    }
  }

  #readGauges(sources: MetricSources): void {
    const own = this.#own
    const nowMs = sources.clock.nowMs()
    own.requestsInFlight.set(sources.inFlight())
    own.bufferBytes.set(sources.bufferBytes())
    own.bufferLimit.set(sources.bufferBytesMax)
    for (const [upstream, isRefused] of sources.accountsRefused()) {
      own.upstreamAccountRefused.set({ upstream }, isRefused ? 1 : 0)
    }
    for (const { name, fault } of sources.checks()) {
      own.ready.set({ check: name }, fault === null ? 1 : 0)
    }
    const { requests, nextDueAtMs } = sources.waiting()
    own.reconcileWaiting.set(requests)
    const storeNowMs = sources.storeClock.nowMs()
    own.reconcileLag.set(secondsSince(nextDueAtMs ?? storeNowMs, storeNowMs))
    const { modelIds, refreshedAtMs } = sources.catalog()
    own.catalogModels.set(modelIds.size)
    for (const [upstream, atMs] of refreshedAtMs) {
      own.catalogAge.set({ upstream }, secondsSince(atMs, nowMs))
    }
  }

  #nameHolds(counts: readonly HoldCount[] | null, nowMs: number): void {
    const { holds, oldestHoldAge: age } = this.#own
    // Without an answer there is no figure: an old one would look like a quiet store.
    for (const gauge of [holds, age]) gauge.reset()
    for (const { state, holds: count, oldestOpenedAtMs } of counts ?? []) {
      holds.set({ state }, count)
      age.set({ state }, secondsSince(oldestOpenedAtMs ?? nowMs, nowMs))
    }
  }

  #nameSale(figures: SaleFigures | null, nowMs: number): void {
    const { purchases, purchaseDollars, saleLookAge } = this.#own
    for (const gauge of [purchases, purchaseDollars, saleLookAge]) gauge.reset()
    for (const { method, state, ...sum } of figures?.purchases ?? []) {
      purchases.set({ method, state }, sum.purchases)
      const dollars = (sum.creditMicros - sum.reversedMicros) / MICROS_PER_DOLLAR
      purchaseDollars.set({ method, state }, dollars)
    }
    for (const { source, lookedAtMs } of figures?.looks ?? []) {
      saleLookAge.set({ source }, secondsSince(lookedAtMs, nowMs))
    }
  }
}

/** By position: then, and now. Never below zero, even if a clock was set back. */
function secondsSince(thenMs: number, nowMs: number): number {
  return Math.max(0, nowMs - thenMs) / MS_PER_SECOND
}

function outcomeOf(kind: Settlement['correction']['kind']): string {
  switch (kind) {
    case 'final':
      return 'found'
    case 'provisional':
      return 'estimated'
    case 'givenUp':
      return 'given_up'
    default:
      return assertNever(kind)
  }
}
