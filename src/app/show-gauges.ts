import type { Catalog } from '../catalog/catalog.ts'
import type { ReadinessCheck } from '../http/health.ts'
import type { Inference } from '../http/inference.ts'
import type { ByteBudget } from '../journey/gate/byte-budget.ts'
import { countHolds } from '../ledger/activity/count-holds.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import type { Store } from '../store/open-store.ts'
import { HoldFigures } from '../telemetry/hold-figures.ts'
import type { Clock } from '../vocabulary/clock.ts'
import type { OpenTelemetry } from './open-telemetry.ts'
import type { Wiring } from './wiring.ts'

interface WatchedBooks {
  readonly store: Store
  readonly isAlive: () => boolean
  /** The time that is in the store's rows. */
  readonly storeClock: Clock
}

export interface ReadinessChecksInput {
  readonly books: WatchedBooks
  readonly catalog: Catalog
  readonly isDraining: () => boolean
}

/** What `/readyz` answers, from the parts that it is about. */
export function readinessChecks(
  { readiness }: Pick<OpenTelemetry, 'readiness'>,
  { books, catalog, isDraining }: ReadinessChecksInput,
): readonly ReadinessCheck[] {
  return readiness.checks({
    isDraining,
    isAlive: books.isAlive,
    pricesRefreshedAtMs: () => catalog.refreshedAtMs,
  })
}

/** What of a thread the metrics show. What it has nothing of, another thread shows. */
export interface ShowGaugesInput {
  readonly looksOn: OpenTelemetry
  readonly books: WatchedBooks
  readonly catalog: Catalog
  /** Null: it serves nobody. */
  readonly serving: {
    readonly inference: Pick<Inference, 'inFlight' | 'isDraining'>
    readonly byteBudget: Pick<ByteBudget, 'bytesReserved'>
  } | null
  /** Null: it has none, and counts no holds of the whole store either. */
  readonly reconciler: Pick<Reconciler, 'waiting'> | null
}

const NONE_WAITING = { size: 0, nextDueAtMs: null }

/** Lets the metrics read what the parts have, now that all of them are there. */
export function showGauges({ config, clock }: Wiring, input: ShowGaugesInput): void {
  const { looksOn, books, catalog, serving, reconciler } = input
  const holds = new HoldFigures({ countHolds: () => countHolds(books.store.reports), clock })
  looksOn.metrics?.watch({
    nowMs: () => clock.nowMs(),
    storeNowMs: () => books.storeClock.nowMs(),
    inFlight: () => serving?.inference.inFlight ?? 0,
    bufferBytes: () => serving?.byteBudget.bytesReserved ?? 0,
    bufferBytesMax: config.TOLLGATE_BUFFER_BYTES_MAX,
    holds: async () => (reconciler === null ? null : holds.read()),
    waiting: () => {
      const { size: requests, nextDueAtMs } = reconciler?.waiting ?? NONE_WAITING
      return { requests, nextDueAtMs }
    },
    catalog: () => ({
      modelIds: catalog.modelIds,
      refreshedAtMs: catalog.refreshedAtMs,
    }),
    checks: () =>
      readinessChecks(looksOn, {
        books,
        catalog,
        isDraining: () => serving?.inference.isDraining ?? false,
      }),
    isAccountRefused: () => looksOn.readiness.isAccountRefused,
  })
}
