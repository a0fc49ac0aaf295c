import { PURCHASES, type PurchaseRow } from '../../store/sale-tables.ts'
import { type AccountRow, ENTRIES } from '../../store/schema.ts'
import { assertNever } from '../../vocabulary/assert-never.ts'
import {
  BALANCE_MICROS_MAX,
  type Micros,
  micros,
  showMicros,
  subtractMicros,
  ZERO_MICROS,
} from '../../vocabulary/money.ts'
import {
  type PaymentJudgment,
  type PurchaseFact,
  type PurchaseState,
  type ReversalCause,
  reversalReference,
  reversedCredit,
  takesBack,
} from '../../vocabulary/purchase.ts'
import { receiptBuyerOf } from '../../vocabulary/receipt-buyer.ts'
import type { ActionSubject } from '../operator-actions.ts'
import type { NamedRows, UnitOfWork } from '../work.ts'
import { isTooMany, type MostBegun } from './begun-purchases.ts'
import { lapseFreeCredit, post, roomForCredit } from './credit.ts'

/** The row of the last number of the receipts. */
const RECEIPTS = 'receipts'

export interface PostPurchaseInput
  extends Pick<PurchaseRow, 'accountId' | 'method' | 'source' | 'creditMicros' | 'priceUnits'> {
  /**
   * An ID with the prefix `pur`. A new row gets it with `creditMicros` and `priceUnits`; if a row has the source, all
   * three are ignored.
   */
  readonly id: string
  /** `reversals` of the row, read before the look; 0 if there was none. */
  readonly seenReversals: number
  readonly fact: PurchaseFact
  /** Whether an admin has decided that a held or too small payment is credited. */
  readonly approved: boolean
  /** The most that the account may begin to buy, this purchase included; absent: any number and amount. */
  readonly most?: MostBegun
  /** The receipt number of the purchase before the store went back. Default: the next number. */
  readonly hadReceiptNumber?: number
  /** The highest receipt number that the store lost: lost purchases keep their numbers. Default 0. */
  readonly lastLostReceiptNumber?: number
}

/** The result of posting a purchase, with its row after that. */
export type PurchaseVerdict =
  | { readonly kind: 'posted'; readonly purchase: PurchaseRow }
  /** The row had these totals already; nothing was changed. */
  | { readonly kind: 'unchanged'; readonly purchase: PurchaseRow }
  /** A reversal was posted since the look began; nothing was changed. Look again. */
  | { readonly kind: 'stale'; readonly purchase: PurchaseRow }
  /** Another account or method has the source, or another payment was credited; nothing was changed. */
  | { readonly kind: 'conflict'; readonly purchase: PurchaseRow }
  | { readonly kind: 'unknownAccount' }
  /** The account has begun as many purchases as it may; nothing was added. */
  | { readonly kind: 'tooMany' }

export interface DismissPurchaseInput {
  readonly purchaseId: string
  /** Why the purchase adds no credit. */
  readonly note: string
}

/** The result of dismissing a purchase. */
export type DismissVerdict =
  | { readonly kind: 'dismissed'; readonly purchase: PurchaseRow }
  /** Nothing was changed. */
  | { readonly kind: 'notHeld'; readonly purchase: PurchaseRow }
  | { readonly kind: 'unknownPurchase' }

/**
 * Brings a purchase, and the account's credit with it, to the totals that a look found. A late or repeated look
 * changes nothing: credit is added once, and each reversal is the difference to the earlier ones. Throws RangeError for
 * impossible totals.
 */
