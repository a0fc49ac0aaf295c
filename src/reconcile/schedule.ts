import { expectsCost, type UnsettledRequest } from '../ledger/activity/unsettled.ts'
import type { Settled, SettleInput } from '../ledger/ledger.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import { HOUR_MS, MINUTE_MS } from '../vocabulary/clock.ts'

/** How long requests without a known cost stay open. */
interface Patience {
  /** From the end of an attempt until a request without further information is settled. */
  readonly settleAfterMs: number
  /** From the end of an attempt until a request at an upstream without look-ups is settled. */
  readonly settleAfterNoLookupMs: number
}

/** How long a reconciler waits, and how much it does at once. */
export interface ReconcilerSettings extends Patience {
  /** The most look-ups at once; from two on, old and new requests share them. */
  readonly lookupsInFlightMax: number
  /** Requests kept in memory until they are due. Default 10,000. */
  readonly waitingRequestsMax?: number
  /** Requests read from the store at once. Default 500. */
  readonly pageRequests?: number
}

/** Why the cost of a request is not known. */
export type Silence =
  /** It has no generation id to ask by. */
  | 'noGenerationId'
  /** The upstream has no cost for it. */
  | 'unknown'
  /** The upstream answers that it has no look-up at all. */
  | 'noEndpoint'
  /** The dialect of its upstream has no look-ups. */
  | 'noLookups'
  /** The upstream did not answer the look-up. */
  | 'unavailable'

/** The longest wait between two look-ups of a request. */
export const LOOKUP_INTERVAL_MS_MAX = 5 * MINUTE_MS

// Upstreams record a call within about a second; a look-up before that is mostly wasted.
const FIRST_LOOKUP_MS = 1_000

// If the upstream or the network is down when a request's time is up, the reconciler waits this much longer: a hold
// that is released without an answer may be money given away.
const UNANSWERED_GRACE_MS = HOUR_MS

/** When a request is first looked up: at once if its end is in the future, because a clock stepped back. */
export function firstLookupAtMs({ endedAtMs }: ScheduledRequest, nowMs: number): number {
  return endedAtMs > nowMs ? nowMs : endedAtMs + FIRST_LOOKUP_MS
}

/** The fields that decide the schedule of a request. */
export type ScheduledRequest = Pick<UnsettledRequest, 'state' | 'generationId' | 'endedAtMs'>

/** When a request is looked up and settled, as far as is known now. */
export interface RequestSchedule {
  /** When it is settled if its cost is not learned until then; later if the upstream does not answer. */
  readonly standsAtMs: number
  /** When its cost is looked up again, at the latest; null: it can't be looked up. */
  readonly nextLookupAtMs: number | null
}

export interface ScheduleInput {
  readonly request: ScheduledRequest
  readonly silence: Silence
  readonly patience: Patience
  /** Since when this process asks: time without questions is not the upstream's silence. */
  readonly askingSinceMs: number
}

/**
 * When a request whose cost stays unknown for this reason is settled without it: a provisional charge becomes final, an
 * unresolved hold is released.
 */
export function settledAsItStandsAtMs(input: ScheduleInput): number {
  const { request, silence, patience, askingSinceMs } = input
  const usualMs = request.endedAtMs + patience.settleAfterMs
  switch (silence) {
    case 'noGenerationId':
    case 'unknown':
      return usualMs
    case 'noEndpoint':
      return request.state === 'provisional'
        ? Math.min(usualMs, request.endedAtMs + patience.settleAfterNoLookupMs)
        : usualMs
    case 'noLookups':
      return request.endedAtMs + patience.settleAfterNoLookupMs
    case 'unavailable':
      return Math.max(usualMs, askingSinceMs) + UNANSWERED_GRACE_MS
    default:
      return assertNever(silence)
  }
}

/**
 * When a request whose look-up found no cost is looked up again: after about as long as it has been open, which doubles
 * the wait each time, and when its time is up.
 */
export function nextLookupAtMs(input: ScheduleInput & { readonly nowMs: number }): number {
  const { request, nowMs } = input
  const ageMs = Math.max(0, nowMs - request.endedAtMs)
  const nextAtMs = nowMs + Math.min(ageMs + FIRST_LOOKUP_MS, LOOKUP_INTERVAL_MS_MAX)
  const standsAtMs = settledAsItStandsAtMs(input)
  return standsAtMs > nowMs ? Math.min(nextAtMs, standsAtMs) : nextAtMs
}

