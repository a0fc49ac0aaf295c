import { type Kysely, sql } from 'kysely'
import type { Tables } from '../store/schema.ts'

/** How long after a refund or dispute webhooks and owners still hear of it: longer ago, no server looked in time. */
export const REVERSAL_SENT_MS = 7 * 86_400_000

/**
 * The credit that was removed from accounts since credit was last added to them, by refunds, by disputes and by
 * operators; an account without any is absent. At least one account must be asked for.
 */
export async function removedSinceCredit(
  db: Kysely<Tables>,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('accounts')
    .innerJoin('entries', 'entries.account_id', 'accounts.id')
    .select(['accounts.id', (eb) => eb.fn.sum('entries.amount_micros').as('amount')])
    .where('accounts.id', 'in', accountIds)
    // Few entries have references. By its number an entry is found among the charges of all requests since, so the
    // plus sign keeps that index from being chosen.
    .where('entries.reference', 'is not', null)
    .where(sql<boolean>`+entries.number > accounts.last_credit_number`)
    .where('entries.kind', 'in', ['reversal', 'chargeback'])
    .groupBy('accounts.id')
    .execute()
  return new Map(rows.map(({ id, amount }) => [id, -Number(amount)]))
}
