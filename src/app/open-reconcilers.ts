import {
  countByUpstream,
  listUnsettled,
  type UnsettledRequest,
} from '../ledger/activity/unsettled.ts'
import { Reconciler } from '../reconcile/reconciler.ts'
import type { RequestSchedule, ScheduledRequest } from '../reconcile/schedule.ts'
import { formatDecimal } from '../vocabulary/money.ts'
import type { OpenUpstream } from './open-catalog.ts'
import type { ServedStore } from './open-served-store.ts'
import type { Verification } from './open-verification.ts'
import { running, type Wiring } from './wiring.ts'

/** Requests of all upstreams that wait for their cost. */
export interface Reconcilers {
  /** Notes a request that has just become provisional or unresolved, durably. By position: it, and its upstream. */
  noticed(request: UnsettledRequest, upstream: string): void
  /** When a request that is not settled is looked up, and settled as it stands. By position: it, and its upstream. */
  scheduleOf(request: ScheduledRequest, upstream: string): RequestSchedule
  /** Scans the store now, because requests have become unresolved whose ids are not known. */
  scanNow(): void
  /** Requests that wait in memory, and when the first is due. */
  waiting(): { readonly requests: number; readonly nextDueAtMs: number | null }
}

/** The line of a cost that came too late to be charged. */
export const BILLED_LATE = 'the provider billed a released request'

type Opened = ServedStore & {
  readonly upstreams: ReadonlyMap<string, OpenUpstream>
  readonly verification: Verification
}

/**
 * One reconciler for each upstream, so that one that hangs keeps no place of another's look-ups, and one for
 * requests of upstreams that are no longer in the settings: those wait to be settled by hand or for their time to
 * be up. Opened before the settler, which reports each settle to it, and so closed after the last one.
 */
export function openReconcilers(wiring: Wiring, opened: Opened): Reconcilers {
  const { upstreams } = opened
  const byUpstream = new Map(
    [...upstreams].map(([name, { upstream }]) => {
      const { fetchGeneration } = upstream.dialect
      const reconciler = openReconciler(wiring, opened, {
        upstream: name,
        isListed: (of) => of === name,
        fetchGeneration: fetchGeneration && ((input) => fetchGeneration(upstream, input)),
        settleAfterNoLookupMs: wiring.config.TOLLGATE_SETTLE_AFTER_NO_LOOKUP_MS,
      })
      return [name, reconciler] as const
    }),
  )
  const removedUpstreams = openReconciler(wiring, opened, {
    upstream: null,
    isListed: (of) => !upstreams.has(of),
    fetchGeneration: null,
    settleAfterNoLookupMs: wiring.config.TOLLGATE_SETTLE_AFTER_MS,
  })
  const all = [...byUpstream.values(), removedUpstreams]
  const said = warnOfUnlistedUpstreams(wiring, opened)
  wiring.closing.defer(() => said)
  return {
    noticed: (request, upstream) => byUpstream.get(upstream)?.noticed(request),
    scheduleOf: (request, upstream) =>
      (byUpstream.get(upstream) ?? removedUpstreams).scheduleOf(request),
    scanNow() {
      for (const reconciler of all) reconciler.scanNow()
    },
    waiting() {
      const dueAtMs = all.flatMap(({ waiting }) => waiting.nextDueAtMs ?? [])
      return {
        requests: all.reduce((sum, { waiting }) => sum + waiting.size, 0),
        nextDueAtMs: dueAtMs.length === 0 ? null : Math.min(...dueAtMs),
      }
    },
  }
}

/** Logs which upstreams that are not in the settings have requests that wait for their cost. Never rejects. */
async function warnOfUnlistedUpstreams(
  { log }: Wiring,
  { store, upstreams }: Opened,
): Promise<void> {
  try {
    const waiting = await countByUpstream(store.reports, 'provisional', 'unresolved')
    for (const [upstream, requests] of waiting) {
      if (upstreams.has(upstream)) continue
      log.warn(
        { upstream, requests },
        'requests of an upstream that is no longer in the settings have no final cost: put the upstream back, settle them with `tollgate request settle`, or wait for TOLLGATE_SETTLE_AFTER_MS',
      )
    }
  } catch (cause) {
    log.warn({ cause: String(cause) }, 'requests whose cost is not known yet could not be counted')
  }
}

function openReconciler(
  { config, telemetry, closing, ...wiring }: Wiring,
  { store, ledger, storeClock, verification }: Opened,
  {
    upstream,
    isListed,
    fetchGeneration,
    settleAfterNoLookupMs,
  }: {
    /** Null: of upstreams that are not in the settings. */
    readonly upstream: string | null
    readonly isListed: (upstream: string) => boolean
    readonly fetchGeneration: ConstructorParameters<typeof Reconciler>[0]['fetchGeneration']
    readonly settleAfterNoLookupMs: number
  },
): Reconciler {
  const log = upstream === null ? wiring.log : wiring.log.child({ upstream })
  const reconciler = new Reconciler({
    listUnsettled: (page) => listUnsettled(store.reports, { ...page, isListed }),
    ledger,
    fetchGeneration,
    // The end of an attempt is stored in this clock's time, so its age must be read from this clock.
    clock: storeClock,
    settings: {
      settleAfterMs: config.TOLLGATE_SETTLE_AFTER_MS,
      settleAfterNoLookupMs,
      lookupsInFlightMax: config.TOLLGATE_LOOKUPS_IN_FLIGHT,
    },
    onSettled: (settlement) => {
      const { requestId, correction, corrected } = settlement
      log.debug({ requestId, by: correction.kind, ...corrected }, 'request reconciled')
      telemetry.metrics?.reconciled(settlement)
      verification.settled(settlement)
    },
    onFailure: (failure) => {
      const { of, requestId, cause } = failure
      log.warn(
        { of, requestId, cause: String(cause) },
        'a request could not be reconciled and will be tried again',
      )
      telemetry.metrics?.reconcileFailed(failure)
    },
    onBilledLate: (billed) => {
      const { requestId, costUsd } = billed
      log.info({ requestId, costUsd: formatDecimal(costUsd) }, BILLED_LATE)
      telemetry.metrics?.billedLate(billed)
    },
    onEndpointMissing() {
      if (upstream !== null) verification.noLookups(upstream)
    },
    onDoubted: ({ requestId, doubt }) => {
      log.warn(
        { requestId, doubt },
        "the provider's record of a request is implausible and was ignored",
      )
      telemetry.metrics?.lookupDoubted(doubt)
    },
  })
  return running({ closing }, reconciler)
}
