import { type Kysely, PostgresAdapter } from 'kysely'
import type { Tables } from './schema.ts'

/** Whether a store is on PostgreSQL; else it is on SQLite. */
export function isPostgres(db: Kysely<Tables>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter
}
