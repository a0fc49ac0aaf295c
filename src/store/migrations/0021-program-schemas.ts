import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/**
 * Each instance names the newest schema that its program knows. A program from before can't: PostgreSQL refuses its
 * registration and its heartbeats, so that it opens no hold on a store that was migrated below it.
 */
export async function up(db: Kysely<Tables>): Promise<void> {
  // SQLite adds no column that must have a value: the table is made again.
  await db.schema
    .createTable('instances_of_all')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('started_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('heartbeat_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('stopped_at_ms', 'bigint')
    .addColumn('program_schema', 'integer', (column) => column.notNull())
    .execute()
  await sql`insert into instances_of_all (id, started_at_ms, heartbeat_at_ms, stopped_at_ms, program_schema)
    select id, started_at_ms, heartbeat_at_ms, stopped_at_ms, 0 from instances`.execute(db)
  await db.schema.dropTable('instances').execute()
  await db.schema.alterTable('instances_of_all').renameTo('instances').execute()
}
