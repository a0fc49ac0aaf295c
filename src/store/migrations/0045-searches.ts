import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../is-postgres.ts'
import type { Tables } from '../schema.ts'

/**
 * Finds accounts that are low on credit, in debt or suspended, and the deposits of a transaction, without a search of all
 * accounts and of all purchases of an account.
 *
 * The state of an account's credit is a column that the database computes. An index of the balances themselves would be
 * written with each charge: on PostgreSQL with all other indexes of accounts, since no update could stay in its page.
 */
export async function up(db: Kysely<Tables>): Promise<void> {
  await sql`
    alter table accounts add column credit_state text generated always as (
      case when backed_balance_micros < 0 then 'in_debt'
        when disabled = 0 and has_backed_credit = 1
          and backed_balance_micros < coalesce(low_balance_micros, 5000000) then 'low_credit' end
    ) ${sql.raw(isPostgres(db) ? 'stored' : 'virtual')}`.execute(db)
  await sql`
    create index accounts_credit_state on accounts (credit_state, id)
      where credit_state is not null`.execute(db)
  await sql`create index accounts_suspended on accounts (id) where disabled = 1`.execute(db)
  // The source of a deposit is its transaction, a colon, and its place in that. A deposit has no price.
  await sql`
    create index purchases_deposits on purchases (account_id, rtrim(source, '0123456789'))
      where price_units is null`.execute(db)
}
