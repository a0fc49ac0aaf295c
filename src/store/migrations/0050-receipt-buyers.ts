import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/**
 * Purchases keep the buyer of their receipt, which was read from the account before: receipts that exist keep the buyer
 * that they have now.
 */
export async function up(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('purchases').addColumn('buyer_json', 'text').execute()
  const buyers = await sql<Account>`
    select id, name, email, billing_json from accounts
      where id in (select account_id from purchases where credited_at_ms is not null)`.execute(db)
  for (const { id, name, email, billing_json: stored } of buyers.rows) {
    const billing = stored === null ? null : JSON.parse(stored)
    const buyer = { name, address: null, tax_id: null, ...given(billing), email }
    await sql`
      update purchases set buyer_json = ${JSON.stringify(buyer)}
        where account_id = ${id} and credited_at_ms is not null`.execute(db)
  }
}

interface Account {
  readonly id: string
  readonly name: string
  readonly email: string | null
  readonly billing_json: string | null
}

function given(billing: Readonly<Record<string, unknown>> | null): object {
  return Object.fromEntries(Object.entries(billing ?? {}).filter(([, value]) => value !== null))
}