export function postPurchase(
  work: UnitOfWork,
  input: PostPurchaseInput,
  nowMs: number,
): PurchaseVerdict {
  const account = work.accounts.get(input.accountId)
  if (account === undefined) return { kind: 'unknownAccount' }
  const earlier = work.purchases.get(input.source)
  if (earlier !== undefined && isOtherPurchase(earlier, input)) {
    return { kind: 'conflict', purchase: earlier }
  }
  if (earlier === undefined && isTooMany(work, input)) return { kind: 'tooMany' }
  const before = earlier ?? newPurchase(input, nowMs)
  const found = purchaseWithin(account, before, { input, nowMs })
  if (found === before && earlier !== undefined) return { kind: 'unchanged', purchase: earlier }
  // An answer from before the latest reversal may be older than the answer that led to that reversal.
  if (before.reversals !== input.seenReversals) return { kind: 'stale', purchase: before }

  const after = isCredited(before, found)
    ? {
        ...withReceiptNumber(work, found, input),
        buyerJson: JSON.stringify(receiptBuyerOf(account)),
      }
    : found
  if (earlier === undefined) work.purchases.insert(after)
  else work.purchases.update(after)
  postChanges(work, { account, before, after, nowMs })
  return { kind: 'posted', purchase: after }
}

/** The purchase after a look: held, also after an approval, where its account can't have so much credit. */
function purchaseWithin(
  account: AccountRow,
  before: PurchaseRow,
  { input, nowMs }: { readonly input: PostPurchaseInput; readonly nowMs: number },
): PurchaseRow {
  const found = purchaseAfter(before, input, nowMs)
  const { fact } = input
  if (!isCredited(before, found) || fact.kind !== 'paid') return found
  if (found.creditMicros <= roomForCredit(account, nowMs)) return found
  const reason = `an account can have at most ${showMicros(BALANCE_MICROS_MAX)}`
  const judgment = { kind: 'hold', reason, worthMicros: found.creditMicros } as const
  return purchaseAfter(before, { ...input, fact: { ...fact, judgment }, approved: false }, nowMs)
}

function isCredited(before: PurchaseRow, after: PurchaseRow): boolean {
  return before.state !== 'credited' && after.state === 'credited'
}

/**
 * The purchase with its earlier receipt number, unless another purchase has got it since; otherwise with the next
 * number. By position: the rows, the purchase, and the earlier number.
 */
function withReceiptNumber(
  work: UnitOfWork,
  purchase: PurchaseRow,
  {
    hadReceiptNumber: had,
    lastLostReceiptNumber = 0,
  }: Pick<PostPurchaseInput, 'hadReceiptNumber' | 'lastLostReceiptNumber'>,
): PurchaseRow {
  if (had === undefined) return { ...purchase, receiptNumber: takeReceiptNumber(work) }
  const other = work.purchases.find(({ receiptNumber }) => receiptNumber === had)
  if (other === undefined) return { ...purchase, receiptNumber: takeReceiptNumber(work, had) }
  const changed = `its receipt had the number ${had} before the database went back`
  const note = purchase.note === null ? changed : `${purchase.note}; ${changed}`
  const lastNumber = work.receiptNumbers.get(RECEIPTS)?.lastNumber ?? 0
  const free = Math.max(lastNumber, lastLostReceiptNumber) + 1
  return { ...purchase, note, receiptNumber: takeReceiptNumber(work, free) }
}

/**
 * Takes a free number, or the next one, in the same transaction as the credit: a transaction that is rolled back takes
 * no number. By position: the rows, and the number.
 */
function takeReceiptNumber(work: UnitOfWork, free?: number): number {
  const row = work.receiptNumbers.get(RECEIPTS)
  const number = free ?? (row?.lastNumber ?? 0) + 1
  const lastNumber = Math.max(number, row?.lastNumber ?? 0)
  // Two gateways that take the very first number insert the same row, and the second is run again.
  if (row === undefined) work.receiptNumbers.insert({ id: RECEIPTS, lastNumber })
  else if (lastNumber !== row.lastNumber) work.receiptNumbers.update({ ...row, lastNumber })
  return number
}

/** Names the rows of a purchase that a look found. */
export function namePurchase(named: NamedRows, input: PostPurchaseInput): void {
  named.accountIds.add(input.accountId)
  named.looks.push({ of: 'purchases', by: 'source', value: input.source })
  if (input.fact.kind === 'paid') {
    named.looks.push({ of: 'receiptNumbers', by: 'id', value: RECEIPTS })
  }
  if (input.hadReceiptNumber !== undefined) {
    const value = String(input.hadReceiptNumber)
    named.looks.push({ of: 'purchases', by: 'receipt_number', value })
  }
}

