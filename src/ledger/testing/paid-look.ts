import { micros } from '../../vocabulary/money.ts'
import type { PostPurchaseInput } from '../rules/post-purchase.ts'

/**
 * A look at a payment, by its name, that found 10 units paid for 1,000 micro-dollars and so many gone back, when nothing
 * had gone back before. A negative amount is impossible: the ledger refuses it.
 */
export function paidLook(
  name: string,
  {
    accountId = 'A',
    reversedUnits = 0n,
  }: { readonly accountId?: string; readonly reversedUnits?: bigint } = {},
): PostPurchaseInput {
  return {
    id: `pur_${name}`,
    accountId,
    method: 'card',
    source: `play:${name}`,
    creditMicros: micros(1_000),
    priceUnits: null,
    seenReversals: 0,
    fact: {
      kind: 'paid',
      paid: { currency: 'usd', units: 10n },
      reversedUnits,
      paymentRef: null,
      isDisputed: false,
      judgment: { kind: 'credit' },
    },
    approved: false,
  }
}
