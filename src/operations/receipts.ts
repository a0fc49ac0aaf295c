import { z } from 'zod'
import { getAccount } from '../ledger/accounts.ts'
import { getPurchase } from '../ledger/purchases.ts'
import { idField } from './fields.ts'
import { notFound, type Operation, type OperationParts, operation, readsFor } from './operation.ts'
import { purchaseAnswer, purchaseShape } from './purchases.ts'

/** Receipts of purchases, for the people who bought. */
export function receiptOperations(parts: OperationParts): readonly Operation[] {
  return [receipt(parts)]
}

function receipt({ store, seller }: OperationParts): Operation {
  return operation({
    name: 'getReceipt',
    method: 'GET',
    paths: { member: '/app/api/accounts/{account_id}/purchases/{purchase_id}/receipt' },
    summary: 'The receipt of a credited purchase, with its seller and its buyer.',
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
      const body: z.infer<typeof receiptShape> = {
        object: 'receipt',
        purchase: purchaseAnswer(purchase),
        seller: { name: seller.name, tax_id: seller.taxId },
        account: { id: account.id, name: account.name, email: account.email },
      }
      return { httpStatus: 200, body }
    },
  })
}

/** The receipt of a purchase, with its seller and its buyer. */
export const receiptShape = z
  .object({
    object: z.literal('receipt'),
    purchase: purchaseShape,
    seller: z.object({
      name: z.string().nullable().describe('Null: the operator has not set it.'),
      tax_id: z.string().nullable().describe('Null: the operator has not set it.'),
    }),
    account: z.object({
      id: idField('acct'),
      name: z.string(),
      email: z.string().nullable(),
    }),
  })
  .meta({ id: 'Receipt' })
