import { z } from 'zod'
import { getAccount } from '../../ledger/accounts.ts'
import { getPurchase, listReversals } from '../../ledger/purchases.ts'
import type { PurchaseRow } from '../../store/sale-tables.ts'
import type { AccountRow, Entry } from '../../store/schema.ts'
import { type Micros, subtractMicros, ZERO_MICROS } from '../../vocabulary/money.ts'
import {
  feeOf,
  REVERSAL_CAUSES,
  reversalCauseOf,
  reversedUnits,
} from '../../vocabulary/purchase.ts'
import { type ReceiptBuyer, receiptBuyerOf } from '../../vocabulary/receipt-buyer.ts'
import { idField, moneyField, timeAnswer, timeField } from '../fields.ts'
import { notFound } from '../not-found.ts'
import { operation, readsFor } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { billingOperations } from './billing.ts'
import {
  paymentAnswer,
  paymentField,
  paymentReference,
  purchaseAnswer,
  purchaseShape,
  receiptNumberAnswer,
} from './purchases.ts'

/** Receipts of purchases and the buyer on them, for the people who buy. */
export function receiptOperations(parts: OperationParts) {
  return [receipt(parts), ...billingOperations(parts)]
}

function receipt({ store, sale, seller }: OperationParts) {
  return operation({
    name: 'getReceipt',
    method: 'GET',
    paths: { member: '/app/api/accounts/{account_id}/purchases/{purchase_id}/receipt' },
    summary:
      'The receipt of a credited purchase, with its seller, its buyer, and its refunds and disputes.',
    answers: { 200: receiptShape },
    problems: ['not_found'],
    async run({ reader, caller, accountId, param }) {
      const reads = readsFor({ caller, reader }, store)
      const purchaseId = param('purchase_id')
      const purchase = await getPurchase(reads, purchaseId)
      const account = await getAccount(reads, accountId)
      if (account === null || purchase?.accountId !== accountId || purchase.state !== 'credited') {
        throw notFound('purchase', purchaseId)
      }
      const reversals = await listReversals(reads, purchase)
      return {
        object: 'receipt',
        ...numbered(purchase, sale),
        purchase: purchaseAnswer(purchase, sale),
        reversals: reversalAnswers(purchase, { reversals, sale }),
        seller: { name: seller.name, tax_id: seller.taxId },
        account: { id: account.id, name: account.name, email: account.email },
        buyer: buyerOf(purchase, account),
      } satisfies z.infer<typeof receiptShape>
    },
  })
}

/** The figures that only a receipt has. By position: the purchase, and the sale. */
function numbered(purchase: PurchaseRow, sale: OperationParts['sale']) {
  const { paid, taxUnits, method } = purchase
  const hasTax = paid !== null && taxUnits !== null
  return {
    number: receiptNumberAnswer(purchase),
    fee: feeOf(purchase),
    tax: hasTax
      ? paymentAnswer({ method, currency: paid.paidCurrency, units: taxUnits }, sale)
      : null,
    reference: paymentReference(purchase),
  }
}

/** Each refund and dispute as the payment has it: the units of the credit that was removed until then, less those before. */
function reversalAnswers(
  { creditMicros, method, paid }: PurchaseRow,
  { reversals, sale }: Pick<OperationParts, 'sale'> & { readonly reversals: readonly Entry[] },
): z.infer<typeof receiptShape>['reversals'] {
  const { paidCurrency: currency = '', paidUnits = 0n } = paid ?? {}
  const unitsOf = (reversedMicros: Micros) =>
    reversedUnits({ creditMicros, paidUnits, reversedMicros })
  let removedMicros = ZERO_MICROS
  return reversals.map(({ amountMicros, reference, createdAtMs }) => {
    const before = unitsOf(removedMicros)
    removedMicros = subtractMicros(removedMicros, amountMicros)
    return {
      amount: amountMicros,
      paid: paymentAnswer({ method, currency, units: before - unitsOf(removedMicros) }, sale),
      cause: reversalCauseOf(reference ?? ''),
      created_at: timeAnswer(createdAtMs),
    }
  })
}

/** The buyer when the purchase was credited. A gateway of 0.2.0 that still ran at the migration stored none: then, the present one. */
function buyerOf({ buyerJson }: PurchaseRow, account: AccountRow): ReceiptBuyer {
  return buyerJson === null ? receiptBuyerOf(account) : JSON.parse(buyerJson)
}

/** The receipt of a purchase, with its seller and its buyer. */
const receiptShape = z
  .object({
    object: z.literal('receipt'),
    number: z
      .string()
      .nullable()
      .describe(
        '`R`, the UTC year of the credit, and a number that the gateway counts without gaps; null: a gateway of 0.2.0 credited the purchase while the others were upgraded.',
      ),
    fee: moneyField
      .nullable()
      .describe(
        'The part of the payment that is neither credit nor tax, in micro-dollars; null: it was not paid in dollars.',
      ),
    tax: paymentField
      .nullable()
      .describe(
        'The part of the payment that was tax, as the card provider reported it; null: it reported none.',
      ),
    reference: z
      .string()
      .nullable()
      .describe(
        "The provider's ID of the payment, or the hash of the transaction; null: there is none.",
      ),
    purchase: purchaseShape,
    reversals: z
      .array(
        z.object({
          amount: moneyField.describe(
            'The change of the credit, in micro-dollars: below zero if credit was removed, above zero if a dispute was won or a refund failed.',
          ),
          paid: paymentField.describe('The same change of the payment.'),
          cause: z
            .enum(REVERSAL_CAUSES)
            .nullable()
            .describe(
              'The main cause. Null: not known, for example for a change while a dispute is open, or for one that 0.2.0 recorded.',
            ),
          created_at: timeField,
        }),
      )
      .describe('The refunds and disputes of the purchase, oldest first.'),
    seller: z.object({
      name: z.string().nullable().describe('Null: the operator has not set it.'),
      tax_id: z.string().nullable().describe('Null: the operator has not set it.'),
    }),
    account: z.object({
      id: idField('acct'),
      name: z.string(),
      email: z.string().nullable(),
    }),
    buyer: z
      .object({
        name: z.string(),
        address: z.string().nullable(),
        tax_id: z.string().nullable(),
        email: z.string().nullable(),
      })
      .describe(
        'The billing details that the account had when the credit was added; without them, its name and email address.',
      ),
  })
  .meta({ id: 'Receipt' })
