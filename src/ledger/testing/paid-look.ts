import { expect } from 'vitest'
import { micros } from '../../vocabulary/money.ts'
import type { Dispute } from '../../vocabulary/purchase.ts'
import type { PostPurchaseInput } from '../rules/post-purchase.ts'
import type { StoreBench } from './store-bench.ts'

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
      dispute: null,
      judgment: { kind: 'credit' },
    },
    approved: false,
  }
}

/** The result of a look at a payment. */
export interface FoundPayment {
  /** How many of its ten units have gone back. Default: none. */
  readonly back?: bigint
  /** The state of its dispute. Default: it was never disputed. */
  readonly dispute?: Dispute
  /** Default: `A`. */
  readonly accountId?: string
}

/** Posts a look at a payment of ten units for 1,000 micro-dollars, by its name. */
export async function postLook(
  bench: StoreBench,
  name: string,
  { back = 0n, dispute, accountId = 'A' }: FoundPayment = {},
): Promise<void> {
  const row = await bench.purchase(`play:${name}`)
  const { fact, ...input } = paidLook(name, { accountId, reversedUnits: back })
  const found =
    fact.kind === 'paid' ? { ...fact, dispute: dispute ?? null, paymentRef: `pi_${name}` } : fact
  const seenReversals = row?.reversals ?? 0
  const { kind } = await bench.ledger.postPurchase({ ...input, seenReversals, fact: found })
  expect(kind).toBe('posted')
}
