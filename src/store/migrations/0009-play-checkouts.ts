import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** Pages on which play money is paid. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('play_checkouts')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('cents', 'bigint', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('expires_at_ms', 'bigint', (column) => column.notNull())
    .addCheckConstraint('play_checkouts_cents', sql`cents > 0`)
    .execute()
}
