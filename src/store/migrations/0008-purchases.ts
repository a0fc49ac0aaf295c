import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** Credit that accounts buy, and the index of what they bought with the new kinds of entries. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('purchases')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('method', 'text', (column) => column.notNull())
    .addColumn('source', 'text', (column) => column.notNull().unique())
    .addColumn('credit_micros', 'bigint', (column) => column.notNull())
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('expires_at_ms', 'bigint')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('reversed_micros', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('reversals', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('payment_ref', 'text')
    .addColumn('paid_currency', 'text')
    .addColumn('paid_units', 'text')
    .addColumn('note', 'text')
    .addColumn('credited_at_ms', 'bigint')
    // No rule, whatever its bug, takes more back than was credited, or anything of what never was.
    .addCheckConstraint(
      'purchases_reversed',
      sql`credit_micros > 0 and 0 <= reversed_micros and reversed_micros <= credit_micros
        and (reversals = 0 or state = 'credited') and (reversed_micros = 0 or reversals > 0)`,
    )
    .addCheckConstraint(
      'purchases_credited',
      sql`(state = 'credited') = (credited_at_ms is not null)
        and (paid_currency is null) = (paid_units is null)
        and (state <> 'credited' or paid_units is not null)`,
    )
    .execute()
  await db.schema
    .createIndex('purchases_account_id_id')
    .on('purchases')
    .columns(['account_id', 'id'])
    .execute()
  // Those that may still become credit are a few of an account's purchases, and of all.
  await db.schema
    .createIndex('purchases_pending')
    .on('purchases')
    .columns(['state', 'account_id', 'id'])
    .where(sql<boolean>`state = 'open' or state = 'held' or state = 'below_minimum'`)
    .execute()
  await db.schema.dropIndex('entries_purchases').execute()
  await db.schema
    .createIndex('entries_purchases')
    .on('entries')
    .columns(['account_id', 'number'])
    .where(
      sql<boolean>`kind = 'top_up' or kind = 'activation' or kind = 'purchase' or kind = 'reversal'`,
    )
    .execute()
}
