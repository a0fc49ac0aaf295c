import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/**
 * Numbers of receipts, billing details, and who made an invitation. Purchases that were credited before get numbers in
 * the order in which they were credited.
 */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('accounts').addColumn('billing_json', 'text').execute()
  await db.schema.alterTable('links').addColumn('inviter_id', 'text').execute()
  // Purchases by operators are recorded; the others are open for a week at most.
  // One pass over the actions, which can be many and have no index by their target.
  await sql`
    update links set inviter_id = made.user_id
    from (
      select target_id, min(user_id) as user_id from operator_actions
      where target_id in (select id from links where kind = 'invitation') group by target_id
    ) as made
    where made.target_id = links.id`.execute(db)
  await db.schema.alterTable('purchases').addColumn('receipt_number', 'bigint').execute()
  await db.schema.alterTable('purchases').addColumn('tax_units', 'text').execute()
  await db.schema
    .createTable('receipt_numbers')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('last_number', 'bigint', (column) => column.notNull())
    .execute()
  await sql`
    update purchases set receipt_number = numbered.number
    from (
      select id, row_number() over (order by coalesce(credited_at_ms, created_at_ms), id) as number
      from purchases where state = 'credited'
    ) as numbered
    where numbered.id = purchases.id`.execute(db)
  // An empty store has no row: a copy is refused where there is one.
  await sql`
    insert into receipt_numbers (id, last_number)
    select 'receipts', count(*) from purchases where state = 'credited' having count(*) > 0`.execute(
    db,
  )
  await db.schema
    .createIndex('purchases_receipt_number')
    .on('purchases')
    .column('receipt_number')
    .unique()
    .execute()
}
