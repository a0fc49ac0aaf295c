import type { PurchaseRow } from '../../store/sale-tables.ts'
import type { Micros } from '../../vocabulary/money.ts'
import type { PurchaseFact } from '../../vocabulary/purchase.ts'

/** The totals of a payment as its provider has them now. The method decides how much credit they buy. */
export type CardFact =
  | { readonly kind: 'open' | 'expired' }
  | (Omit<Extract<PurchaseFact, { kind: 'paid' }>, 'judgment'> & {
      /** The part that was paid for the credit, without taxes. */
      readonly netUnits: bigint
      /** Why it is not the payment that was asked for; null: it looks like it. */
      readonly doubt: string | null
    })

/** The purchase that a page is made for. */
export interface CardAsked {
  /** The key of the attempt: a repeat makes no second page. */
  readonly purchaseId: string
  readonly accountId: string
  readonly creditMicros: Micros
  readonly cents: bigint
}

/** A payment that this store began, as the provider remembers it. */
export interface CardPayment extends CardAsked {
  readonly source: string
}

/** Something that happened to a payment, which a look has to follow. */
export interface CardChange {
  /** The provider's id of the report. */
  readonly id: string
  /** When it happened, as the provider counts. */
  readonly position: number
  /** The payment by its page, or by the provider's name of it. */
  readonly of: CardPayment | { readonly paymentRef: string }
}

/** A provider that takes payments by card. Only the result of a look moves credit, never a message of the provider. */
export interface CardProvider {
  /** Its name, which begins the sources of its payments. */
  readonly name: string
  /** Whether it charges cards, which may be stolen ones. */
  readonly chargesCards: boolean
  /** How long an open payment of which nothing is reported needs no look. */
  readonly lookIntervalMs: number
  /** Makes a page that a person pays on. Rejects with `PaymentUnavailable` if the provider can't be asked. */
  begin(asked: CardAsked): Promise<{
    /** The payment's name in the store. */
    readonly source: string
    /** The address to which the browser is sent. */
    readonly url: string
    readonly expiresAtMs: number
  }>
  /**
   * The page of a payment that has begun, for a browser that left it; null: it can no longer be paid on it. Rejects
   * with `PaymentUnavailable` where the provider can't be asked.
   */
  openPage(payment: Pick<PurchaseRow, 'id' | 'source' | 'accountId'>): Promise<string | null>
  /** Rejects with `PaymentUnavailable` if the provider can't be asked. */
  look(payment: Pick<PurchaseRow, 'id' | 'source'>): Promise<CardFact>
  /**
   * The changes reported from a position on, in any order; null: from the oldest report that the provider has.
   * Absent: it reports nothing.
   */
  changedSince?(position: number | null): AsyncIterable<CardChange>
  /** Every payment that this store began since then. Absent: the provider keeps them in the store. */
  paymentsSince?(createdAtMs: number): AsyncIterable<CardPayment>
}

/** The provider of a payment can't be asked. */
export class PaymentUnavailable extends Error {
  override readonly name = 'PaymentUnavailable'
  /**
   * Why asking again changes nothing, and what to do, in words for the client: the provider does not have the payment, or
   * its token is no longer accepted. Null: it may answer later.
   */
  readonly lasting: string | null

  constructor(
    message: string,
    { cause, lasting = null }: { readonly cause?: unknown; readonly lasting?: string | null } = {},
  ) {
    super(message, { cause })
    this.lasting = lasting
  }
}
