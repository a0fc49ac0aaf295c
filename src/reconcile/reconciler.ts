import type {
  UnsettledList,
  UnsettledPage,
  UnsettledRequest,
} from '../ledger/activity/unsettled.ts'
import type { Ledger } from '../ledger/commands.ts'
import type { Corrected } from '../ledger/ledger.ts'
import { StoreUnavailable } from '../store/store-failure.ts'
import { type StartTimer, startUnrefTimer } from '../vocabulary/clock.ts'
import type { Decimal } from '../vocabulary/money.ts'
import type { Correction } from '../vocabulary/outcome.ts'
import { Lookups, type LookupsInput } from './lookups.ts'
import {
  firstLookupAtMs,
  LOOKUP_INTERVAL_MS_MAX,
  nextLookupAtMs,
  type ReconcilerSettings,
  type RequestSchedule,
  type ScheduledRequest,
  type Silence,
  settledAsItStandsAtMs,
  WaitingList,
} from './schedule.ts'

interface ReconcilerInput
  extends Pick<LookupsInput, 'fetchGeneration' | 'clock' | 'onDoubted' | 'onEndpointMissing'> {
  readonly listUnsettled: (page: UnsettledPage) => Promise<UnsettledList>
  readonly ledger: Pick<Ledger, 'correct'>
  readonly settings: ReconcilerSettings
  /** Called for each request that this reconciler settled. Must not throw. */
  readonly onSettled: (settlement: Settlement) => void
  /** Called for each cost of a released request: it is recorded and never charged. Must not throw. */
  readonly onBilledLate: (billed: BilledLate) => void
  /** Called for each question without an answer; it is asked again. Must not throw. */
  readonly onFailure: (failure: ReconcileFailure) => void
  /** Default: a timer that does not keep the process alive. */
  readonly startTimer?: StartTimer
}

/** How a request was settled. */
export interface Settlement {
  readonly requestId: string
  /** Whether the answer had reported a cost. */
  readonly costReported: boolean
  readonly correction: Correction
  readonly corrected: Extract<Corrected, { kind: 'corrected' }>
}

/** The late cost of a released request. */
export interface BilledLate {
  readonly requestId: string
  readonly costUsd: Decimal
}

/** A look-up or a query of the store that failed. */
export interface ReconcileFailure {
  readonly of: 'upstream' | 'store'
  /** The request that was looked up; null for a query of the store about many. */
  readonly requestId: string | null
  readonly cause: unknown
}

const WAITING_REQUESTS_MAX_DEFAULT = 10_000
const PAGE_REQUESTS_DEFAULT = 500
// How long to wait after the store failed to list requests.
const STORE_RETRY_MS = 5_000
// Look-ups that begin together cost a fraction of those that each wake the process.
const WAKES_APART_MS = 250
// Requests being looked up, or whose correction is not stored yet.
const UNDER_WAY_MAX = 1_000
// After a larger step back of the clock, earlier moments mean nothing.
const CLOCK_STEP_MS_MAX = 60_000
// A timer that is later than this was set before the clock stepped forward.
const TIMER_LATE_MS_MAX = 1_000

const GIVEN_UP: Correction = { kind: 'givenUp' }

/** The next step for a request at a moment. */
type Step =
  | { readonly kind: 'lookUp'; readonly generationId: string }
  | { readonly kind: 'settleAsItStands' }
  | { readonly kind: 'wait'; readonly untilMs: number }

/**
 * The second chance of requests that ended without a final charge. Nothing runs before {@link Reconciler.start}
 * or {@link Reconciler.runDue}.
 *
 * Two ways lead to a look-up. A request that has just ended waits in memory through its first minutes.
 * A scan goes through the store, page by page, as often as the longest interval between two look-ups, and
 * finds all other requests: those that wait longer, did not fit in memory, or belong to earlier
 * processes. The schedule is not stored: it follows from when an attempt ended. Memory is therefore only a
 * hint, and losing it loses no request. The late cost of a released request changes no charge: it is
 * looked up from memory only, for about eight and a half minutes.
 */
