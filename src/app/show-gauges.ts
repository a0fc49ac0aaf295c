import type { Catalog } from '../catalog/catalog.ts'
import type { ReadinessCheck } from '../http/health.ts'
import type { Inference } from '../http/inference.ts'
import type { ByteBudget } from '../journey/gate/byte-budget.ts'
import { countHolds } from '../ledger/activity/count-holds.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import { HoldFigures } from '../telemetry/hold-figures.ts'
import type { ServedBooks } from './open-books.ts'
import type { OpenTelemetry } from './open-telemetry.ts'
import type { Wiring } from './wiring.ts'

interface ShowGaugesInput {
  readonly looksOn: OpenTelemetry
  readonly books: Pick<ServedBooks, 'store' | 'storeClock'>
  readonly catalog: Catalog
  readonly inference: Pick<Inference, 'inFlight'>
  readonly byteBudget: Pick<ByteBudget, 'bytesReserved'>
  readonly reconciler: Pick<Reconciler, 'waiting'>
  /** As `/readyz` answers them. */
  readonly checks: () => readonly ReadinessCheck[]
}

/** Lets the metrics read what the parts have, now that all of them are there. */
export function showGauges({ config, clock }: Wiring, input: ShowGaugesInput): void {
  const { looksOn, books, catalog, inference, byteBudget, reconciler, checks } = input
  const holds = new HoldFigures({ countHolds: () => countHolds(books.store.reports), clock })
  looksOn.metrics?.watch({
    nowMs: () => clock.nowMs(),
    storeNowMs: () => books.storeClock.nowMs(),
    inFlight: () => inference.inFlight,
    bufferBytes: () => byteBudget.bytesReserved,
    bufferBytesMax: config.TOLLGATE_BUFFER_BYTES_MAX,
    holds: () => holds.read(),
    waiting: () => {
      const { size: requests, nextDueAtMs } = reconciler.waiting
      return { requests, nextDueAtMs }
    },
    catalog: () => ({
      modelIds: catalog.modelIds,
      refreshedAtMs: catalog.refreshedAtMs,
    }),
    checks,
    isAccountRefused: () => looksOn.readiness.isAccountRefused,
  })
}
