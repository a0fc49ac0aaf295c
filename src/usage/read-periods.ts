import type { Kysely } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { inOneView } from '../store/store.ts'
import { ALLOWANCE_PERIODS, type AllowancePeriod, periodSpanAt } from '../vocabulary/allowance.ts'
import { type Micros, micros } from '../vocabulary/money.ts'
import { periodsBetween, planSums, type SumDetail } from './sum-plan.ts'
import { isByKey, type RowsQuery, readRolled, readSpan, type SumRow } from './sum-rows.ts'
import { addSums, hasUsage, NO_USAGE, type SelectedSums, subtractSums } from './sums.ts'

/** The requests of a report, and its periods. */
export interface PeriodQuery extends Omit<RowsQuery, 'columns' | 'labelled'> {
  /** The start of each period, ascending, and the end of the last one, in milliseconds since the Unix epoch. */
  readonly boundsMs: readonly number[]
  /** The sums to read; others are 0. Default: all of them. */
  readonly columns?: Extract<SelectedSums, 'amounts' | 'counts'>
}

/**
 * Adds up requests by period, to the millisecond in which their ids were made: whole days and hours from roll-ups,
 * the others from requests. If a bound divides a day or an hour whose requests may have been pruned, all
 * of it counts in the period in which it begins, so that periods side by side have each request once. A period's place is
 * that of its first bound. First-byte times are left out.
 */
export async function readPeriods(
  view: Kysely<Tables>,
  { boundsMs, columns = 'amounts', ...asked }: PeriodQuery,
): Promise<readonly SumRow[]> {
  const query = { ...asked, columns }
  const periods = periodsBetween(boundsMs)
  const plan = await planSums(view, { periods, detail: detailOf(query) })
  const sums = new Map<string, SumRow>()
  const add = (rows: readonly SumRow[]): void => {
    for (const row of rows) {
      const name = `${row.place} ${row.label}`
      const earlier = sums.get(name)
      sums.set(
        name,
        earlier === undefined ? row : { ...row, sums: addSums(earlier.sums, row.sums) },
      )
    }
  }
  for (const source of ['usage_days', 'usage_hours'] as const) {
    add(await readRolled(view, query, { source, places: plan[source] }))
  }
  for (const span of plan.spans) add(await readSpan(view, query, span))
  for (const { outOf, into, ...time } of plan.moved) {
    const rows = await readSpan(view, query, { ...time, place: outOf })
    add(rows.map((row) => ({ ...row, sums: subtractSums(NO_USAGE, row.sums) })))
    if (into !== null) add(rows.map((row) => ({ ...row, place: into })))
  }
  // A group may have no request in the rest of a day.
  return [...sums.values()].filter((row) => hasUsage(row.sums))
}

function detailOf({ apiKeyId, by }: RowsQuery): SumDetail {
  if (by === 'tag') return 'tags'
  if (by === 'finest') return 'finest'
  return apiKeyId !== null || isByKey(by) ? 'keys' : 'kinds'
}

/** The charges of a key, with corrections, since the present UTC day, week and month began. Weeks begin on Monday. */
export async function readSpend(
  db: Kysely<Tables>,
  {
    accountId,
    apiKeyId,
    nowMs,
  }: { readonly accountId: string; readonly apiKeyId: string; readonly nowMs: number },
): Promise<Readonly<Record<AllowancePeriod, Micros>>> {
  const starts = ALLOWANCE_PERIODS.map(
    (allowancePeriod) =>
      periodSpanAt({ allowancePeriod, allowanceTimeZone: 'UTC' }, nowMs).startsAtMs,
  )
  const boundsMs = [...new Set([...starts, nowMs + 1])].sort((a, b) => a - b)
  const periods = await inOneView(db, (view) =>
    readPeriods(view, { accountId, apiKeyId, by: null, boundsMs }),
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
