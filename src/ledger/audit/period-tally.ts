import type { AccountRow, ApiKeyRow, RequestRow } from '../../store/schema.ts'
import { chargedMicros } from '../rules/charge.ts'
import { isWithin } from '../rules/limits.ts'

type Period = NonNullable<AccountRow['period']>

/** The charges of an owner's requests that were pruned, and when the latest of them was settled. */
export interface PrunedCharges {
  readonly chargeMicros: number
  readonly latestSettledAtMs: number
}

/** Adds up, for each allowance, the requests whose holds opened in its period. */
export class PeriodTally {
  /** The periods of accounts and keys that have an allowance, with the sums that they must have. */
  readonly #watched = new Map<
    string,
    { readonly period: Period; spendMicros: number; heldMicros: number }
  >()

  /** Call it with every account and key, before the requests. */
  watch({ id, period }: Pick<AccountRow | ApiKeyRow, 'id' | 'period'>): void {
    if (period !== null) this.#watched.set(id, { period, spendMicros: 0, heldMicros: 0 })
  }

  addRequest(row: RequestRow): void {
    for (const ownerId of [row.accountId, row.apiKeyId]) {
      const watched = this.#watched.get(ownerId)
      if (watched === undefined || !isWithin(watched.period, row.openedAtMs)) continue
      watched.spendMicros += chargedMicros(row)
      watched.heldMicros += row.backedHeldMicros + row.freeHeldMicros
    }
  }

  /**
   * The sum that the period of an account or key must have. Requests of the period may have been pruned where
   * Activity is kept for less than a period: then the stored spend is right if it is between those that are left
   * and all.
   */
  expected(
    { id, period }: Pick<AccountRow | ApiKeyRow, 'id' | 'period'>,
    pruned: PrunedCharges | null,
  ): { readonly spendMicros: number; readonly heldMicros: number } | null {
    const watched = this.#watched.get(id)
    if (watched === undefined || period === null) return null
    const { spendMicros, heldMicros } = watched
    const mayBePruned = pruned !== null && pruned.latestSettledAtMs >= period.periodStartsAtMs
    const mostMicros = spendMicros + (mayBePruned ? pruned.chargeMicros : 0)
    const storedMicros: number = period.periodSpendMicros
    const isRight = storedMicros >= spendMicros && storedMicros <= mostMicros
    return { spendMicros: isRight ? storedMicros : spendMicros, heldMicros }
  }
}
