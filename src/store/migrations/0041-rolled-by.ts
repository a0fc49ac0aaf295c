import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/**
 * The schema of the program that rolled an hour or a day up. A program of before does not name it: on PostgreSQL, where
 * one may wake up after the migration, its roll-ups are refused from now on.
 */
export async function up(db: Kysely<Tables>): Promise<void> {
  await sql`alter table usage_rolled add column program_schema integer not null default 0`.execute(
    db,
  )
}
