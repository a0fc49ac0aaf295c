import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** People who sign in to the page, what they may see, and the links that let them in. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('users')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('email', 'text', (column) => column.notNull().unique())
    .addColumn('email_verified', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('is_operator', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('updated_at_ms', 'bigint', (column) => column.notNull())
    // Two spellings of one address would be two users.
    .addCheckConstraint('users_email', sql`email = lower(email)`)
    .execute()
  await db.schema
    .createTable('members')
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('members_pkey', ['account_id', 'user_id'])
    .execute()
  await db.schema.createIndex('members_user_id').on('members').column('user_id').execute()
  await createWaysIn(db)
  await createLinks(db)
  await db.schema
    .createTable('operator_actions')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('target_id', 'text')
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .execute()
}

async function createWaysIn(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('sign_ins')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('provider_user_id', 'text', (column) => column.notNull())
    .addColumn('password_hash', 'text')
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('updated_at_ms', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('sign_ins_provider', ['provider', 'provider_user_id'])
    .execute()
  await db.schema.createIndex('sign_ins_user_id').on('sign_ins').column('user_id').execute()
  await db.schema
    .createTable('sessions')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('token_hash', 'text', (column) => column.notNull().unique())
    .addColumn('address', 'text')
    .addColumn('agent', 'text')
    .addColumn('expires_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('updated_at_ms', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('sessions_user_id').on('sessions').column('user_id').execute()
  await db.schema
    .createTable('verifications')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('identifier', 'text', (column) => column.notNull())
    .addColumn('value', 'text', (column) => column.notNull())
    .addColumn('expires_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('updated_at_ms', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('sign_in_rates')
    .addColumn('caller_hash', 'text', (column) => column.primaryKey().notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('started_at_ms', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createIndex('sign_in_rates_started')
    .on('sign_in_rates')
    .column('started_at_ms')
    .execute()
}

async function createLinks(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('links')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('token_hash', 'text', (column) => column.notNull().unique())
    .addColumn('email', 'text')
    .addColumn('user_id', 'text', (column) => column.references('users.id'))
    .addColumn('is_operator', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('account_id', 'text', (column) => column.references('accounts.id'))
    .addColumn('role', 'text')
    .addColumn('expires_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('used_at_ms', 'bigint')
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .execute()
}
