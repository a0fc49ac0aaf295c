import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** Which upstream a request was sent to. Until now there was one, of OpenRouter's layout. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .alterTable('requests')
    .addColumn('upstream', 'text', (column) => column.notNull().defaultTo('openrouter'))
    .execute()
}
