import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** What clients say of their requests, for groups of usage. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('requests').addColumn('tags', 'text').execute()
}
