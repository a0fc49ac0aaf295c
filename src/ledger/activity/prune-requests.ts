import type { Kysely } from 'kysely'
import { PROGRAM_SCHEMA } from '../../store/migrations/migrations.ts'
import { REQUESTS, type Tables } from '../../store/schema.ts'
import { PRUNED_REQUESTS } from '../../store/usage-tables.ts'
import { HOUR_MS } from '../../vocabulary/clock.ts'
import { firstIdOf, timeOfId } from '../../vocabulary/ids.ts'
import { DAY_HOURS, watchedHourAt } from '../../vocabulary/usage-step.ts'

/** The next part of Activity to prune. */
export interface PruneBatch {
  /** Only requests that were settled before this moment are pruned. */
  readonly settledBeforeMs: number
  /** Only requests whose IDs sort before this are pruned. */
  readonly untilId: string
  /** The batch begins after this request ID; empty: with the oldest request. */
  readonly afterId: string
  /** The most rows that the batch reads. */
  readonly rowsMax: number
}

/** The result of a batch: how many requests it removed, and where the next one begins. */
export interface Pruned {
  readonly requests: number
  /** The start of the next batch; null: there is none. */
  readonly nextAfterId: string | null
}

/**
 * The ids of requests that may be pruned sort before this: a request is settled after its id was made, and a day that
 * may still get a late request is rolled up again from all of its requests.
 */
export function pruneUntilId({
  settledBeforeMs,
  nowMs,
}: Readonly<Record<'settledBeforeMs' | 'nowMs', number>>): string {
  const watchedDay = Math.floor(watchedHourAt(nowMs) / DAY_HOURS)
  const timeMs = Math.min(settledBeforeMs, watchedDay * DAY_HOURS * HOUR_MS)
  return firstIdOf({ prefix: 'req', timeMs })
}

/** Whether a row was settled before a moment: `$` is the parameter of the moment. */
export const PRUNABLE = "(state = 'final' or state = 'released') and settled_at_ms < $"

/** The UTC days of requests, for their roll-ups. An id without a time has none. */
export function daysOf(requestIds: readonly string[]): readonly number[] {
  return [...new Set(requestIds.map(dayOf))].filter((day) => day !== null)
}

/** The requests that may be pruned: charts would lose those of a day that is not rolled up. */
export function chartedWithout(
  requestIds: readonly string[],
  rolledDays: ReadonlySet<unknown>,
): readonly string[] {
  return requestIds.filter((requestId) => {
    const day = dayOf(requestId)
    return day === null || rolledDays.has(day)
  })
}

/** The row that marks a day whose requests were pruned: the day can't be rolled up again. */
export function prunedDay(day: number) {
  const counts = { requests: 0, rolled_at_ms: 0, program_schema: PROGRAM_SCHEMA }
  return { step: 'pruned' as const, number: day, ...counts }
}

function dayOf(requestId: string): number | null {
  const timeMs = timeOfId(requestId)
  return timeMs === null ? null : Math.floor(timeMs / HOUR_MS / DAY_HOURS)
}

// The figures that are kept of pruned requests: both tables have them, by the same names.
const SUMMED = PRUNED_REQUESTS.columns
  .filter(
    ({ name, type }) =>
      type === 'integer' && REQUESTS.columns.some((column) => column.name === name),
  )
  .map(({ name }) => name)

/** The columns of `pruned_requests` that a batch writes, in the order of {@link PRUNED_SUMS}. */
export const PRUNED_COLUMNS = `api_key_id, account_id, requests, ${SUMMED.join(', ')}, latest_settled_at_ms`

/** The values of {@link PRUNED_COLUMNS}: sums over rows of `requests`, grouped by API key. */
export const PRUNED_SUMS = `api_key_id, account_id, count(*),
  ${SUMMED.map((name) => `sum(${name})`).join(', ')}, max(settled_at_ms)`

/** Adds sums to those of earlier batches; `greatest`: the engine's name for the larger of two values. */
export function addToPruned(greatest: 'max' | 'greatest'): string {
  const sums = ['requests', ...SUMMED].map(
    (name) => `${name} = pruned_requests.${name} + excluded.${name}`,
  )
  return `on conflict (api_key_id) do update set ${sums.join(', ')}, latest_settled_at_ms =
    ${greatest}(pruned_requests.latest_settled_at_ms, excluded.latest_settled_at_ms)`
}

/**
 * Until when requests have been pruned; null: none was. Requests with ids from after this moment were not pruned:
 * pruned requests were already settled.
 */
export async function prunedUntilMs(db: Kysely<Tables>): Promise<number | null> {
  const row = await db
    .selectFrom('pruned_requests')
    .select(({ fn }) => fn.max('latest_settled_at_ms').as('latestMs'))
    .executeTakeFirst()
  return row?.latestMs ?? null
}

/**
 * When the latest of the pruned requests was settled, if this request may be among them; null: it can't be, because none
 * were pruned, or only older ones.
 */
export async function prunedUntilMsOf(
  db: Kysely<Tables>,
  requestId: string,
): Promise<number | null> {
  const latestMs = await prunedUntilMs(db)
  const olderId = firstIdOf({ prefix: 'req', timeMs: (latestMs ?? 0) + 1 })
  return latestMs !== null && requestId < olderId ? latestMs : null
}
