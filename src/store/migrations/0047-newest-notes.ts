import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../is-postgres.ts'
import type { Tables } from '../schema.ts'

/**
 * Keeps only the newest notes of a user or an account in each table, so that the database, which adds none to 200, never
 * leaves a new one out. A failover loses the newest changes: whoever knew a password could change it 200 times, and the
 * change that took it from them was not noted.
 */
export async function up(db: Kysely<Tables>): Promise<void> {
  if (!isPostgres(db)) return
  // Waits for no other transaction, which could wait for this one: each of them may leave a note too many.
  await sql`
    create function keep_newest_notes() returns trigger language plpgsql as $$
    begin
      execute format(
        'delete from %1$I.taken_access where id in (
          select id from %1$I.taken_access where user_id = $1 and table_name = $2 and id <> $3 and id < (
            select id from %1$I.taken_access where user_id = $1 and table_name = $2
              order by id desc offset ${sql.raw(String(NEWEST - 1))} limit 1)
          for update skip locked)',
        tg_table_schema)
        using new.user_id, new.table_name, new.id;
      return null;
    end $$`.execute(db)
  await sql`
    create trigger taken_access_added after insert on taken_access
    for each row when (new.user_id <> '') execute function keep_newest_notes()`.execute(db)
}

/** How many notes of one table a user has at most. Gateways count on it: `taken-access.ts`. */
const NEWEST = 100
