import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../store/schema.ts'
import { type Micros, micros } from '../../vocabulary/money.ts'
import { type RequestFilter, requestsLike } from './activity.ts'

/** Sums of the requests that a filter matches. */
export interface RequestSums {
  readonly requests: number
  /** The number of requests that ended with an error. */
  readonly failed: number
  readonly chargeMicros: Micros
}

/** Sums of all, and of each step of time that has requests. */
interface RequestSummary extends RequestSums {
  /** The part of their holds that is still reserved. */
  readonly heldMicros: Micros
  /** By step, counted from the start; steps without requests are absent. */
  readonly steps: ReadonlyMap<number, RequestSums>
}

/** Sums up requests by steps of `stepMs` from `sinceMs` on. Reads every request of the range. */
export async function summarizeRequests(
  db: Kysely<Tables>,
  {
    stepMs,
    ...filter
  }: RequestFilter & {
    readonly sinceMs: number
    readonly untilMs: number
    readonly stepMs: number
  },
): Promise<RequestSummary> {
  // As literals: SQLite would divide parameters as fractions.
  const step = sql<number>`(opened_at_ms - ${sql.lit(filter.sinceMs)}) / ${sql.lit(stepMs)}`
  const rows = await requestsLike(db, { table: 'all_requests', ...filter, cursor: null })
    .clearSelect()
    .select([
      step.as('step'),
      sql<number>`count(*)`.as('requests'),
      sql<number>`count(error_code)`.as('failed'),
      sql<number>`sum(backed_charge_micros + free_charge_micros)`.as('charge_micros'),
      sql<number>`sum(backed_held_micros + free_held_micros)`.as('held_micros'),
    ])
    .groupBy('step')
    .execute()
  const steps = new Map<number, RequestSums>()
  let [requests, failed, chargeMicros, heldMicros] = [0, 0, 0, 0]
  // PostgreSQL answers sums as text.
  for (const row of rows) {
    const sums = { requests: Number(row.requests), failed: Number(row.failed) }
    steps.set(Number(row.step), { ...sums, chargeMicros: micros(Number(row.charge_micros)) })
    requests += sums.requests
    failed += sums.failed
    chargeMicros += Number(row.charge_micros)
    heldMicros += Number(row.held_micros)
  }
  return {
    requests,
    failed,
    chargeMicros: micros(chargeMicros),
    heldMicros: micros(heldMicros),
    steps,
  }
}
