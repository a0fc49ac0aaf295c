import { z } from 'zod'
import { getAccount } from '../../ledger/accounts.ts'
import type { OperatorAction } from '../../ledger/operator-actions.ts'
import { getPurchase } from '../../ledger/purchases.ts'
import { roomForCredit } from '../../ledger/rules/credit.ts'
import { PaymentUnavailable } from '../../sale/card/provider.ts'
import { depositOfSource } from '../../sale/chain/terms.ts'
import type { ConfirmingDeposit } from '../../sale/deposit-rows.ts'
import type { PurchaseRow } from '../../store/sale-tables.ts'
import { assertNever } from '../../vocabulary/assert-never.ts'
import { Problem } from '../../vocabulary/problem.ts'
import {
  decimalsOf,
  type PaidUnits,
  PURCHASE_STATES,
  REVERSALS,
  receiptNumberText,
  reversalOf,
} from '../../vocabulary/purchase.ts'
import { TEXT_CHARS_MAX } from '../../vocabulary/text-chars.ts'
import { idField, moneyField, text, timeAnswer, timeField, timeOrNull } from '../fields.ts'
import { notFound } from '../not-found.ts'
import { operation, readsFor } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { staffPaths } from '../paths.ts'
import { beyondText } from './credit.ts'

/** One purchase of any account, and an admin's decisions about held payments. */
export function purchaseOperations(parts: OperationParts) {
  return [show(parts), approve(parts), dismiss(parts)]
}

function show({ store, sale }: OperationParts) {
  return operation({
    name: 'getPurchase',
    method: 'GET',
    scope: 'read',
    paths: staffPaths('purchases/{purchase_id}'),
    summary: 'One purchase, with its payment and why it is held.',
    answers: { 200: adminPurchaseShape },
    problems: ['not_found'],
    async run({ reader, caller, param }) {
      const row = await foundPurchase(readsFor({ caller, reader }, store), param('purchase_id'))
      return adminPurchaseAnswer(row, sale)
    },
  })
}

function approve(parts: OperationParts) {
  return operation({
    name: 'creditPurchase',
    method: 'POST',
    scope: 'credit',
    paths: staffPaths('purchases/{purchase_id}/credit'),
    summary: 'Add the credit of a purchase that is on hold or below the minimum.',
    answers: { 200: adminPurchaseShape },
    problems: ['not_found', 'purchase_not_held', 'payment_unavailable'],
    async run({ by, param }) {
      const row = await foundPurchase(parts.store.db, param('purchase_id'))
      return creditHeld(parts, { row, by })
    },
  })
}

async function creditHeld(
  { sale, store, clock }: OperationParts,
  { row, by }: { readonly row: PurchaseRow; readonly by: OperatorAction | null },
): Promise<object> {
  if (row.state !== 'held' && row.state !== 'below_minimum') throw notHeld(row, CREDITED)
  // The money may have been paid back since the purchase was held, so the provider is asked again.
  const looked = sale && (await sale.approve(row.source, by).catch(rethrowUnavailable))
  if (looked === null) {
    throw new Problem('payment_unavailable', { message: NOT_SOLD, isFinal: true })
  }
  const { purchase, isChanged } = looked
  if (purchase.state === 'held' || purchase.state === 'below_minimum') {
    const account = await getAccount(store.db, purchase.accountId)
    const mostMicros =
      account === null ? purchase.creditMicros : roomForCredit(account, clock.nowMs())
    const isBeyond = purchase.creditMicros > mostMicros
    const beyond = { kind: 'beyondBalance', change: 'added', mostMicros } as const
    throw notHeld(purchase, isBeyond ? beyondText('Its credit', beyond) : NO_MONEY)
  }
  if (!isChanged || purchase.state !== 'credited') throw notHeld(purchase, CREDITED)
  return adminPurchaseAnswer(purchase, sale)
}

const NOT_SOLD =
  "This gateway no longer takes payments of this provider or chain, so the payment can't be checked. Configure it again; or add the credit with `tollgate credit add`, and dismiss the purchase if it is on hold."

/** Rethrows a failed call to a provider as a Problem for the client. */
export function rethrowUnavailable(cause: unknown): never {
  if (!(cause instanceof PaymentUnavailable)) throw cause
  const { lasting } = cause
  const said = lasting === null ? {} : { message: lasting, isFinal: true }
  throw new Problem('payment_unavailable', { ...said, cause })
}

