import {
  collectDefaultMetrics,
  type Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client'
import type { RefreshOutcome } from '../catalog/catalog-refresher.ts'
import type { EndpointRead } from '../catalog/endpoint-prices.ts'
import type { EndedRequest } from '../http/inference.ts'
import type { HoldCount } from '../ledger/activity/unsettled.ts'
import type { CommitReport } from '../ledger/engines/batched-ledger.ts'
import type { Doubt } from '../reconcile/lookups.ts'
import type { BilledLate, ReconcileFailure, Settlement } from '../reconcile/reconciler.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import { microsOfDecimal } from '../vocabulary/money.ts'
import { makeOwnMetrics, type OwnMetrics } from './own-metrics.ts'
import { CHARGE_STATES, RequestTallies, STATUS_CLASSES, TOKEN_KINDS } from './request-tallies.ts'

/** What is read when somebody asks for the metrics, and never before. */
export interface MetricSources {
  readonly nowMs: () => number
  /** The time that is in the store's rows. */
  readonly storeNowMs: () => number
  readonly inFlight: () => number
  readonly bufferBytes: () => number
  readonly bufferBytesMax: number
  /** Null: the store did not answer. */
  readonly holds: () => Promise<readonly HoldCount[] | null>
  /** For a look-up of the reconciler: how many, and when the first is due. */
  readonly waiting: () => { readonly requests: number; readonly nextDueAtMs: number | null }
  readonly catalog: () => {
    readonly modelIds: ReadonlySet<string>
    readonly refreshedAtMs: number | null
  }
  readonly checks: () => readonly { readonly name: string; readonly fault: string | null }[]
  readonly isAccountRefused: () => boolean
}

interface MetricsInput {
  readonly version: string
  readonly mode: 'simulator' | 'live'
}

/** Every metric at one moment, for another process to read. */
export type MetricsSnapshot = MetricObjectWithValues<MetricValue<string>>[]

interface RequestTimings {
  readonly firstByte: Pick<Histogram.Internal<string>, 'observe'>
  readonly duration: Pick<Histogram.Internal<string>, 'observe'>
}

const DOUBT_LABELS: Readonly<Record<Doubt, string>> = {
  otherGeneration: 'other_generation',
  zeroCost: 'zero_cost',
  absurdCost: 'absurd_cost',
}

const MICROS_PER_DOLLAR = 1_000_000
const MS_PER_SECOND = 1_000

/**
 * Every metric of one gateway. Ended requests are counted by whole numbers of our own, and gauges asked
 * for, only to be given their names when somebody reads.
 */
export class Metrics {
  readonly #registry = new Registry()
  readonly #tallies = new RequestTallies()
  readonly #own: OwnMetrics
  readonly #timings = new Map<string, RequestTimings>()
  #sources: MetricSources | null = null

  constructor({ version, mode }: MetricsInput) {
    this.#own = makeOwnMetrics(this.#registry)
    this.#own.buildInfo.set({ version, mode }, 1)
    collectDefaultMetrics({ register: this.#registry })
  }

  /** Shows gauges from now on; until then there are none. */
  watch(sources: MetricSources): void {
    this.#sources = sources
  }

  /** Counts a request that has ended: all that the path of a request pays for metrics. */
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
    if (outcome !== 'committed') this.#own.commitFailures.inc()
  }

  /** Counts a refresh of the catalog, and forgets the models that it no longer has. */
  catalogRefreshed({ kind }: RefreshOutcome): void {
    this.#own.catalogRefreshes.inc({ outcome: kind })
    if (kind === 'refreshed' && this.#sources !== null) {
      this.#tallies.keepOnly(this.#sources.catalog().modelIds)
    }
  }

  /** Counts a reading of a model's endpoints. */
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
    // Images have no generation that could be looked up. What had overrun before was counted then.
    const isNews = overrunMicros > 0 && overrunMicros - differenceMicros <= 0
    if (isNews) this.#overran({ kind: 'text', overrunMicros })
  }

  /** Counts a question of the reconciler that was not answered. */
  reconcileFailed({ of }: ReconcileFailure): void {
    this.#own.reconcileFailures.inc({ of })
  }

  /** Counts what the provider billed for a request that was released. */
  billedLate({ costUsd }: BilledLate): void {
    if (costUsd.digits === 0n) return
    this.#own.unchargedRequests.inc()
    this.#own.unchargedDollars.inc((microsOfDecimal(costUsd) ?? 0) / MICROS_PER_DOLLAR)
  }

  /** Counts a look-up whose answer was not believed. */
  lookupDoubted(doubt: Doubt): void {
    this.#own.lookupsDoubted.inc({ doubt: DOUBT_LABELS[doubt] })
  }

  /** All metrics, in the text format of Prometheus. */
  async render(): Promise<string> {
    await this.#nameAll()
    return this.#registry.metrics()
  }

  /** All metrics, to be summed with those of other processes. */
  async snapshot(): Promise<MetricsSnapshot> {
    await this.#nameAll()
    return this.#registry.getMetricsAsJSON()
  }

  /** What {@link render} is, as a header says it. */
  get contentType(): string {
    return this.#registry.contentType
  }

  async #nameAll(): Promise<void> {
    this.#nameTallies()
    if (this.#sources !== null) {
      this.#readGauges(this.#sources)
      this.#nameHolds(await this.#sources.holds(), this.#sources.storeNowMs())
    }
  }

  #time({ format: { endpoint }, record, startedAtMs, endedAtMs }: EndedRequest): void {
    const stream = record.stream ? 'true' : 'false'
    const timed = `${endpoint} ${stream}`
    let timings = this.#timings.get(timed)
    if (timings === undefined) {
      const { timeToFirstByte, requestDuration } = this.#own
      timings = {
        firstByte: timeToFirstByte.labels({ endpoint, stream }),
        duration: requestDuration.labels({ endpoint, stream }),
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
      const { endpoint, modelId: model } = tally
      for (const statusClass of STATUS_CLASSES) {
        for (const state of CHARGE_STATES) {
          const count = tally.requests[statusClass][state]
          if (count > 0) requests.inc({ endpoint, model, status: statusClass, state }, count)
        }
      }
      if (model === '') continue
      for (const kind of TOKEN_KINDS) tokens.inc({ model, kind }, tally.tokens[kind])
      charges.inc({ model }, tally.chargedMicros / MICROS_PER_DOLLAR)
    }
  }

  #readGauges(sources: MetricSources): void {
    const own = this.#own
    const nowMs = sources.nowMs()
    own.requestsInFlight.set(sources.inFlight())
    own.bufferBytes.set(sources.bufferBytes())
    own.bufferLimit.set(sources.bufferBytesMax)
    own.upstreamAccountRefused.set(sources.isAccountRefused() ? 1 : 0)
    for (const { name, fault } of sources.checks()) {
      own.ready.set({ check: name }, fault === null ? 1 : 0)
    }
    const { requests, nextDueAtMs } = sources.waiting()
    own.reconcileWaiting.set(requests)
    const storeNowMs = sources.storeNowMs()
    own.reconcileLag.set(secondsSince(nextDueAtMs ?? storeNowMs, storeNowMs))
    const { modelIds, refreshedAtMs } = sources.catalog()
    own.catalogModels.set(modelIds.size)
    if (refreshedAtMs !== null) {
      own.catalogAge.set(secondsSince(refreshedAtMs, nowMs))
    }
  }

  #nameHolds(counts: readonly HoldCount[] | null, nowMs: number): void {
    const { holds, oldestHoldAge: age } = this.#own
    // No figure at all where none is known: an old one would look like a quiet store.
    for (const gauge of [holds, age]) gauge.reset()
    for (const { state, holds: count, oldestOpenedAtMs } of counts ?? []) {
      holds.set({ state }, count)
      age.set({ state }, secondsSince(oldestOpenedAtMs ?? nowMs, nowMs))
    }
  }
}

/** By position: then, and now. Never below zero, whatever the clocks say. */
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
