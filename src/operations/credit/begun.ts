import { z } from 'zod'
import { getPurchase } from '../../ledger/purchases.ts'
import type { Sale } from '../../sale/sale.ts'
import type { PurchaseRow } from '../../store/sale-tables.ts'
import type { Clock } from '../../vocabulary/clock.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { notFound } from '../not-found.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { purchaseAnswer, purchaseShape, rethrowUnavailable } from './purchases.ts'

type Parts = Pick<OperationParts, 'store' | 'clock'>

/** Purchases by card whose buyer has left the payment page, or has come back from it. */
export function begunOperations(sale: Sale, parts: Parts) {
  return [resume(sale, parts), lookUp(sale, parts)]
}

function resume(sale: Sale, { store: { db }, clock }: Parts) {
  const pages = new RecentAnswers<string | null>(clock)
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
      // A page that was known before the purchase was paid is no page to pay on.
      if (purchase.state !== 'open') throw new Problem('purchase_not_open')
      const page = pages.get(purchase.source, () => sale.openPage(purchase))
      const url = await page.catch(rethrowUnavailable)
      if (url === null) throw new Problem('purchase_not_open')
      return { object: 'payment_page', url }
    },
  })
}

function lookUp(sale: Sale, { store: { db }, clock }: Parts) {
  const looks = new RecentAnswers<unknown>(clock)
  return operation({
    name: 'lookUpPurchase',
    method: 'GET',
    paths: { member: '/app/api/accounts/{account_id}/purchases/{purchase_id}' },
    needsOwner: true,
    summary:
      'One purchase. If it is open, the payment provider is asked whether it is paid, at most every three seconds.',
    answers: { 200: purchaseShape },
    problems: ['not_found', 'payment_unavailable'],
    async run({ accountId, param }) {
      const purchase = await ownPurchase(db, { accountId, purchaseId: param('purchase_id') })
      if (purchase.state !== 'open') return purchaseAnswer(purchase, sale)
      const look = looks.get(purchase.source, () => sale.look(purchase.source))
      await look.catch(rethrowUnavailable)
      // Read after the look, which another caller may have begun.
      return purchaseAnswer(await ownPurchase(db, { accountId, purchaseId: purchase.id }), sale)
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

/** How long the answer to a question stands in for asking it again. */
const KEPT_MS = 3_000

interface Kept<Answer> {
  readonly answer: Promise<Answer>
  /** Null: the question is under way. */
  endedAtMs: number | null
}

/**
 * The latest answers of a provider. A question that was answered in the last three seconds gets the same answer, even if
 * it is a failure, so that no caller can make the gateway ask in a loop.
 */
class RecentAnswers<Answer> {
  readonly #clock: Clock
  readonly #kept = new Map<string, Kept<Answer>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The answer to the question of this name, which `ask` asks if no recent answer is known. */
  get(name: string, ask: () => Promise<Answer>): Promise<Answer> {
    this.#forgetOld()
    const known = this.#kept.get(name)
    if (known !== undefined) return known.answer
    const kept: Kept<Answer> = { answer: ask(), endedAtMs: null }
    const end = (): void => {
      kept.endedAtMs = this.#clock.nowMs()
    }
    kept.answer.then(end, end)
    this.#kept.set(name, kept)
    return kept.answer
  }

  #forgetOld(): void {
    const nowMs = this.#clock.nowMs()
    for (const [name, { endedAtMs }] of this.#kept) {
      // Also where the clock was set back.
      const isOld = endedAtMs !== null && Math.abs(nowMs - endedAtMs) >= KEPT_MS
      if (isOld) this.#kept.delete(name)
    }
  }
}
