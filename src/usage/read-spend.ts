import type { Kysely } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { ALLOWANCE_PERIODS, type AllowancePeriod, periodSpanAt } from '../vocabulary/allowance.ts'
import { type Micros, micros } from '../vocabulary/money.ts'
import { readPeriods } from './read-periods.ts'

/** The key, and when it is asked about. */
interface SpendQuery {
  readonly accountId: string
  readonly apiKeyId: string
  readonly nowMs: number
}

/** The charges of a key, with corrections, since the present UTC day, week and month began. Weeks begin on Monday. */
export async function readSpend(
  db: Kysely<Tables>,
  { accountId, apiKeyId, nowMs }: SpendQuery,
): Promise<Readonly<Record<AllowancePeriod, Micros>>> {
  const starts = ALLOWANCE_PERIODS.map(
    (allowancePeriod) =>
      periodSpanAt({ allowancePeriod, allowanceTimeZone: 'UTC' }, nowMs).startsAtMs,
  )
  const boundsMs = [...new Set([...starts, nowMs + 1])].sort((a, b) => a - b)
  const view = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  const periods = await view.execute((trx) =>
    readPeriods(trx, { accountId, apiKeyId, by: null, boundsMs }),
  )
  const since = (startMs: number | undefined): Micros =>
    micros(
      periods
        .filter(({ place }) => (boundsMs[place] ?? 0) >= (startMs ?? 0))
        .reduce((sum, { sums }) => sum + sums.backed_charge_micros + sums.free_charge_micros, 0),
    )
  const [day, week, month] = starts
  return { day: since(day), week: since(week), month: since(month) }
}
