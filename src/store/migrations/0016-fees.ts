import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** The platform fee of each hold, and of accounts that have their own. Until now it was 5% of every cost. */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .alterTable('requests')
    .addColumn('fee_basis_points', 'bigint', (column) => column.notNull().defaultTo(500))
    .execute()
  await db.schema.alterTable('accounts').addColumn('fee_basis_points', 'bigint').execute()
}
