import { type Kysely, sql } from 'kysely'
import { expect } from 'vitest'
import type { Tables } from '../schema.ts'

/** Resolves once this many statements of a PostgreSQL database wait for locks of others. */
export async function lockWaits(db: Kysely<Tables>, count: number): Promise<void> {
  const waits = async (): Promise<number> => {
    // Within a transaction the server would repeat its first answer.
    await sql`select pg_stat_clear_snapshot()`.execute(db)
    const { rows } = await sql<{ waits: number }>`
      select count(*) as waits from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    return rows[0]?.waits ?? 0
  }
  await expect.poll(waits).toBeGreaterThanOrEqual(count)
}
