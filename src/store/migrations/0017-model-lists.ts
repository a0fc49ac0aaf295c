import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** Which models accounts and API keys may use. */
export async function up(db: Kysely<Tables>): Promise<void> {
  for (const table of ['accounts', 'api_keys']) {
    await db.schema.alterTable(table).addColumn('models_allow', 'text').execute()
    await db.schema.alterTable(table).addColumn('models_deny', 'text').execute()
  }
}
