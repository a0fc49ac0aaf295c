import type { PurchaseRow } from '../store/sale-tables.ts'
import type { Micros } from '../vocabulary/money.ts'
import type { ExchangeTerms, PurchaseFact } from '../vocabulary/purchase.ts'
import type { CardMethod } from './card/card-method.ts'

/** A way to buy credit: on a page of a card provider, or by sending tokens to an address of the account. */
export type SaleMethod = CardMethod | DepositMethod

/** Any amount of a token, sent to an address of the account at any time. */
export interface DepositMethod {
  readonly kind: 'deposit'
  /** Its name for clients, such as `base-usdc`. */
  readonly id: string
  readonly minimumMicros: Micros
  readonly feeBps: number
  readonly chainId: number
  readonly token: {
    /** Such as `USDC`. */
    readonly symbol: string
    /** The address of its contract, with the checksum in its letters' case. */
    readonly address: string
    readonly decimals: number
  }
  /** When a deposit counts: `finalized`, `safe`, or a number of blocks. */
  readonly confirm: string
  /** Whether it has the payment of a source. */
  has(source: string): boolean
  /** The present state of one of its purchases. Rejects if the nodes can't be asked. */
  look(row: PurchaseRow): Promise<PurchaseFact>
  /**
   * The balances of addresses in the token, at the last block that was searched for it, in their order. Rejects with
   * `PaymentUnavailable` where the nodes do not agree.
   */
  balances(addresses: readonly string[]): Promise<readonly bigint[]>
  /** How deposits become credit now. Reads rows: no request of a client asks a node. */
  terms(): Promise<DepositTermsNow>
  /** The address of an account by the public key of the settings, with its checksum. */
  addressOf(accountId: string): string
  /** The address of an account; its row is durable before this resolves. */
  depositAddress(accountId: string): Promise<{
    readonly address: string
    /** The payment request for wallets: `ethereum:…`. */
    readonly uri: string
  }>
}

/** How deposits become credit, or why none can now. */
export type DepositTermsNow =
  | {
      readonly kind: 'known'
      readonly terms: ExchangeTerms
      /** When the rate was read. */
      readonly asOfMs: number
    }
  | { readonly kind: 'chain_unavailable' | 'quote_unavailable' }
