import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../store/schema.ts'
import { firstIdOf } from '../../vocabulary/ids.ts'
import { type Micros, micros, roundedCost, ZERO_MICROS } from '../../vocabulary/money.ts'
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
  /** The part of their holds that is still held. */
  readonly heldMicros: Micros
  /** By step, counted from the start; steps without requests are absent. */
  readonly steps: ReadonlyMap<number, RequestSums>
  /** The failed requests by error code, the most frequent first. */
  readonly errors: readonly ErrorCount[]
}

/** The requests that ended with one error code. */
interface ErrorCount {
  readonly code: string
  readonly requests: number
  /** The ID of the newest of these requests. */
  readonly latestId: string
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
  // Literals, because SQLite would divide parameters as fractions.
  const step = sql<number>`(opened_at_ms - ${sql.lit(filter.sinceMs)}) / ${sql.lit(stepMs)}`
  const rows = await requestsLike(db, { table: 'all_requests', ...filter, cursor: null })
    .clearSelect()
    .select([
      step.as('step'),
      'error_code as code',
      sql<number>`count(*)`.as('requests'),
      sql<string>`max(id)`.as('latest_id'),
      sql<number>`sum(backed_charge_micros + free_charge_micros)`.as('charge_micros'),
      sql<number>`sum(backed_held_micros + free_held_micros)`.as('held_micros'),
    ])
    .groupBy(['step', 'error_code'])
    .execute()
  const steps = new Map<number, RequestSums>()
  const errors = new Map<string, ErrorCount>()
  let heldMicros = 0
  // PostgreSQL answers sums as text.
  for (const row of rows) {
    const { code } = row
    const requests = Number(row.requests)
    const failed = code === null ? 0 : requests
    const sums = { requests, failed, chargeMicros: micros(Number(row.charge_micros)) }
    const step = Number(row.step)
    steps.set(step, addRequestSums(steps.get(step) ?? NO_REQUESTS, sums))
    heldMicros += Number(row.held_micros)
    if (code === null) continue
    const counted = errors.get(code) ?? { code, requests: 0, latestId: '' }
    const [, latestId = ''] = [counted.latestId, row.latest_id].sort()
    errors.set(code, { code, requests: counted.requests + requests, latestId })
  }
  return {
    ...[...steps.values()].reduce(addRequestSums, NO_REQUESTS),
    heldMicros: micros(heldMicros),
    steps,
    errors: [...errors.values()].sort(
      (a, b) => b.requests - a.requests || a.code.localeCompare(b.code),
    ),
  }
}

const NO_REQUESTS: RequestSums = { requests: 0, failed: 0, chargeMicros: ZERO_MICROS }

function addRequestSums(one: RequestSums, other: RequestSums): RequestSums {
  return {
    requests: one.requests + other.requests,
    failed: one.failed + other.failed,
    chargeMicros: micros(one.chargeMicros + other.chargeMicros),
  }
}

/** The requests of one upstream that ended with one error code. `code` null: they succeeded, or still run. */
export interface CodeCount {
  readonly upstream: string
  readonly code: string | null
  readonly requests: number
  /** How many of them the upstream answered. */
  readonly answered: number
  /** The provider's cost, released requests included. */
  readonly costMicros: Micros
}

/** Counts the requests since a moment by upstream and error code. */
export async function countCodes(
  db: Kysely<Tables>,
  sinceMs: number,
): Promise<readonly CodeCount[]> {
  const rows = await db
    .selectFrom('all_requests')
    .select(({ fn }) => [
      'upstream',
      'error_code as code',
      fn.countAll<number>().as('requests'),
      fn.count<number>('first_byte_at_ms').as('answered'),
      fn.sum('cost_micros').as('cost_micros'),
      fn.sum('cost_rest_pico').as('cost_rest_pico'),
    ])
    .where('id', '>=', firstIdOf({ prefix: 'req', timeMs: sinceMs }))
    .groupBy(['upstream', 'error_code'])
    .execute()
  // PostgreSQL answers counts as text.
  return rows.map(({ upstream, code, ...row }) => ({
    upstream,
    code,
    requests: Number(row.requests),
    answered: Number(row.answered),
    costMicros: roundedCost({
      costMicros: Number(row.cost_micros),
      costRestPico: Number(row.cost_rest_pico),
    }),
  }))
}

/** The median time to the first byte of the requests since a moment, by upstream, in milliseconds. */
export async function medianFirstBytes(
  db: Kysely<Tables>,
  sinceMs: number,
): Promise<ReadonlyMap<string, number>> {
  const waits = db
    .selectFrom('requests')
    .select([
      'upstream',
      sql<number>`first_byte_at_ms - opened_at_ms`.as('wait_ms'),
      sql<number>`row_number() over (partition by upstream order by first_byte_at_ms - opened_at_ms)`.as(
        'place',
      ),
      sql<number>`count(*) over (partition by upstream)`.as('waits'),
    ])
    .where('id', '>=', firstIdOf({ prefix: 'req', timeMs: sinceMs }))
    .where('first_byte_at_ms', 'is not', null)
  const rows = await db
    .selectFrom(waits.as('waited'))
    .select(['upstream', 'wait_ms'])
    .where(sql<boolean>`place = (waits + 1) / 2`)
    .execute()
  return new Map(rows.map(({ upstream, wait_ms: waitMs }) => [upstream, Number(waitMs)]))
}

/** A request that ended with an error. */
export interface FailedRequest {
  readonly id: string
  readonly openedAtMs: number
  readonly code: string
  readonly httpStatus: number | null
  readonly modelId: string
}

/** The newest request of an upstream since a moment that ended with an error; null: there is none. */
export async function lastFailure(
  db: Kysely<Tables>,
  { upstream, sinceMs }: { readonly upstream: string; readonly sinceMs: number },
): Promise<FailedRequest | null> {
  const row = await db
    .selectFrom('requests')
    .select(['id', 'opened_at_ms', 'error_code', 'http_status', 'model_id'])
    .where('id', '>=', firstIdOf({ prefix: 'req', timeMs: sinceMs }))
    .where('upstream', '=', upstream)
    .where('error_code', 'is not', null)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined || row.error_code === null) return null
  return {
    id: row.id,
    openedAtMs: row.opened_at_ms,
    code: row.error_code,
    httpStatus: row.http_status,
    modelId: row.model_id,
  }
}
