import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** What alerts are measured by, which were noted, and their mails. */
export async function up(db: Kysely<Tables>): Promise<void> {
  for (const column of ['last_credit_number', 'last_credit_balance_micros']) {
    await db.schema
      .alterTable('accounts')
      .addColumn(column, 'bigint', (built) => built.notNull().defaultTo(0))
      .execute()
  }
  await sql`update accounts set last_credit_number = coalesce((
    select max(entries.number) from entries where entries.account_id = accounts.id and entries.amount_micros > 0
      and entries.kind in ('top_up', 'activation', 'purchase', 'reversal', 'grant')), 0)`.execute(
    db,
  )
  await sql`update accounts set last_credit_balance_micros = coalesce((
    select sum(entries.amount_micros) from entries where entries.account_id = accounts.id
      and entries.number <= accounts.last_credit_number), 0)
    where last_credit_number > 0`.execute(db)
  await db.schema
    .alterTable('users')
    .addColumn('alert_mails', 'integer', (built) => built.notNull().defaultTo(1))
    .execute()
  await db.schema
    .createTable('alerts')
    .addColumn('subject', 'text', (built) => built.notNull())
    .addColumn('step', 'integer', (built) => built.notNull())
    .addColumn('account_id', 'text', (built) => built.notNull().references('accounts.id'))
    .addColumn('ends_at_ms', 'bigint')
    .addColumn('created_at_ms', 'bigint', (built) => built.notNull())
    .addPrimaryKeyConstraint('alerts_key', ['subject', 'step'])
    .execute()
  await db.schema.createIndex('alerts_account_id').on('alerts').column('account_id').execute()
  await db.schema.createIndex('alerts_ends_at_ms').on('alerts').column('ends_at_ms').execute()
  await db.schema
    .createTable('alert_letters')
    .addColumn('id', 'text', (built) => built.primaryKey().notNull())
    .addColumn('user_id', 'text', (built) => built.notNull().references('users.id'))
    .addColumn('account_id', 'text', (built) => built.notNull().references('accounts.id'))
    .addColumn('about_json', 'text', (built) => built.notNull())
    .addColumn('created_at_ms', 'bigint', (built) => built.notNull())
    .addColumn('tries', 'integer', (built) => built.notNull().defaultTo(0))
    .addColumn('next_try_at_ms', 'bigint', (built) => built.notNull())
    .execute()
  await db.schema
    .createIndex('alert_letters_next_try_at_ms')
    .on('alert_letters')
    .column('next_try_at_ms')
    .execute()
}
