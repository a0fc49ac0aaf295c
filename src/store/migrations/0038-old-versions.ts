import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../is-postgres.ts'
import type { Tables } from '../schema.ts'

/**
 * Reduces the cost of old versions of rows on PostgreSQL; SQLite has none. A foreign key looks an account or a key up
 * for each row that is inserted, through all of its versions: the ledger has locked both. Room in the pages lets most
 * changes of an account or a key stay on their page, so that no index gets another version.
 */
export async function up(db: Kysely<Tables>): Promise<void> {
  if (!isPostgres(db)) return
  const { rows } = await sql<{ readonly table: string; readonly name: string }>`
    select conrelid::regclass::text as "table", conname as name from pg_constraint
    where contype = 'f' and conrelid in ('requests'::regclass, 'entries'::regclass)
      and confrelid in ('accounts'::regclass, 'api_keys'::regclass)`.execute(db)
  for (const { table, name } of rows) {
    await sql`alter table ${sql.table(table)} drop constraint ${sql.ref(name)}`.execute(db)
  }
  for (const table of ['accounts', 'api_keys']) {
    await sql`alter table ${sql.table(table)} set (fillfactor = 20)`.execute(db)
  }
}
