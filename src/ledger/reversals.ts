import { type Kysely, sql } from 'kysely'
import { PURCHASES, type PurchaseRow } from '../store/sale-tables.ts'
import type { Tables } from '../store/schema.ts'
import { purchaseIdOf } from '../vocabulary/purchase.ts'

/** How long after a refund or dispute webhooks and owners still hear of it: longer ago, no server looked in time. */
export const REVERSAL_SENT_MS = 7 * 86_400_000

/** A change of a purchase's credit by a refund or dispute, with its purchase and account as they are now. */
interface PostedReversal {
  /** The reference of its entry. */
  readonly reference: string
  /** Below zero: credit was removed; above: it was added again. */
  readonly amountMicros: number
  readonly createdAtMs: number
  readonly purchase: PurchaseRow
  /** The paid credit of the account, held credit included. */
  readonly balanceMicros: number
}

/**
 * The refunds and disputes of the last seven days that these have not noted yet, oldest first: webhooks, or the alerts
 * of accounts.
 */
export async function newReversals(
  db: Kysely<Tables>,
  {
    notedBy,
    nowMs,
    limit,
  }: {
    readonly notedBy: 'webhooks' | 'alerts'
    readonly nowMs: number
    readonly limit: number
  },
): Promise<readonly PostedReversal[]> {
  const entries = await db
    .selectFrom('entries')
    .select(['reference', 'amount_micros as amountMicros', 'created_at_ms as createdAtMs'])
    // As a literal: the index of these entries is chosen by the text of the query.
    .where(sql<boolean>`kind = 'reversal'`)
    .where('created_at_ms', '>', nowMs - REVERSAL_SENT_MS)
    .where(NOTED[notedBy])
    .orderBy('created_at_ms')
    .limit(limit)
    .execute()
  const purchaseIds = entries.map(({ reference }) => purchaseIdOf(reference ?? ''))
  if (purchaseIds.length === 0) return []
  const rows = await db
    .selectFrom('purchases')
    .innerJoin('accounts', 'accounts.id', 'purchases.account_id')
    .selectAll('purchases')
    .select('accounts.backed_balance_micros as balance')
    .where('purchases.id', 'in', purchaseIds)
    .execute()
  const purchases = new Map(
    rows.map((row) => [row.id, { purchase: PURCHASES.read(row), balanceMicros: row.balance }]),
  )
  return entries.flatMap(({ reference, amountMicros, createdAtMs }) => {
    const of = purchases.get(purchaseIdOf(reference ?? ''))
    if (reference === null || of === undefined) return []
    return [{ reference, amountMicros, createdAtMs, ...of }]
  })
}

/** What has no note of these yet. */
const NOTED = {
  webhooks: sql<boolean>`not exists (select 1 from webhook_conditions
    where event = 'purchase.reversed' and subject_id = entries.reference)`,
  alerts: sql<boolean>`not exists (select 1 from alerts where subject = entries.reference)`,
}

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
