import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** What an operator's action was about, and when the password of a session was last proved. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('operator_actions').addColumn('account_id', 'text').execute()
  await db.schema.alterTable('operator_actions').addColumn('amount_micros', 'bigint').execute()
  await db.schema
    .alterTable('operator_actions')
    .addColumn('detail_json', 'text', (column) => column.notNull().defaultTo('{}'))
    .execute()
  await db.schema
    .createIndex('operator_actions_account_id_id')
    .on('operator_actions')
    .columns(['account_id', 'id'])
    .execute()
  await db.schema.alterTable('sessions').addColumn('confirmed_at_ms', 'bigint').execute()
}
