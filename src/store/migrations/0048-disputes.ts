import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/**
 * Tells open disputes from lost and won ones. It is not known which of them earlier disputes were: they count as open until
 * the gateway has looked at their payments, which it does after its start.
 */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema.dropIndex('purchases_reversed').execute()
  await db.schema.alterTable('purchases').addColumn('dispute', 'text').execute()
  await sql`update purchases set dispute = 'open' where disputed = 1`.execute(db)
  await db.schema.alterTable('purchases').dropColumn('disputed').execute()
  await sql`
    create index purchases_reversed on purchases (account_id, id)
      where reversed_micros > 0 or dispute is not null`.execute(db)
}
