import type { Kysely } from 'kysely'
import { STORE_GAPS, type StoreGapRow } from '../store/gap-tables.ts'
import type { Tables } from '../store/schema.ts'
import { DAY_MS } from '../vocabulary/clock.ts'

/** Records that the database went back. A repeat changes nothing. */
export async function recordStoreGap(db: Kysely<Tables>, row: StoreGapRow): Promise<void> {
  await db
    .insertInto('store_gaps')
    .values(STORE_GAPS.record(row))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}

/** The times at which the database went back, newest first, that were found since a moment. */
export async function listStoreGaps(
  db: Kysely<Tables>,
  sinceMs: number,
): Promise<readonly StoreGapRow[]> {
  return STORE_GAPS.readAll(
    db
      .selectFrom('store_gaps')
      .selectAll()
      .where('found_at_ms', '>=', sinceMs)
      .orderBy('found_at_ms', 'desc')
      .orderBy('id'),
  )
}

// A gateway believes for an hour that its newest commit must be in the store, and while its machine sleeps the hour
// doesn't pass.
const STOPPED_KEPT_MS = 30 * DAY_MS

/**
 * Removes the marks of instances that stopped 30 days ago. One that others took for dead may come back: without its mark,
 * it would find its commits gone, and run them again over later changes.
 */
export async function removeOldMarks(db: Kysely<Tables>, nowMs: number): Promise<void> {
  await db
    .deleteFrom('commit_marks')
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('instances')
          .select('instances.id')
          .whereRef('instances.id', '=', 'commit_marks.instance_id')
          .where('instances.stopped_at_ms', 'is not', null)
          .where('instances.heartbeat_at_ms', '<=', nowMs - STOPPED_KEPT_MS),
      ),
    )
    .execute()
}
