import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** Finds the failed requests of an hour without a search of all its requests. Only failed ones are written to the index. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await sql`
    create index requests_failed on requests (id, account_id, error_code)
      where error_code is not null`.execute(db)
}
