import { type Kysely, PostgresAdapter, sql } from 'kysely'
import type { Tables } from './schema.ts'

/** Whether a store is on PostgreSQL; else it is on SQLite. */
export function isPostgres(db: Kysely<Tables>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter
}

/** The SQL of the time by the clock of a PostgreSQL database, in milliseconds, also within a transaction. */
export const DATABASE_MS_TEXT = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint'

/** {@link DATABASE_MS_TEXT} as a part of a query. */
export const DATABASE_MS = sql.raw<number>(DATABASE_MS_TEXT)
