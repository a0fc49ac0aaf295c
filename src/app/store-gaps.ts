import type { StoreGap } from '../ledger/engines/went-back.ts'
import { listStoreGaps, recordStoreGap, removeOldMarks } from '../ledger/store-gaps.ts'
import type { StoreGapRow } from '../store/gap-tables.ts'
import type { Store } from '../store/store.ts'
import { formatDecimal } from '../vocabulary/money.ts'
import type { Wiring } from './wiring.ts'

const DAY_MS = 86_400_000
const RECORD_RETRY_MS = 1_000

/** The commits that a database had lost when it went back, and how many are booked again, in a sentence. */
function wordsOf({ isAtLeast, ...gap }: StoreGap): string {
  const seconds = Math.round(Math.max(0, gap.untilMs - gap.fromMs) / 100) / 10
  const dollars = formatDecimal({ digits: BigInt(gap.chargeMicros), exponent: -6 })
  return (
    `the database went back: ${isAtLeast ? 'at least ' : ''}${gap.commits} commits of ${seconds} s were gone; ` +
    `${gap.requests} requests ($${dollars}) and ${gap.commands} other commands are booked again, ${gap.lost} are lost`
  )
}

/** Records and tells where the database went back; `store` is the store once it is open. */
export class StoreGapTeller {
  readonly #wiring: Pick<Wiring, 'log' | 'ids' | 'telemetry' | 'clock'>
  readonly #store: Store
  readonly #instanceId: string
  #closed = false

  constructor(
    wiring: Pick<Wiring, 'log' | 'ids' | 'telemetry' | 'clock'>,
    { store, instanceId }: { readonly store: Store; readonly instanceId: string },
  ) {
    this.#wiring = wiring
    this.#store = store
    this.#instanceId = instanceId
  }

  /** Warns of what was found within the last day, by any gateway. */
  async start(): Promise<void> {
    const { clock, telemetry } = this.#wiring
    await removeOldMarks(this.#store.db)
    const [newest] = await listStoreGaps(this.#store.db, clock.nowMs() - DAY_MS)
    if (newest !== undefined) {
      telemetry.storeHadGone(wordsOf({ ...newest, isAtLeast: false }), newest.foundAtMs + DAY_MS)
    }
  }

  /** The database went back. */
  tell(gap: StoreGap): void {
    const { log, ids, telemetry, clock } = this.#wiring
    const { isAtLeast: _isAtLeast, ...figures } = gap
    const foundAtMs = clock.nowMs()
    const row = { id: ids.next('gap'), instanceId: this.#instanceId, foundAtMs, ...figures }
    log.error({ ...row }, wordsOf(gap))
    telemetry.storeWentBack(gap)
    telemetry.storeHadGone(wordsOf(gap), foundAtMs + DAY_MS)
    void this.#record(row)
  }

  stop(): void {
    this.#closed = true
  }

  /** The server has just changed: it is asked until it takes the row. */
  async #record(row: StoreGapRow): Promise<void> {
    while (!this.#closed) {
      try {
        await recordStoreGap(this.#store.db, row)
        return
      } catch {
        await new Promise((resolve) => setTimeout(resolve, RECORD_RETRY_MS).unref())
      }
    }
  }
}
