import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** Links that were mailed, with their codes, and how many mails were asked for. */
export async function up(db: Kysely<Tables>): Promise<void> {
  const links = () => db.schema.alterTable('links')
  await links()
    .addColumn('mailed', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  await links().addColumn('ticket_hash', 'text').execute()
  await links().addColumn('code_hash', 'text').execute()
  await links()
    .addColumn('tries', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  await db.schema
    .createIndex('links_ticket_hash')
    .unique()
    .on('links')
    .column('ticket_hash')
    .execute()
  await db.schema
    .createTable('mail_rates')
    .addColumn('subject_hash', 'text', (column) => column.primaryKey().notNull())
    .addColumn('mails', 'integer', (column) => column.notNull())
    .addColumn('ends_at_ms', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createIndex('mail_rates_ends_at_ms')
    .on('mail_rates')
    .column('ends_at_ms')
    .execute()
}
