import { type Kysely, type RawBuilder, sql } from 'kysely'
import { isAny, isOneOf } from '../store/conditions.ts'
import { type ListPage, type Page, pageOf, readPage } from '../store/list-page.ts'
import { PURCHASES, type PurchaseRow } from '../store/sale-tables.ts'
import { ENTRIES, type Entry, type Tables } from '../store/schema.ts'
import {
  PENDING_STATES,
  type PurchaseState,
  purchaseIdOf,
  type Reversal,
  reversalOf,
  reversalReferences,
} from '../vocabulary/purchase.ts'
import { REMOVAL_NOTICE_MS } from './removed-credit.ts'

/** Null if there is no such purchase. */
export async function getPurchase(
  db: Kysely<Tables>,
  purchaseId: string,
): Promise<PurchaseRow | null> {
  return PURCHASES.readOne(db.selectFrom('purchases').selectAll().where('id', '=', purchaseId))
}

/** The purchase of a source; null if there is none. */
export async function findPurchase(
  db: Kysely<Tables>,
  source: string,
): Promise<PurchaseRow | null> {
  return PURCHASES.readOne(db.selectFrom('purchases').selectAll().where('source', '=', source))
}

/** The purchase of a payment, by the provider's ID of the payment; null: there is none. */
export async function findPurchaseOfPayment(
  db: Kysely<Tables>,
  paymentRef: string,
): Promise<PurchaseRow | null> {
  return PURCHASES.readOne(
    db.selectFrom('purchases').selectAll().where('payment_ref', '=', paymentRef),
  )
}

/** The deposits of an account in the transaction of a deposit, which its source names. */
export async function listDepositsOf(
  db: Kysely<Tables>,
  { accountId, source }: Pick<PurchaseRow, 'accountId' | 'source'>,
): Promise<readonly PurchaseRow[]> {
  return PURCHASES.readAll(
    db
      .selectFrom('purchases')
      .selectAll()
      .where('account_id', '=', accountId)
      // The source ends with the place of the deposit. Literals, because the index is chosen by the text of the query.
      .where(sql<boolean>`rtrim(source, '0123456789') = ${source.replace(/\d+$/, '')}`)
      .where(sql<boolean>`price_units is null`),
  )
}

/** Filters purchases of all accounts; undefined fields filter nothing. */
export interface PurchaseFilter {
  readonly accountId?: string | undefined
  readonly states?: readonly PurchaseState[] | undefined
  /** Refunded or disputed in these ways. */
  readonly reversals?: readonly Reversal[] | undefined
}

/** A purchase with the names of its account. */
export interface NamedPurchase extends PurchaseRow {
  readonly accountName: string
  /** The ID of the account in another system; null: none. */
  readonly externalId: string | null
}

/** One page of the purchases that match, newest first. */
export function listAllPurchases(
  db: Kysely<Tables>,
  { limit, cursor, ...filter }: Page & PurchaseFilter,
): Promise<ListPage<NamedPurchase>> {
  return readPage(matching(db, filter), {
    limit,
    cursor,
    idColumn: 'purchases.id',
    read: readNamed,
  })
}

/** One page of the purchases that match and were credited in a range of time, the last credited first. */
export async function listCreditedPurchases(
  db: Kysely<Tables>,
  {
    sinceMs,
    untilMs,
    after,
    limit,
    ...filter
  }: PurchaseFilter & {
    /** Credited at this moment or later. */
    readonly sinceMs: number
    /** Credited before this moment. */
    readonly untilMs: number
    /** The last purchase of the page before; null: the first page. */
    readonly after: { readonly id: string; readonly creditedAtMs: number } | null
    readonly limit: number
  },
): Promise<ListPage<NamedPurchase>> {
  let query = matching(db, filter)
    .where('credited_at_ms', '>=', sinceMs)
    .where('credited_at_ms', '<', untilMs)
  if (after !== null) {
    const { id, creditedAtMs } = after
    query = query
      // By this condition, the index is read from here on. IDs order the purchases of a millisecond.
      .where('credited_at_ms', '<=', creditedAtMs)
      .where(({ eb, or }) =>
        or([eb('credited_at_ms', '<', creditedAtMs), eb('purchases.id', '<', id)]),
      )
  }
  const found = await query
    .orderBy('credited_at_ms', 'desc')
    .orderBy('purchases.id', 'desc')
    .limit(limit + 1)
    .execute()
  return pageOf(found.map(readNamed), limit)
}

function matching(db: Kysely<Tables>, { accountId, states, reversals }: PurchaseFilter) {
  let query = db
    .selectFrom('purchases')
    .innerJoin('accounts', 'accounts.id', 'purchases.account_id')
    .selectAll('purchases')
    .select(['accounts.name as account_name', 'accounts.external_id as external_id'])
  if (accountId !== undefined) query = query.where('purchases.account_id', '=', accountId)
  if (states !== undefined) query = query.where(isOneOf('state', states))
  if (reversals !== undefined) {
    const isReversed = isAny(reversals.map((reversal) => REVERSED_AS[reversal]))
    query = query.where(IS_REVERSED).where(isReversed)
  }
  return query
}

function readNamed({
  account_name: accountName,
  external_id: externalId,
  ...row
}: Awaited<ReturnType<ReturnType<typeof matching>['execute']>>[number]): NamedPurchase {
  return { ...PURCHASES.read(row), accountName, externalId }
}

const OPEN_MAX = 10_000

