import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** Deposits on a chain: addresses, how far the chain was read, and what its tokens are worth. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('deposit_addresses')
    .addColumn('chain_id', 'bigint', (column) => column.notNull())
    .addColumn('address', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('deposit_addresses_key', ['chain_id', 'address'])
    .addCheckConstraint('deposit_addresses_case', sql`address = lower(address)`)
    .execute()
  await db.schema
    .createIndex('deposit_addresses_account_id')
    .on('deposit_addresses')
    .columns(['account_id', 'chain_id'])
    .execute()
  await db.schema
    .createTable('token_rates')
    .addColumn('chain_id', 'bigint', (column) => column.notNull())
    .addColumn('token', 'text', (column) => column.notNull())
    .addColumn('rate8', 'bigint', (column) => column.notNull())
    .addColumn('feed_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('read_at_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('token_rates_key', ['chain_id', 'token'])
    .execute()
  await db.schema
    .createTable('confirming_deposits')
    .addColumn('chain_id', 'bigint', (column) => column.notNull())
    .addColumn('tx_hash', 'text', (column) => column.notNull())
    .addColumn('log_index', 'bigint', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('method', 'text', (column) => column.notNull())
    .addColumn('block', 'bigint', (column) => column.notNull())
    .addColumn('currency', 'text', (column) => column.notNull())
    .addColumn('units', 'text', (column) => column.notNull())
    .addColumn('credit_micros', 'bigint', (column) => column.notNull())
    .addColumn('seen_at_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('confirming_deposits_key', ['chain_id', 'tx_hash', 'log_index'])
    .execute()
  await db.schema
    .createIndex('confirming_deposits_account_id')
    .on('confirming_deposits')
    .column('account_id')
    .execute()
}
