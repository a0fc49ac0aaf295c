import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../store/schema.ts'
import { firstIdOf } from '../../vocabulary/ids.ts'
import { isUnsettled } from './unsettled.ts'

/** How many requests of an upstream ended with a code; null: with none, or they still run. */
export interface CodeCount {
  readonly upstream: string
  readonly code: string | null
  readonly requests: number
}

/** Counts the requests since a moment by upstream and error code. */
export async function countCodes(
  db: Kysely<Tables>,
  sinceMs: number,
): Promise<readonly CodeCount[]> {
  const rows = await db
    .selectFrom('all_requests')
    .select(({ fn }) => ['upstream', 'error_code as code', fn.countAll<number>().as('requests')])
    .where('id', '>=', firstIdOf({ prefix: 'req', timeMs: sinceMs }))
    .groupBy(['upstream', 'error_code'])
    .execute()
  // PostgreSQL answers counts as text.
  return rows.map((row) => ({ ...row, requests: Number(row.requests) }))
}

/** Counts the requests under way by upstream; one without any is left out. */
export async function countRunning(db: Kysely<Tables>): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('all_requests')
    .select(({ fn }) => ['upstream', fn.countAll<number>().as('requests')])
    .where(isUnsettled('open'))
    .groupBy('upstream')
    .execute()
  return new Map(rows.map(({ upstream, requests }) => [upstream, Number(requests)]))
}

/** The time to the first byte that half of the requests since a moment stay within, by upstream, in milliseconds. */
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
