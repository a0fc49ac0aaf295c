import type { Catalog } from './catalog/catalog.ts'
import type { ReadinessCheck } from './http/health.ts'
import type { Inference } from './http/inference.ts'
import type { JourneyParts } from './journey/journey.ts'
import { countHolds } from './ledger/count-holds.ts'
import type { OpenTelemetry } from './open-telemetry.ts'
import type { Reconciler } from './reconcile/reconciler.ts'
import type { Store } from './store/open-store.ts'
import { HoldFigures } from './telemetry/hold-figures.ts'
import type { Clock } from './vocabulary/clock.ts'
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

export interface ShowGaugesInput {
  readonly looksOn: OpenTelemetry
  readonly books: WatchedBooks
  readonly parts: Pick<JourneyParts, 'byteBudget'>
  readonly catalog: Catalog
  readonly reconciler: Reconciler
  readonly inference: Inference
}

/** Lets the metrics read what the parts have, now that all of them are there. */
export function showGauges({ config, clock }: Wiring, input: ShowGaugesInput): void {
  const { looksOn, books, parts, catalog, reconciler, inference } = input
  const holds = new HoldFigures({ countHolds: () => countHolds(books.store.reports), clock })
  looksOn.metrics?.watch({
    nowMs: () => clock.nowMs(),
    storeNowMs: () => books.storeClock.nowMs(),
    inFlight: () => inference.inFlight,
    bufferBytes: () => parts.byteBudget.bytesReserved,
    bufferBytesMax: config.TOLLGATE_BUFFER_BYTES_MAX,
    holds: () => holds.read(),
    waiting: () => {
      const { size: requests, nextDueAtMs } = reconciler.waiting
      return { requests, nextDueAtMs }
    },
    catalog: () => ({
      modelIds: new Set(catalog.rows().map(({ offer }) => offer.modelId)),
      refreshedAtMs: catalog.refreshedAtMs,
    }),
    checks: () =>
      readinessChecks(looksOn, { books, catalog, isDraining: () => inference.isDraining }),
    isAccountRefused: () => looksOn.readiness.isAccountRefused,
  })
}