/** The open purchases of all accounts: the first ten thousand. */
export async function listOpen(db: Kysely<Tables>): Promise<readonly PurchaseRow[]> {
  // A literal, because the index of pending purchases is chosen by the text of the query.
  const isOpen = sql<boolean>`state = 'open'`
  return PURCHASES.readAll(db.selectFrom('purchases').selectAll().where(isOpen).limit(OPEN_MAX))
}

/** The purchases whose dispute is open: the first ten thousand. */
export async function listDisputed(db: Kysely<Tables>): Promise<readonly PurchaseRow[]> {
  return PURCHASES.readAll(
    db
      .selectFrom('purchases')
      .selectAll()
      .where(IS_REVERSED)
      .where(REVERSED_AS.disputed)
      .limit(OPEN_MAX),
  )
}

const IS_PENDING = isOneOf('state', PENDING_STATES)

const PENDING_MAX = 100

/** The purchases of an account that may still become credit, newest first: the first hundred. */
export async function listPending(
  db: Kysely<Tables>,
  accountId: string,
): Promise<readonly PurchaseRow[]> {
  return PURCHASES.readAll(
    db
      .selectFrom('purchases')
      .selectAll()
      .where(IS_PENDING)
      .where('account_id', '=', accountId)
      .orderBy('id', 'desc')
      .limit(PENDING_MAX),
  )
}

// A literal, because the index of refunded and disputed purchases is chosen by the text of the query.
const IS_REVERSED = sql<boolean>`(reversed_micros > 0 or dispute is not null)`

const IS_REFUNDED = sql`(dispute is null or dispute = 'won') and reversed_micros`

const REVERSED_AS: Readonly<Record<Reversal, RawBuilder<boolean>>> = {
  disputed: sql`dispute = 'open'`,
  dispute_lost: sql`dispute = 'lost'`,
  dispute_won: sql`(dispute = 'won' and reversed_micros = 0)`,
  refunded: sql`(${IS_REFUNDED} = credit_micros)`,
  partly_refunded: sql`(${IS_REFUNDED} between 1 and credit_micros - 1)`,
}

/** The purchases of an account that were refunded or disputed, by their ids. */
export async function reversalsOfAccount(
  db: Kysely<Tables>,
  accountId: string,
): Promise<ReadonlyMap<string, Reversal | null>> {
  const purchases = await PURCHASES.readAll(
    db.selectFrom('purchases').selectAll().where('account_id', '=', accountId).where(IS_REVERSED),
  )
  return new Map(purchases.map((purchase) => [purchase.id, reversalOf(purchase)]))
}

/** The entries with which refunds and disputes have changed the credit of a purchase, oldest first. */
export async function listReversals(
  db: Kysely<Tables>,
  { id, accountId, reversals }: Pick<PurchaseRow, 'id' | 'accountId' | 'reversals'>,
): Promise<readonly Entry[]> {
  if (reversals === 0) return []
  const references = Array.from({ length: reversals }, (_, place) =>
    reversalReferences(id, place + 1),
  ).flat()
  return ENTRIES.readAll(
    db
      .selectFrom('entries')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('reference', 'in', references)
      .orderBy('number'),
  )
}

/** A change of a purchase's credit by a refund or dispute, with its purchase and account as they are now. */
interface PostedReversal {
  /** The reference of the entry of the reversal. */
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
    // A literal, because the index of these entries is chosen by the text of the query.
    .where(sql<boolean>`kind = 'reversal'`)
    .where('created_at_ms', '>', nowMs - REMOVAL_NOTICE_MS)
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

/** A purchase that was credited, with the paid credit of its account now, held credit included. */
interface CreditedPurchase {
  readonly purchase: PurchaseRow
  readonly creditedAtMs: number
  readonly balanceMicros: number
}

/** The purchases that were credited in the last seven days and that alerts have not noted yet, oldest first. */
export async function newlyCredited(
  db: Kysely<Tables>,
  { nowMs, limit }: { readonly nowMs: number; readonly limit: number },
): Promise<readonly CreditedPurchase[]> {
  const rows = await db
    .selectFrom('purchases')
    .innerJoin('accounts', 'accounts.id', 'purchases.account_id')
    .selectAll('purchases')
    .select('accounts.backed_balance_micros as balance')
    .where('credited_at_ms', '>', nowMs - REMOVAL_NOTICE_MS)
    .where(IS_NEWLY_CREDITED)
    .orderBy('credited_at_ms')
    .limit(limit)
    .execute()
  return rows.map(({ balance: balanceMicros, ...row }) => {
    const purchase = PURCHASES.read(row)
    return { purchase, creditedAtMs: purchase.creditedAtMs ?? nowMs, balanceMicros }
  })
}

/** The subject of the alert about a purchase that was credited. */
export function creditedSubject({ id }: Pick<PurchaseRow, 'id'>): string {
  return `${id} credited`
}

/** The subject that {@link creditedSubject} makes. */
const IS_NEWLY_CREDITED = sql<boolean>`not exists (select 1 from alerts
  where subject = purchases.id || ' credited')`

/** Conditions for entries that webhooks, or alerts, have not noted yet. */
const NOTED = {
  webhooks: sql<boolean>`not exists (select 1 from webhook_conditions
    where event = 'purchase.reversed' and subject_id = entries.reference)`,
  alerts: sql<boolean>`not exists (select 1 from alerts where subject = entries.reference)`,
}