/**
 * Whether the store has the totals that a look found. An approval takes effect once the purchase is held again. A
 * payment whose credit is another account's is not posted: run again before that credit is back, it would take it.
 */
export function isPosted(
  verdict: PurchaseVerdict,
  { hadReceiptNumber }: PostPurchaseInput,
): boolean {
  if (!('purchase' in verdict) || verdict.kind === 'conflict') return false
  return hadReceiptNumber === undefined || verdict.purchase.state === 'credited'
}

/** Whether the store has the decision that a purchase adds no credit. */
export function isDismissed(verdict: DismissVerdict): boolean {
  return verdict.kind !== 'unknownPurchase' && verdict.purchase.state === 'dismissed'
}

/** How a purchase that the store has lost is booked again: with the receipt number that it had. */
export const RECEIPT_AGAIN = {
  withNumber(
    { most: _, ...input }: PostPurchaseInput,
    verdict: PurchaseVerdict,
  ): PostPurchaseInput {
    const hadReceiptNumber = 'purchase' in verdict ? verdict.purchase.receiptNumber : null
    return hadReceiptNumber === null ? input : { ...input, hadReceiptNumber }
  },
  numberOf: ({ hadReceiptNumber = 0 }: PostPurchaseInput): number => hadReceiptNumber,
  withHighestNumber: (
    input: PostPurchaseInput,
    lastLostReceiptNumber: number,
  ): PostPurchaseInput => ({
    ...input,
    lastLostReceiptNumber,
  }),
}

/** Whether a look contradicts a fact of the row that never changes. */
function isOtherPurchase(
  row: PurchaseRow,
  { accountId, method, fact }: PostPurchaseInput,
): boolean {
  if (row.accountId !== accountId || row.method !== method) return true
  if (row.state !== 'credited' || fact.kind !== 'paid') return false
  const { paidCurrency, paidUnits } = row.paid ?? {}
  return fact.paid.currency !== paidCurrency || fact.paid.units !== paidUnits
}

function newPurchase(input: PostPurchaseInput, nowMs: number): PurchaseRow {
  const { id, accountId, method, source, creditMicros, priceUnits, fact } = input
  if (creditMicros <= 0) throw new RangeError('a purchase is worth something')
  return {
    ...PURCHASES.start,
    id,
    accountId,
    method,
    source,
    creditMicros,
    priceUnits,
    state: 'open',
    expiresAtMs: fact.kind === 'open' ? fact.expiresAtMs : null,
    createdAtMs: nowMs,
  }
}

/** The row with the totals that a look found; the same object if they change nothing. */
function purchaseAfter(row: PurchaseRow, input: PostPurchaseInput, nowMs: number): PurchaseRow {
  const { fact } = input
  const state = stateAfter(row.state, input)
  if (fact.kind !== 'paid') return state === row.state ? row : { ...row, state }
  const moved: PurchaseRow =
    state === row.state
      ? row
      : {
          ...row,
          state,
          creditMicros: state === 'credited' ? worthOf(row, fact.judgment) : row.creditMicros,
          paid: { paidCurrency: fact.paid.currency, paidUnits: fact.paid.units },
          taxUnits: fact.taxUnits ?? null,
          paymentRef: fact.paymentRef,
          note: fact.judgment.kind === 'hold' ? fact.judgment.reason : row.note,
          creditedAtMs: state === 'credited' ? nowMs : null,
        }
  const known = moved.dispute === fact.dispute ? moved : { ...moved, dispute: fact.dispute }
  if (state !== 'credited') return known
  const reversedMicros = reversedCredit({
    creditMicros: known.creditMicros,
    paidUnits: fact.paid.units,
    reversedUnits: fact.reversedUnits,
  })
  if (reversedMicros === row.reversedMicros) return known
  return { ...known, reversedMicros, reversals: row.reversals + 1 }
}

/** The credit of a payment: the credit that was asked for, or the worth of an approved payment if that is less. */
function worthOf({ creditMicros }: PurchaseRow, judgment: PaymentJudgment): Micros {
  if (judgment.kind !== 'hold' || !isCreditable(judgment)) return creditMicros
  return micros(Math.min(creditMicros, judgment.worthMicros ?? 0))
}

