import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../is-postgres.ts'
import type { Tables } from '../schema.ts'

/** Counts of requests that were refused before their holds opened, by hour, API key and problem code. */
export async function up(db: Kysely<Tables>): Promise<void> {
  // The key is most of a row, as in `usage_errors`.
  const end = sql.raw(isPostgres(db) ? '' : ' without rowid')
  await sql`
    create table refusals (
      account_id text not null, hour bigint not null, api_key_id text not null, code text not null,
      requests bigint not null, latest_at_ms bigint not null,
      constraint refusals_cells primary key (account_id, hour, api_key_id, code)
    )${end}`.execute(db)
  await sql`create index refusals_hours on refusals (hour)`.execute(db)
}
