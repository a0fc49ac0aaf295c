import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/**
 * Users whom the operator vouches for. Of users with an unproved address, these are the operators, because only operators
 * could invite them. The store does not have who invited the other users.
 */
export async function up(db: Kysely<Tables>): Promise<void> {
  for (const table of ['users', 'links'] as const) {
    await db.schema
      .alterTable(table)
      .addColumn('vouched', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    await db.updateTable(table).set({ vouched: 1 }).where('is_operator', '=', 1).execute()
  }
}
