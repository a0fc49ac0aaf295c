import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../is-postgres.ts'
import type { Tables } from '../schema.ts'

/** Makes reads of a large store fast: requests that hold credit by account, and sums of an account's entries. */
export async function up(db: Kysely<Tables>): Promise<void> {
  // Its first column is always 0: SQLite takes an index of two known columns before that of all requests of an account.
  await sql`
    create index requests_holding on requests (cost_stands, account_id)
      where cost_stands = 0 and cost_usd is null and state <> 'final' and state <> 'released'`.execute(
    db,
  )
  const end = sql.raw(isPostgres(db) ? '' : ' without rowid')
  await sql`
    create table entry_sums (
      account_id text not null, number bigint not null, sum_micros bigint not null,
      constraint entry_sums_pkey primary key (account_id, number)
    )${end}`.execute(db)
}