export class Reconciler {
  readonly #input: ReconcilerInput
  /** Requests that wait in memory for their next look-up. */
  readonly waiting: WaitingList
  readonly #askingSinceMs: number
  readonly #lookups: Lookups
  readonly #underWay = new Map<string, Promise<void>>()
  #scannedUnderWay = 0
  /** The rest of the scan's page, last first. */
  #page: UnsettledRequest[] = []
  #pageUsedUp: () => void = () => {}
  #scanning: Promise<void> | null = null
  #nextScanAtMs = Number.NEGATIVE_INFINITY
  /** When the next scan takes all requests, and not only those that have just ended. */
  #nextFullScanAtMs = Number.NEGATIVE_INFINITY
  #repeating = false
  #stopping = false
  #cancelTimer: () => void = () => {}
  #wakesAtMs: number | null = null
  /** When the timer runs, unless the clock steps. */
  #timerRunsAtMs = Number.POSITIVE_INFINITY
  #wokeAtMs = Number.NEGATIVE_INFINITY

  constructor(input: ReconcilerInput) {
    this.#input = input
    this.#askingSinceMs = input.clock.nowMs()
    this.#lookups = new Lookups({
      ...input,
      onUnanswered: (requestId, cause) => input.onFailure({ of: 'upstream', requestId, cause }),
    })
    this.waiting = new WaitingList({
      requestsMax: input.settings.waitingRequestsMax ?? WAITING_REQUESTS_MAX_DEFAULT,
    })
  }

  /** When a request that is not settled is looked up, and when it is settled without a look-up. */
  scheduleOf(request: ScheduledRequest): RequestSchedule {
    const nowMs = this.#input.clock.nowMs()
    const silence = this.#silenceOf(request, nowMs)
    const scheduled = this.#scheduled(request, silence)
    return {
      standsAtMs: settledAsItStandsAtMs(scheduled),
      nextLookupAtMs: silence === 'unknown' ? nextLookupAtMs({ ...scheduled, nowMs }) : null,
    }
  }

  /** Starts the reconciler, with the requests that earlier processes left unsettled. */
  start(): void {
    this.#repeating = true
    this.#wake()
  }

  /** Notes a request that has just become provisional or unresolved, durably. Cheap. */
  noticed(request: UnsettledRequest): void {
    if (this.#stopping || this.#underWay.has(request.requestId)) return
    const nowMs = this.#input.clock.nowMs()
    const step = this.#stepFor(request, nowMs)
    this.#waitUntil(step.kind === 'wait' ? step.untilMs : nowMs, { request, nowMs })
    this.#setTimer()
  }

  /** Scans the store now, because requests have become unresolved whose ids are not known. */
  scanNow(): void {
    // If a scan is running, another one follows it.
    this.#nextScanAtMs = this.#input.clock.nowMs()
    this.#setTimer()
  }

  /** Handles all requests that are due now, and resolves when they are done. */
  async runDue(): Promise<void> {
    this.#wake()
    await this.#idle()
  }

  /** Begins no more look-ups and aborts running ones; resolves when all have ended. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.#cancelTimer()
    this.#lookups.stop()
    this.#page = []
    this.#pageUsedUp()
    await this.#idle()
  }

  async #idle(): Promise<void> {
    while (this.#scanning !== null || this.#underWay.size > 0) {
      await Promise.allSettled([this.#scanning, ...this.#underWay.values()])
    }
  }

  #wake(): void {
    if (this.#stopping) return
    const nowMs = this.#input.clock.nowMs()
    if (nowMs < this.#wokeAtMs - CLOCK_STEP_MS_MAX) {
      this.waiting.clear()
      this.#nextScanAtMs = nowMs
      this.#nextFullScanAtMs = nowMs
      this.#lookups.clockSteppedBack()
    }
    this.#wokeAtMs = nowMs
    if (this.#scanning === null && nowMs >= this.#nextScanAtMs) this.#startScan(nowMs)
    this.#beginDue()
    this.#setTimer()
  }

  #setTimer(): void {
    if (!this.#repeating || this.#stopping) return
    const { clock, startTimer = startUnrefTimer } = this.#input
    const scanAtMs = this.#scanning === null ? this.#nextScanAtMs : Number.POSITIVE_INFINITY
    // Without a free place, the next request to end looks for due ones.
    const dueAtMs = this.#hasPlace() ? this.waiting.nextDueAtMs : null
    const wakesAtMs = Math.min(scanAtMs, dueAtMs ?? Number.POSITIVE_INFINITY)
    const nowMs = clock.nowMs()
    const isLate = nowMs > this.#timerRunsAtMs + TIMER_LATE_MS_MAX
    if (wakesAtMs === this.#wakesAtMs && !isLate) return
    this.#cancelTimer()
    this.#wakesAtMs = wakesAtMs
    if (wakesAtMs === Number.POSITIVE_INFINITY) return
    const apartMs = Math.min(this.#wokeAtMs + WAKES_APART_MS - nowMs, WAKES_APART_MS)
    const delayMs = Math.min(Math.max(0, wakesAtMs - nowMs, apartMs), LOOKUP_INTERVAL_MS_MAX)
    this.#timerRunsAtMs = nowMs + delayMs
    this.#cancelTimer = startTimer({
      delayMs,
      run: () => {
        this.#wakesAtMs = null
        this.#wake()
      },
    })
  }

  #startScan(nowMs: number): void {
    const isFull = nowMs >= this.#nextFullScanAtMs
    if (isFull) this.#nextFullScanAtMs = nowMs + LOOKUP_INTERVAL_MS_MAX
    this.#nextScanAtMs = this.#nextFullScanAtMs
    // Older requests are looked up at each full scan, independent of other scans.
    const endedAfterMs = isFull ? Number.NEGATIVE_INFINITY : nowMs - LOOKUP_INTERVAL_MS_MAX
    this.#scanning = this.#scan(endedAfterMs)
      .catch((cause: unknown) => {
        this.#nextScanAtMs = this.#input.clock.nowMs() + STORE_RETRY_MS
        if (isFull) this.#nextFullScanAtMs = this.#nextScanAtMs
        this.#input.onFailure({ of: 'store', requestId: null, cause })
      })
      .finally(() => {
        this.#scanning = null
        this.#setTimer()
      })
  }

  async #scan(endedAfterMs: number): Promise<void> {
    const { listUnsettled, settings } = this.#input
    const limit = settings.pageRequests ?? PAGE_REQUESTS_DEFAULT
    let after: UnsettledPage['after'] = null
    do {
      const { requests, next }: UnsettledList = await listUnsettled({ after, limit })
      if (this.#stopping) return
      const { promise: usedUp, resolve } = Promise.withResolvers<void>()
      this.#page = requests.filter((request) => request.endedAtMs > endedAfterMs).toReversed()
      this.#pageUsedUp = resolve
      this.#beginDue()
      await usedUp
      after = next
    } while (after !== null && !this.#stopping)
  }

  #hasPlace(): boolean {
    return (
      this.#lookups.inFlight < this.#input.settings.lookupsInFlightMax &&
      this.#underWay.size < UNDER_WAY_MAX
    )
  }

  /** Begins due requests while there are free places. */
  #beginDue(): void {
    const nowMs = this.#input.clock.nowMs()
    while (!this.#stopping && this.#hasPlace()) {
      // Requests that have just ended go first, but the scan always continues.
      const scanned = this.#scannedUnderWay === 0 ? this.#page.pop() : undefined
      const waiting = scanned === undefined ? this.waiting.takeDue(nowMs) : null
      const request = scanned ?? waiting ?? this.#page.pop()
      if (request === undefined) break
      this.#begin(request, { nowMs, isScanned: request !== waiting })
    }
    if (this.#page.length === 0) this.#pageUsedUp()
  }

  #begin(
    request: UnsettledRequest,
    { nowMs, isScanned }: { readonly nowMs: number; readonly isScanned: boolean },
  ): void {
    const { requestId } = request
    if (this.#underWay.has(requestId) || this.waiting.has(requestId)) return
    const step = this.#stepFor(request, nowMs)
    if (step.kind === 'wait') {
      this.#waitUntil(step.untilMs, { request, nowMs })
      return
    }
    if (isScanned) this.#scannedUnderWay++
    const taken = this.#take(request, step).finally(() => {
      this.#underWay.delete(requestId)
      if (isScanned) this.#scannedUnderWay--
      this.#beginDue()
      this.#setTimer()
    })
    this.#underWay.set(requestId, taken)
  }

  #stepFor(request: UnsettledRequest, nowMs: number): Step {
    const { generationId } = request
    const silence = this.#silenceOf(request, nowMs)
    if (silence === 'noLookups' || generationId === null) {
      return this.#waitOrSettle(request, silence, nowMs)
    }
    if (silence === 'noEndpoint') {
      const step = this.#waitOrSettle(request, silence, nowMs)
      // Before the charge becomes final because the upstream has no look-ups, the upstream is asked once more.
      if (step.kind === 'wait') return step
    }
    const pausedUntilMs = this.#lookups.pausedUntilMs(nowMs)
    if (pausedUntilMs !== null) {
      const step = this.#waitOrSettle(request, 'unavailable', nowMs)
      return step.kind === 'wait' ? { kind: 'wait', untilMs: pausedUntilMs } : step
    }
    const firstAtMs = firstLookupAtMs(request, nowMs)
    return firstAtMs > nowMs
      ? { kind: 'wait', untilMs: firstAtMs }
      : { kind: 'lookUp', generationId }
  }

  /** Why the cost of a request stays unknown, before the upstream is asked. */
  #silenceOf({ generationId }: ScheduledRequest, nowMs: number): Silence {
    if (this.#input.fetchGeneration === null) return 'noLookups'
    if (generationId === null) return 'noGenerationId'
    return this.#lookups.isEndpointMissing(nowMs) ? 'noEndpoint' : 'unknown'
  }

  #waitOrSettle(request: UnsettledRequest, silence: Silence, nowMs: number): Step {
    const untilMs = settledAsItStandsAtMs(this.#scheduled(request, silence))
    return nowMs < untilMs ? { kind: 'wait', untilMs } : { kind: 'settleAsItStands' }
  }

  #scheduled(request: ScheduledRequest, silence: Silence) {
    const { settings: patience } = this.#input
    return { request, silence, patience, askingSinceMs: this.#askingSinceMs }
  }

  /** Requests that are due after the next scan are left to it. */
  #waitUntil(
    dueAtMs: number,
    { request, nowMs }: { readonly request: UnsettledRequest; readonly nowMs: number },
  ): void {
    if (dueAtMs - nowMs < LOOKUP_INTERVAL_MS_MAX) this.waiting.add(request, dueAtMs)
  }

  async #take(request: UnsettledRequest, step: Exclude<Step, { kind: 'wait' }>): Promise<void> {
    if (step.kind === 'settleAsItStands') {
      await this.#correct(request, GIVEN_UP)
      return
    }
    const learned = await this.#lookups.ask(request, step.generationId)
    // The next look-up need not wait for this one's correction: so corrections share commits.
    this.#beginDue()
    this.#setTimer()
    if (this.#stopping && typeof learned === 'string') return
    const silence = typeof learned === 'string' ? learned : await this.#correct(request, learned)
    if (silence === null) return
    const nowMs = this.#input.clock.nowMs()
    const scheduled = this.#scheduled(request, silence)
    if (nowMs >= settledAsItStandsAtMs(scheduled)) await this.#correct(request, GIVEN_UP)
    else this.#waitUntil(nextLookupAtMs({ ...scheduled, nowMs }), { request, nowMs })
  }

  /**
   * Posts a correction once, even if other processes learned the same. While the store is unavailable it is tried again
   * at the next look-up. Answers `unknown` where the store refuses the correction as impossible.
   */
  async #correct(request: UnsettledRequest, correction: Correction): Promise<'unknown' | null> {
    const { ledger, clock, onSettled, onBilledLate, onFailure } = this.#input
    const { requestId, costReported } = request
    try {
      const corrected = await ledger.correct({ requestId, correction })
      if (corrected.kind === 'corrected')
        onSettled({ requestId, costReported, correction, corrected })
      else if (request.state === 'released' && correction.kind === 'final') {
        onBilledLate({ requestId, costUsd: correction.costUsd })
      }
    } catch (cause) {
      onFailure({ of: 'store', requestId, cause })
      if (!(cause instanceof StoreUnavailable)) return 'unknown'
      const nowMs = clock.nowMs()
      const scheduled = this.#scheduled(request, 'unavailable')
      this.#waitUntil(nextLookupAtMs({ ...scheduled, nowMs }), { request, nowMs })
    }
    return null
  }
}
