import { type Kysely, sql } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { DAY_MS } from '../vocabulary/clock.ts'

/** How long after a removal of credit it is still reported to webhooks and owners. */
export const REMOVAL_NOTICE_MS = 7 * DAY_MS

/** Credit that an operator removed from an account, and its paid credit now. */
interface RemovedCredit {
  readonly accountId: string
  /** The reference of the entry, unique in the account. */
  readonly reference: string
  /** The amount that was removed, above zero. */
  readonly amountMicros: number
  readonly createdAtMs: number
  /** The paid credit of the account, held credit included. */
  readonly balanceMicros: number
}

/** The credit that operators removed from these accounts in the last seven days and alerts have not noted, oldest first. */
export async function newRemovals(
  db: Kysely<Tables>,
  {
    accountIds,
    nowMs,
    limit,
  }: {
    readonly accountIds: readonly string[]
    readonly nowMs: number
    readonly limit: number
  },
): Promise<readonly RemovedCredit[]> {
  if (accountIds.length === 0) return []
  const rows = await db
    .selectFrom('entries')
    .innerJoin('accounts', 'accounts.id', 'entries.account_id')
    .select(['entries.account_id', 'entries.reference', 'entries.amount_micros'])
    .select(['entries.created_at_ms', 'accounts.backed_balance_micros'])
    .where('entries.account_id', 'in', accountIds)
    // The condition of the index of these entries, word for word: the index is chosen by the text of the query.
    .where(sql<boolean>`entries.kind <> 'charge' and entries.kind <> 'write_off'`)
    .where('entries.created_at_ms', '>', nowMs - REMOVAL_NOTICE_MS)
    .where('entries.kind', '=', 'chargeback')
    .where(IS_NEW)
    .orderBy('entries.created_at_ms')
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    accountId: row.account_id,
    reference: row.reference ?? '',
    amountMicros: -row.amount_micros,
    createdAtMs: row.created_at_ms,
    balanceMicros: row.backed_balance_micros,
  }))
}

/** The subject of the alert about removed credit. */
export function removalSubject({
  accountId,
  reference,
}: Pick<RemovedCredit, 'accountId' | 'reference'>): string {
  return `${accountId} removed ${reference}`
}

/** The subject that {@link removalSubject} makes. */
const IS_NEW = sql<boolean>`not exists (select 1 from alerts
  where subject = entries.account_id || ' removed ' || coalesce(entries.reference, ''))`

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
