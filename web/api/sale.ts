import { queryOptions } from '@tanstack/react-query'
import type { z } from 'zod'
import type { boughtShape } from '../../src/operations/own-account.ts'
import type { receiptShape } from '../../src/operations/receipts.ts'
import type {
  begunShape,
  depositShape,
  openPageShape,
  quoteShape,
  saleShape,
} from '../../src/operations/sale.ts'
import { ApiError, read, withQuery } from './client.ts'

/** How credit is bought. */

const MINUTE_MS = 60_000

/** A way to pay. */
export type SaleMethod = z.infer<typeof saleShape>['methods'][number]

/** Tokens that are sent to an address of the account. */
export type DepositMethod = Extract<SaleMethod, { kind: 'deposit' }>

/** The price of an amount. */
export type Quote = z.infer<typeof quoteShape>

/** A payment that has begun. */
export type Begun = z.infer<typeof begunShape>

/** Where a payment that has begun is continued. */
export type PaymentPage = z.infer<typeof openPageShape>

/** Where tokens are sent to. */
export type Deposit = z.infer<typeof depositShape>

/** The receipt of a purchase. */
export type Receipt = z.infer<typeof receiptShape>

/** The ways to pay; none where nothing is sold. */
export const saleQuery = queryOptions({
  queryKey: ['sale'],
  queryFn: ({ signal }) =>
    read<Pick<z.infer<typeof saleShape>, 'methods'>>('/v1/credit', signal).catch(
      (error: unknown) => {
        if (error instanceof ApiError && error.httpStatus === 404) return { methods: [] }
        throw error
      },
    ),
  staleTime: MINUTE_MS,
})

/** The present price of credit. */
export function quoteQuery(method: string, amountMicros: number) {
  return queryOptions({
    queryKey: ['sale', 'quote', method, amountMicros],
    queryFn: ({ signal }) =>
      read<Quote>(withQuery('/v1/credit/quote', { method, amount: amountMicros }), signal),
    staleTime: MINUTE_MS / 2,
  })
}

/** Play money is paid on the gateway itself: at the address that this page has, where the session is. */
export function paymentPage(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname.startsWith('/play/') ? pathname + search : url
}

const WATCHED_MS = 2_000
const IDLE_MS = 15_000

/** The last purchases, and those that may still become credit, which are polled until they do. */
export function boughtQuery(accountId: string) {
  return queryOptions({
    queryKey: ['entries', accountId, 'bought'],
    queryFn: ({ signal }) =>
      read<z.infer<typeof boughtShape>>(
        withQuery(`accounts/${accountId}/purchases`, { limit: 20 }),
        signal,
      ),
    refetchInterval: ({ state: { data } }) =>
      (data?.pending?.length ?? 0) > 0 ? WATCHED_MS : IDLE_MS,
  })
}

/** The receipt of a purchase. */
export function receiptQuery(accountId: string, purchaseId: string) {
  return queryOptions({
    queryKey: ['receipt', accountId, purchaseId],
    queryFn: ({ signal }) =>
      read<Receipt>(`accounts/${accountId}/purchases/${purchaseId}/receipt`, signal),
  })
}
