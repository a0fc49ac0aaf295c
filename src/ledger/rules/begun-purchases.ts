import { DAY_MS } from '../../vocabulary/clock.ts'
import type { Micros } from '../../vocabulary/money.ts'
import type { Count, Uncounted } from '../counts.ts'
import type { UnitOfWork } from '../work.ts'

/** The most that an account may begin to buy by card, counted in the transaction that adds the purchase. */
export interface MostBegun {
  /** Purchases that can still be paid. */
  readonly open: number
  /** Credit within 24 hours; null: any. */
  readonly dailyMicros: Micros | null
}

/** A purchase that an account begins. */
interface Beginning {
  readonly accountId: string
  readonly creditMicros: Micros
  /** Absent: any number and amount. */
  readonly most?: MostBegun
}

/** The purchases by card that an account began in the span: those that can be paid at its end, and the credit of all. */
export const BEGUN_PURCHASES: Count<{ readonly open: number; readonly creditMicros: number }> = {
  name: 'count_begun_purchases',
  of: 'begun purchases',
  text: `select count(case when state = 'open' and expires_at_ms > $3 then 1 end) as open,
      sum(case when state in ('expired', 'dismissed') then 0 else credit_micros end) as credit
    from purchases where account_id = $1 and created_at_ms > $2 and price_units is not null`,
  values: (accountId, { startsAtMs, endsAtMs }) => [accountId, startsAtMs, endsAtMs],
  read: (row) => ({ open: Number(row?.['open']), creditMicros: Number(row?.['credit'] ?? 0) }),
}

/** The purchases of an account that may begin only so many. */
export function uncountedPurchases(
  _: UnitOfWork,
  { accountId, most }: Beginning,
  nowMs: number,
): readonly Uncounted[] {
  if (most === undefined) return []
  const span = { startsAtMs: nowMs - DAY_MS, endsAtMs: nowMs }
  return [{ count: BEGUN_PURCHASES, id: accountId, span }]
}

/** Whether the account has begun too many purchases, or too much credit, to begin this one. */
export function isTooMany(work: UnitOfWork, { accountId, creditMicros, most }: Beginning): boolean {
  if (most === undefined) return false
  const begun = work.counted(BEGUN_PURCHASES, accountId)
  if (begun === undefined) throw new Error(`purchases of ${accountId} were not counted`)
  const { open, dailyMicros } = most
  if (begun.open >= open) return true
  return dailyMicros !== null && begun.creditMicros + creditMicros > dailyMicros
}
