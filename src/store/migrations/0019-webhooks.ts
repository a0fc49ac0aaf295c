import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** Webhooks, the messages to them, and which conditions hold; and the credit below which an account is low. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('accounts').addColumn('low_balance_micros', 'bigint').execute()
  await db.schema
    .createTable('webhooks')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('url', 'text', (column) => column.notNull())
    .addColumn('events', 'text', (column) => column.notNull())
    .addColumn('secret', 'text', (column) => column.notNull())
    .addColumn('disabled', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('webhook_conditions')
    .addColumn('event', 'text', (column) => column.notNull())
    .addColumn('subject_id', 'text', (column) => column.notNull())
    .addColumn('since_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('webhook_conditions_pkey', ['event', 'subject_id'])
    .execute()
  await db.schema
    .createTable('webhook_deliveries')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('webhook_id', 'text', (column) => column.notNull().references('webhooks.id'))
    .addColumn('event', 'text', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('next_attempt_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('leased_until_ms', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('http_status', 'integer')
    .addColumn('failure', 'text')
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('ended_at_ms', 'bigint')
    .execute()
  await db.schema
    .createIndex('webhook_deliveries_webhook_id_id')
    .on('webhook_deliveries')
    .columns(['webhook_id', 'id'])
    .execute()
  await db.schema
    .createIndex('webhook_deliveries_waiting')
    .on('webhook_deliveries')
    .columns(['webhook_id', 'next_attempt_at_ms'])
    .where(sql<boolean>`state = 'waiting'`)
    .execute()
}
