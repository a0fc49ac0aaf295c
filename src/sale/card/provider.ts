import type { PurchaseFact } from '../../vocabulary/purchase.ts'

/** The totals of a payment as its provider has them now. What they are good for, the sale decides. */
export type CardFact =
  | { readonly kind: 'open' | 'expired' }
  | Omit<Extract<PurchaseFact, { kind: 'paid' }>, 'judgment'>

/** A provider that takes payments by card. Only what a look finds moves credit, never a message of the provider. */
export interface CardProvider {
  /** Whether it has the payment of a source. */
  has(source: string): boolean
  /** Makes a page that a person pays on. */
  begin(asked: {
    /** The key of the attempt: a repeat makes no second page. */
    readonly purchaseId: string
    readonly cents: bigint
  }): Promise<{
    /** The payment's name in the store; the provider's own name begins it. */
    readonly source: string
    /** Where the browser goes. */
    readonly url: string
    readonly expiresAtMs: number
  }>
  look(source: string): Promise<CardFact>
}
