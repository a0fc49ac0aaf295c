import { z } from 'zod'
import { getPurchase } from '../../ledger/purchases.ts'
import type { Sale } from '../../sale/sale.ts'
import type { PurchaseRow } from '../../store/sale-tables.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { notFound } from '../not-found.ts'
import { type OperationParts, operation } from '../operation.ts'
import { purchaseAnswer, purchaseShape, rethrowUnavailable } from './purchases.ts'

/** Purchases by card whose buyer has left the payment page, or has come back from it. */
export function begunOperations(sale: Sale, store: OperationParts['store']) {
  return [resume(sale, store), lookUp(sale, store)]
}

function resume(sale: Sale, { db }: OperationParts['store']) {
  return operation({
    name: 'resumePurchase',
    method: 'GET',
    paths: { member: '/app/api/accounts/{account_id}/purchases/{purchase_id}/page' },
    needsOwner: true,
    summary: 'The page on which an open purchase by card can be paid.',
    answers: { 200: openPageShape },
    problems: ['not_found', 'purchase_not_open', 'payment_unavailable'],
    async run({ accountId, param }) {
      const purchase = await ownPurchase(db, { accountId, purchaseId: param('purchase_id') })
      const url = await sale.openPage(purchase).catch(rethrowUnavailable)
      if (url === null) throw new Problem('purchase_not_open')
      return { object: 'payment_page', url }
    },
  })
}

function lookUp(sale: Sale, { db }: OperationParts['store']) {
  // Pages that ask about a purchase at the same time share one look at the provider.
  const underWay = new Map<string, ReturnType<Sale['look']>>()
  const lookAt = (source: string): ReturnType<Sale['look']> => {
    const known = underWay.get(source)
    if (known !== undefined) return known
    const look = sale.look(source).finally(() => underWay.delete(source))
    underWay.set(source, look)
    return look
  }
  return operation({
    name: 'lookUpPurchase',
    method: 'GET',
    paths: { member: '/app/api/accounts/{account_id}/purchases/{purchase_id}' },
    needsOwner: true,
    summary: 'One purchase. If it is open, the payment provider is asked whether it is paid.',
    answers: { 200: purchaseShape },
    problems: ['not_found', 'payment_unavailable'],
    async run({ accountId, param }) {
      const purchase = await ownPurchase(db, { accountId, purchaseId: param('purchase_id') })
      if (purchase.state !== 'open') return purchaseAnswer(purchase)
      const looked = await lookAt(purchase.source).catch(rethrowUnavailable)
      return purchaseAnswer(looked?.purchase ?? purchase)
    },
  })
}

async function ownPurchase(
  db: OperationParts['store']['db'],
  { accountId, purchaseId }: { readonly accountId: string; readonly purchaseId: string },
): Promise<PurchaseRow> {
  const purchase = await getPurchase(db, purchaseId)
  if (purchase?.accountId !== accountId) throw notFound('purchase', purchaseId)
  return purchase
}

/** The address at which a payment that has begun is continued. */
const openPageShape = z
  .object({
    object: z.literal('payment_page'),
    url: z.string().describe('The page to pay on.'),
  })
  .meta({ id: 'PaymentPage' })
