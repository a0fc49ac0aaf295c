import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** How far the sale has looked, what card pages ask for, and disputes. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('sale_cursors')
    .addColumn('source', 'text', (column) => column.primaryKey().notNull())
    .addColumn('position', 'text', (column) => column.notNull())
    .addColumn('block_hash', 'text')
    .addColumn('looked_at_ms', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.alterTable('purchases').addColumn('price_units', 'text').execute()
  await db.schema
    .alterTable('purchases')
    .addColumn('disputed', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  // All purchases until now were of play money, a cent for each cent of credit.
  await sql`update purchases set price_units = cast((credit_micros + 9999) / 10000 as text)`.execute(
    db,
  )
  // By these a refund or dispute finds its purchase, and a day its sum.
  await db.schema
    .createIndex('purchases_payment_ref')
    .on('purchases')
    .column('payment_ref')
    .where(sql<boolean>`payment_ref is not null`)
    .execute()
  await db.schema
    .createIndex('purchases_credited_at_ms')
    .on('purchases')
    .column('credited_at_ms')
    .where(sql<boolean>`credited_at_ms is not null`)
    .execute()
}