function dismiss({ ledger, sale }: OperationParts) {
  return operation({
    name: 'dismissPurchase',
    method: 'POST',
    scope: 'credit',
    paths: staffPaths('purchases/{purchase_id}/dismiss'),
    summary: 'Dismiss a held purchase: it adds no credit. Pay its money back at the provider.',
    body: z.strictObject({
      note: text({
        charsMax: TEXT_CHARS_MAX.dismissalNote,
        missing: 'is required: the reason, for the record',
      }),
    }),
    example: { note: 'paid back at the provider' },
    answers: { 200: adminPurchaseShape },
    problems: ['not_found', 'purchase_not_held'],
    async run({ by, param, body: { note } }) {
      const purchaseId = param('purchase_id')
      const verdict = await ledger.dismissPurchase({ purchaseId, note }, by)
      switch (verdict.kind) {
        case 'dismissed':
          return adminPurchaseAnswer(verdict.purchase, sale)
        case 'notHeld':
          throw notHeld(verdict.purchase, DISMISSED)
        case 'unknownPurchase':
          throw notFound('purchase', purchaseId)
        default:
          return assertNever(verdict)
      }
    },
  })
}

async function foundPurchase(
  db: OperationParts['store']['db'],
  purchaseId: string,
): Promise<PurchaseRow> {
  const row = await getPurchase(db, purchaseId)
  if (row === null) throw notFound('purchase', purchaseId)
  return row
}

const CREDITED = 'Only a purchase that is on hold or below the minimum can be credited.'
const DISMISSED = 'Only a purchase on hold can be dismissed.'

const NO_MONEY =
  'Its payment cannot be credited, for example because it is in another currency. Refund it where it was paid, or dismiss the purchase.'

/** By position: the purchase, and why it can't be decided so. */
function notHeld({ state }: PurchaseRow, reason: string): Problem {
  return new Problem('purchase_not_held', {
    message: `This purchase is ${state === 'held' ? 'on hold' : state.replaceAll('_', ' ')}. ${reason}`,
  })
}

/** The effect of refunds and disputes on a purchase. */
export const reversalField = z
  .enum(REVERSALS)
  .nullable()
  .describe(
    '`refunded`: everything that was paid. `partly_refunded`: a part of it. `disputed`: a dispute is open. `dispute_lost`: a dispute is lost, and none is open. `dispute_won`: a dispute is won, and nothing is refunded. Null: there was neither.',
  )

/** An amount of the currency that is paid with. */
export const paymentField = z.object({
  currency: z.string(),
  units: z.string().describe('The amount in the smallest unit of the currency: cents for `usd`.'),
  decimals: z
    .int()
    .nullable()
    .describe('The number of decimal places of the currency: 2 for `usd`. Null: not known.'),
})

/** A payment as responses have it. By position: the payment, and the sale, which knows the decimals of its tokens. */
export function paymentAnswer(
  {
    method,
    currency,
    units,
  }: { readonly method: string; readonly currency: string; readonly units: bigint },
  sale: OperationParts['sale'],
): PaidUnits {
  const decimals = decimalsOf({ method, currency }, sale?.tokenDecimals ?? new Map())
  return { currency, units: String(units), decimals }
}

/** A purchase as its account sees it. */
export const purchaseShape = z
  .object({
    id: idField('pur'),
    object: z.literal('purchase'),
    method: z.string().describe('The method of payment, an `id` of `GET /v1/credit`.'),
    state: z
      .enum(PURCHASE_STATES)
      .describe(
        '`open`: it can be paid. `credited`: the credit was added; see `reversal`. `expired`: it was not paid in time. `held`: it was paid, and the operator must decide. `below_minimum`: too little was paid. `dismissed`: the operator decided against it.',
      ),
    credit: moneyField.describe('The credit of the purchase, in micro-dollars.'),
    reversal: reversalField,
    reversed: moneyField.describe('The part that refunds and disputes removed, in micro-dollars.'),
    paid: paymentField.nullable(),
    transaction: z
      .object({ chain_id: z.int(), hash: z.string() })
      .nullable()
      .describe('The place of a deposit on its chain; null: it is not a deposit.'),
    created_at: timeField,
    credited_at: timeField.nullable(),
  })
  .meta({ id: 'Purchase' })

