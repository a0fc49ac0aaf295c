import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** Codes that are worth paid credit, and an index of the credit that accounts bought with them. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('credit_codes')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('code_hash', 'text', (column) => column.notNull().unique())
    .addColumn('display_suffix', 'text', (column) => column.notNull())
    .addColumn('amount_micros', 'bigint', (column) => column.notNull())
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('expires_at_ms', 'bigint')
    .addColumn('revoked_at_ms', 'bigint')
    .addColumn('redeemed_at_ms', 'bigint')
    .addColumn('redeemed_by', 'text', (column) => column.references('accounts.id'))
    // No rule, whatever its bug, gives a code to an account without saying when, or the other way round.
    .addCheckConstraint(
      'credit_codes_redeemed',
      sql`amount_micros > 0 and (redeemed_at_ms is null) = (redeemed_by is null)`,
    )
    .execute()
  // An account's entries are mostly charges: what it bought is a few of them.
  await db.schema
    .createIndex('entries_purchases')
    .on('entries')
    .columns(['account_id', 'number'])
    .where(sql<boolean>`kind = 'top_up' or kind = 'activation'`)
    .execute()
}
