import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** Admin tokens, and what was changed by them beside what operators change. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('admin_tokens')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('token_hash', 'text', (column) => column.notNull().unique())
    .addColumn('display_prefix', 'text', (column) => column.notNull())
    .addColumn('scopes', 'text', (column) => column.notNull())
    .addColumn('made_by', 'text')
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('expires_at_ms', 'bigint')
    .addColumn('revoked_at_ms', 'bigint')
    .addColumn('last_used_at_ms', 'bigint')
    .execute()
  await db.schema.createIndex('admin_tokens_made_by').on('admin_tokens').column('made_by').execute()
  await allowActionsOfTokens(db)
}

// SQLite can't take NOT NULL from a column: the table is made again.
async function allowActionsOfTokens(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('actions_of_all')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.references('users.id'))
    .addColumn('token_id', 'text', (column) => column.references('admin_tokens.id'))
    .addColumn('token_name', 'text')
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('target_id', 'text')
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('account_id', 'text')
    .addColumn('amount_micros', 'bigint')
    .addColumn('detail_json', 'text', (column) => column.notNull().defaultTo('{}'))
    .addCheckConstraint(
      'operator_actions_by_one',
      sql`(user_id is null and token_name is not null) or (user_id is not null and token_name is null and token_id is null)`,
    )
    .execute()
  const columns = [
    'id',
    'user_id',
    'action',
    'target_id',
    'created_at_ms',
    'account_id',
    'amount_micros',
    'detail_json',
  ] as const
  const named = sql.join(columns.map((column) => sql.ref(column)))
  await sql`insert into actions_of_all (${named}) select ${named} from operator_actions`.execute(db)
  await db.schema.dropTable('operator_actions').execute()
  await db.schema.alterTable('actions_of_all').renameTo('operator_actions').execute()
  await db.schema
    .createIndex('operator_actions_account_id_id')
    .on('operator_actions')
    .columns(['account_id', 'id'])
    .execute()
}