function isCreditable(judgment: PaymentJudgment): boolean {
  return judgment.kind !== 'hold' || (judgment.worthMicros ?? 0) > 0
}

/** Whether an approval adds the credit of a purchase in this state, by the totals that a look found. */
export function isApprovable(state: PurchaseState, fact: PurchaseFact): boolean {
  const isWaiting = state === 'held' || state === 'below_minimum'
  return isWaiting && fact.kind === 'paid' && isCreditable(fact.judgment)
}

/** Credited and dismissed purchases keep their state; held and too small ones wait for an admin's approval. */
function stateAfter(state: PurchaseState, { fact, approved }: PostPurchaseInput): PurchaseState {
  switch (state) {
    case 'open':
    case 'expired':
      if (fact.kind === 'open') return state
      return fact.kind === 'expired' ? 'expired' : JUDGED[fact.judgment.kind]
    case 'held':
    case 'below_minimum':
      return approved && isApprovable(state, fact) ? 'credited' : state
    case 'credited':
    case 'dismissed':
      return state
    default:
      return assertNever(state)
  }
}

const JUDGED = {
  credit: 'credited',
  hold: 'held',
  below_minimum: 'below_minimum',
} as const

/** Posts the credit of a purchase, once, and the difference of its reversals. */
function postChanges(
  work: UnitOfWork,
  {
    account,
    before,
    after,
    nowMs,
  }: {
    readonly account: AccountRow
    readonly before: PurchaseRow
    readonly after: PurchaseRow
    readonly nowMs: number
  },
): void {
  if (after.state !== 'credited') return
  const line = { ...ENTRIES.start, purse: 'backed', createdAtMs: nowMs } as const
  const creditMicros: Micros = isCredited(before, after) ? after.creditMicros : ZERO_MICROS
  const credited = post(work, lapseFreeCredit(work, account, nowMs), {
    ...line,
    kind: 'purchase',
    amountMicros: creditMicros,
    reference: after.id,
  })
  const reversed = post(work, credited, {
    ...line,
    kind: 'reversal',
    amountMicros: subtractMicros(before.reversedMicros, after.reversedMicros),
    reference: reversalReference(after.id, {
      place: after.reversals,
      cause: causeOf(before, after),
    }),
  })
  work.accounts.update({ ...reversed, hasBackedCredit: true })
}

/**
 * The main cause of a change of the credit. A look finds only the sum that all refunds and disputes returned, and
 * whether a dispute is open or lost. Null: not known, such as for a second change while a dispute is open.
 */
function causeOf(before: PurchaseRow, after: PurchaseRow): ReversalCause | null {
  const isRemoved = after.reversedMicros > before.reversedMicros
  const wasDisputed = before.state === 'credited' && takesBack(before.dispute)
  if (takesBack(after.dispute)) return isRemoved && !wasDisputed ? 'dispute' : null
  if (wasDisputed) return isRemoved ? null : 'dispute_won'
  return isRemoved ? 'refund' : 'refund_failed'
}

/** Decides that a held purchase adds no credit. */
export function dismissPurchase(
  work: UnitOfWork,
  { purchaseId, note }: DismissPurchaseInput,
): DismissVerdict {
  const row = work.purchases.find(({ id }) => id === purchaseId)
  if (row === undefined) return { kind: 'unknownPurchase' }
  if (row.state !== 'held') return { kind: 'notHeld', purchase: row }
  const notes = row.note === null ? note : `${row.note}; ${note}`
  const purchase: PurchaseRow = { ...row, state: 'dismissed', note: notes }
  work.purchases.update(purchase)
  return { kind: 'dismissed', purchase }
}

/** The record of an operator's change of a purchase. By position: the purchase, and further fields. */
export function purchaseSubject(
  purchase: PurchaseRow | undefined,
  detail: ActionSubject['detail'],
): ActionSubject {
  const { accountId = null, id: targetId = null, creditMicros = null } = purchase ?? {}
  return { accountId, targetId, amountMicros: creditMicros, detail }
}
