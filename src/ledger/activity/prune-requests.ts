import type { Kysely } from 'kysely'
import type { Tables } from '../../store/tables.ts'
import { firstIdOf } from '../../vocabulary/ids.ts'

/** Which part of Activity to prune next. */
export interface PruneBatch {
  /** Requests that were settled before this moment, and whose id is of before it, are pruned. */
  readonly settledBeforeMs: number
  /** Behind this request id; empty: from the oldest. */
  readonly afterId: string
  /** The most rows that are looked at. */
  readonly rowsMax: number
}

/** What became of a batch. */
export interface Pruned {
  readonly requests: number
  /** Where the next batch begins; null: that was the last. */
  readonly nextAfterId: string | null
}

/** What all ids sort before whose requests may be old enough. */
export function pruneUntilId(settledBeforeMs: number): string {
  return firstIdOf({ prefix: 'req', timeMs: settledBeforeMs })
}

/** Whether a row is settled, and was before a moment: `$` stands for the moment's parameter. */
export const PRUNABLE = "(state = 'final' or state = 'released') and settled_at_ms < $"

/** The columns of `pruned_requests`. */
export const PRUNED_COLUMNS = `api_key_id, account_id, requests, backed_charge_micros,
  free_charge_micros, written_off_micros, latest_settled_at_ms`

/** The same, summed over rows of `requests` by key. */
export const PRUNED_SUMS = `api_key_id, account_id, count(*), sum(backed_charge_micros),
  sum(free_charge_micros), sum(written_off_micros), max(settled_at_ms)`

/** Adds sums to those of earlier batches; `greatest` is what the engine calls the larger of two. */
export function addToPruned(greatest: 'max' | 'greatest'): string {
  return `on conflict (api_key_id) do update set
    requests = pruned_requests.requests + excluded.requests,
    backed_charge_micros = pruned_requests.backed_charge_micros + excluded.backed_charge_micros,
    free_charge_micros = pruned_requests.free_charge_micros + excluded.free_charge_micros,
    written_off_micros = pruned_requests.written_off_micros + excluded.written_off_micros,
    latest_settled_at_ms =
      ${greatest}(pruned_requests.latest_settled_at_ms, excluded.latest_settled_at_ms)`
}

/**
 * Until when requests have been pruned, if this one may be among them: null where none were, or none
 * that is as old.
 */
export async function prunedUntilMs(db: Kysely<Tables>, requestId: string): Promise<number | null> {
  const row = await db
    .selectFrom('pruned_requests')
    .select(({ fn }) => fn.max('latest_settled_at_ms').as('latestMs'))
    .executeTakeFirst()
  const latestMs = row?.latestMs ?? null
  return latestMs !== null && requestId < pruneUntilId(latestMs + 1) ? latestMs : null
}
