import { queryOptions } from '@tanstack/react-query'
import { MINUTE_MS } from '../../src/vocabulary/clock.ts'
import type { Me } from './answers.ts'
import { type Answer, asAnyone, asMember, type Input } from './calls.ts'
import { ApiError } from './client.ts'

/** How credit is bought. */

/** A way to pay. */
export type SaleMethod = Answer<'getCreditSale', 'anyone'>['methods'][number]

/** Tokens that are sent to an address of the account. */
export type DepositMethod = Extract<SaleMethod, { kind: 'deposit' }>

/** The receipt of a purchase. */
export type Receipt = Answer<'getReceipt', 'member'>

/** The ways to pay. A gateway that sells no credit has no such list, and is not asked for it: there are none. */
export function saleQuery({ sells_credit: isSold }: Pick<Me, 'sells_credit'>) {
  return queryOptions({
    queryKey: ['sale', isSold],
    queryFn: async ({ signal }): Promise<{ readonly methods: readonly SaleMethod[] }> =>
      isSold ? asAnyone('getCreditSale', {}, signal) : { methods: [] },
    staleTime: MINUTE_MS,
  })
}

/** The present price of credit. */
export function quoteQuery(method: string, amountMicros: number) {
  return queryOptions({
    queryKey: ['sale', 'quote', method, amountMicros],
    queryFn: ({ signal }) => asAnyone('getCreditQuote', { method, amount: amountMicros }, signal),
    staleTime: MINUTE_MS / 2,
  })
}

type PurchaseInput = Input<'createPurchase', 'member'>

/** Begins a payment by card; the answer has the page on which it is paid. */
export async function beginPayment(input: PurchaseInput) {
  const begun = await asMember('createPurchase', input)
  if ('deposit' in begun) throw new TypeError('a deposit has no page to pay on')
  return begun
}

/** The address that the tokens of a deposit are sent to. */
export async function depositAddress(input: PurchaseInput) {
  const begun = await asMember('createPurchase', input)
  if ('url' in begun) throw new TypeError('a payment by card has no address')
  return begun.deposit
}

/** Play money is paid on the gateway itself: at the address that this page has, where the session is. */
export function paymentPage(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname.startsWith('/play/') ? pathname + search : url
}

const WATCHED_MS = 2_000
const IDLE_MS = 15_000

/** The latest purchases, and the pending ones, which are polled until none is pending. */
export function boughtQuery(accountId: string) {
  return queryOptions({
    queryKey: ['entries', accountId, 'bought'],
    queryFn: ({ signal }) =>
      asMember('listPurchases', { account_id: accountId, limit: 20 }, signal),
    refetchInterval: ({ state: { data } }) =>
      (data?.pending?.length ?? 0) > 0 ? WATCHED_MS : IDLE_MS,
  })
}

const LOOK_UP_MS = 5_000

/** Whether a later look-up can succeed. A purchase of another account never does. */
function isAway(error: Error | null): boolean {
  return error !== null && !(error instanceof ApiError && error.httpStatus < 500)
}

/** A purchase that its buyer has come back from; the payment provider is asked until it is no longer open. */
export function cameBackQuery(accountId: string, purchaseId: string) {
  return queryOptions({
    queryKey: ['purchase', accountId, purchaseId],
    queryFn: ({ signal }) =>
      asMember('lookUpPurchase', { account_id: accountId, purchase_id: purchaseId }, signal),
    refetchInterval: ({ state: { data, error } }) =>
      data?.state === 'open' || isAway(error) ? LOOK_UP_MS : false,
  })
}

/** The receipt of a purchase. */
export function receiptQuery(accountId: string, purchaseId: string) {
  return queryOptions({
    queryKey: ['receipt', accountId, purchaseId],
    queryFn: ({ signal }) =>
      asMember('getReceipt', { account_id: accountId, purchase_id: purchaseId }, signal),
  })
}

/** The billing details of an account: the buyer on its receipts from now on. */
export function billingQuery(accountId: string) {
  return queryOptions({
    queryKey: ['billing', accountId],
    queryFn: ({ signal }) => asMember('getBilling', { account_id: accountId }, signal),
  })
}