/** The request that a settle, which was just made, leaves to be reconciled; null: none. */
export function unsettledAfter(
  { state, chargedMicros }: Settled,
  {
    input: { requestId, resolution, facts, feeBasisPoints },
    nowMs,
  }: {
    readonly input: SettleInput & Pick<UnsettledRequest, 'feeBasisPoints'>
    readonly nowMs: number
  },
): UnsettledRequest | null {
  if (resolution.kind === 'released') {
    const { billedAs: generationId } = resolution
    if (state !== 'released' || generationId === undefined) return null
    const unexpected = { costReported: false, expectsCost: false }
    return { requestId, state, generationId, ...unexpected, feeBasisPoints, endedAtMs: nowMs }
  }
  if (state !== 'provisional' && state !== 'unresolved') return null
  if (resolution.kind === 'provisional' && resolution.stands === true) return null
  const generationId = 'generationId' in resolution ? resolution.generationId : facts.generationId
  const costUsd = 'costUsd' in resolution ? resolution.costUsd : null
  const costIsZero = costUsd === null ? null : costUsd.digits === 0n
  return {
    requestId,
    state,
    generationId,
    costReported: costUsd !== null,
    expectsCost: expectsCost({ state, chargedMicros, costIsZero, usage: facts.usage }),
    feeBasisPoints,
    endedAtMs: nowMs,
  }
}

interface Waiting {
  readonly request: UnsettledRequest
  readonly dueAtMs: number
}

/**
 * Requests that wait for a moment, the earliest first, each once. Bounded: requests
 * without room are found again in the store.
 */
export class WaitingList {
  readonly #requestsMax: number
  readonly #requestIds = new Set<string>()
  // A binary heap: the parent of the entry at n is at (n - 1) / 2, rounded down.
  #heap: Waiting[] = []

  constructor({ requestsMax }: { readonly requestsMax: number }) {
    this.#requestsMax = requestsMax
  }

  /** When the earliest is due; null if none waits. */
  get nextDueAtMs(): number | null {
    return this.#heap[0]?.dueAtMs ?? null
  }

  get size(): number {
    return this.#heap.length
  }

  has(requestId: string): boolean {
    return this.#requestIds.has(requestId)
  }

  /** Does nothing if the request waits already, or there is no room. */
  add(request: UnsettledRequest, dueAtMs: number): void {
    if (this.#heap.length >= this.#requestsMax || this.#requestIds.has(request.requestId)) return
    this.#requestIds.add(request.requestId)
    this.#rise({ request, dueAtMs })
  }

  /** Takes the earliest that is due at this moment; null if none is. */
  takeDue(nowMs: number): UnsettledRequest | null {
    const first = this.#heap[0]
    if (first === undefined || first.dueAtMs > nowMs) return null
    const last = this.#heap.pop()
    if (last !== undefined && last !== first) this.#sink(last)
    this.#requestIds.delete(first.request.requestId)
    return first.request
  }

  clear(): void {
    this.#heap = []
    this.#requestIds.clear()
  }

  /** Puts an entry at the end and lets it rise above its later parents. */
  #rise(entry: Waiting): void {
    let at = this.#heap.length
    while (at > 0) {
      const parentAt = (at - 1) >> 1
      const parent = this.#heap[parentAt]
      if (parent === undefined || parent.dueAtMs <= entry.dueAtMs) break
      this.#heap[at] = parent
      at = parentAt
    }
    this.#heap[at] = entry
  }

  /** Puts an entry at the top and lets it sink below its earlier children. */
  #sink(entry: Waiting): void {
    let at = 0
    for (;;) {
      const child = this.#earlierChild(at)
      if (child === null || child.entry.dueAtMs >= entry.dueAtMs) break
      this.#heap[at] = child.entry
      at = child.at
    }
    this.#heap[at] = entry
  }

  #earlierChild(at: number): { readonly at: number; readonly entry: Waiting } | null {
    const left = this.#heap[2 * at + 1]
    const right = this.#heap[2 * at + 2]
    if (left === undefined) return null
    return right !== undefined && right.dueAtMs < left.dueAtMs
      ? { at: 2 * at + 2, entry: right }
      : { at: 2 * at + 1, entry: left }
  }
}