/** A deposit in a block that is not final, which may still disappear. */
export const confirmingShape = purchaseShape
  .extend({
    id: z
      .null()
      .describe(
        'Always null: the deposit becomes a purchase, with an ID, once its block is final.',
      ),
    state: z.literal('confirming'),
    created_at: timeField.describe('When the gateway last saw the deposit.'),
    credited_at: z.null(),
  })
  .meta({ id: 'ConfirmingDeposit' })

/** The number of a receipt. */
const receiptNumberField = z
  .string()
  .nullable()
  .describe(
    'The number of the receipt: `R`, the UTC year of the credit, and a number that the gateway counts without gaps. Null: the purchase is not credited yet, or a gateway of 0.2.0 credited it while the others were upgraded.',
  )

/** A purchase as admins see it. */
export const adminPurchaseShape = purchaseShape
  .extend({
    account_id: idField('acct'),
    source: z.string().describe('The ID of the purchase at the provider, unique in the store.'),
    payment_ref: z
      .string()
      .nullable()
      .describe("The provider's ID of the payment; null: none is known."),
    note: z
      .string()
      .nullable()
      .describe('Why the purchase is held or was dismissed; null: neither.'),
    expires_at: timeField
      .nullable()
      .describe('When the purchase expires: it can no longer be paid. Null: never.'),
    receipt_number: receiptNumberField,
  })
  .meta({ id: 'AdminPurchase' })

/** A purchase in responses to its account. By position: the purchase, and the sale. */
export function purchaseAnswer(
  row: PurchaseRow,
  sale: OperationParts['sale'],
): z.infer<typeof purchaseShape> {
  const { method, paid } = row
  const deposit = depositOfSource(row.source)
  return {
    id: row.id,
    object: 'purchase',
    method,
    state: row.state,
    credit: row.creditMicros,
    reversal: reversalOf(row),
    reversed: row.reversedMicros,
    paid:
      paid && paymentAnswer({ method, currency: paid.paidCurrency, units: paid.paidUnits }, sale),
    transaction: deposit && { chain_id: deposit.chainId, hash: deposit.txHash },
    created_at: timeAnswer(row.createdAtMs),
    credited_at: timeOrNull(row.creditedAtMs),
  }
}

/** A deposit that is not final, in responses to its account. By position: the deposit, and the sale. */
export function confirmingAnswer(
  row: ConfirmingDeposit,
  sale: OperationParts['sale'],
): z.infer<typeof confirmingShape> {
  return {
    id: null,
    object: 'purchase',
    method: row.method,
    state: 'confirming',
    credit: row.creditMicros,
    reversal: null,
    reversed: 0,
    paid: paymentAnswer(row, sale),
    transaction: { chain_id: row.chainId, hash: row.txHash },
    created_at: timeAnswer(row.seenAtMs),
    credited_at: null,
  }
}

/** The number of the receipt of a purchase; null as {@link receiptNumberField} says. */
export function receiptNumberAnswer({
  receiptNumber,
  creditedAtMs,
}: Pick<PurchaseRow, 'receiptNumber' | 'creditedAtMs'>): string | null {
  if (receiptNumber === null || creditedAtMs === null) return null
  return receiptNumberText({ receiptNumber, creditedAtMs })
}

/** The provider's ID of the payment, or the hash of the transaction; null: there is none. */
export function paymentReference({
  paymentRef,
  source,
}: Pick<PurchaseRow, 'paymentRef' | 'source'>): string | null {
  return paymentRef ?? depositOfSource(source)?.txHash ?? null
}

/** A purchase in responses to admins. By position: the purchase, and the sale. */
export function adminPurchaseAnswer(
  row: PurchaseRow,
  sale: OperationParts['sale'],
): z.infer<typeof adminPurchaseShape> {
  return {
    ...purchaseAnswer(row, sale),
    account_id: row.accountId,
    source: row.source,
    payment_ref: row.paymentRef,
    note: row.note,
    expires_at: timeOrNull(row.expiresAtMs),
    receipt_number: receiptNumberAnswer(row),
  }
}
