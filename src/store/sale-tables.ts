import { ZERO_MICROS } from '../vocabulary/money.ts'
import { DISPUTES, PURCHASE_STATES } from '../vocabulary/purchase.ts'
import {
  amount,
  integer,
  oneOf,
  orNull,
  type RowOf,
  startsAs,
  Table,
  text,
  together,
  wholeNumber,
} from './table.ts'

/** Credit that accounts buy, each purchase with the totals of the latest look that has changed it. */
export const PURCHASES = new Table('purchases', {
  key: ['id'],
  fixed: {
    id: text,
    account_id: text,
    /** The id of the method on sale by which it is paid, such as `card`. */
    method: text,
    /** Its own name at the provider or on the chain, which the name of the provider begins. */
    source: text,
    /** The price on the card page, in cents, even if the fee has changed since; null: a deposit of any amount. */
    price_units: orNull(wholeNumber),
    created_at_ms: integer,
    /** When it can no longer be paid; null: never. */
    expires_at_ms: orNull(integer),
  },
  moving: {
    state: oneOf(PURCHASE_STATES),
    /**
     * Its credit, by the rates and fees of its time. It changes at most once: the approval of a held payment adds
     * the credit of that payment, never more than was asked for.
     */
    credit_micros: amount,
    /** The part of its credit that went back with refunds and disputes. */
    reversed_micros: startsAs(ZERO_MICROS, amount),
    /** How many entries have changed that part. */
    reversals: startsAs(0, integer),
    /** The provider's name of the payment, by which it reports refunds and disputes. */
    payment_ref: orNull(text),
    /** The state of the disputes of its payment; null: it was never disputed. */
    dispute: orNull(oneOf(DISPUTES)),
    /** The payment; null until it is made. */
    paid: together({ paid_currency: text, paid_units: wholeNumber }),
    /** Why it is held or was dismissed. */
    note: orNull(text),
    credited_at_ms: orNull(integer),
    /** The number of its receipt, which no other purchase has; null until it is credited. */
    receipt_number: orNull(integer),
    /** The part of `paid` that was tax, as the provider reported it; null: it reported none. */
    tax_units: orNull(wholeNumber),
    /** The buyer on its receipt, as JSON: a `ReceiptBuyer`; null until it is credited. */
    buyer_json: orNull(text),
  },
})

/** Credit that an account buys. */
export type PurchaseRow = RowOf<typeof PURCHASES>

/**
 * The last number of the receipts, in one row. Purchases take numbers in the transaction that credits them, so that
 * there are no gaps.
 */
export const RECEIPT_NUMBERS = new Table('receipt_numbers', {
  key: ['id'],
  fixed: { id: text },
  moving: { last_number: integer },
})

/** Pages on which play money is paid for credit, while the simulator is the provider. */
export const PLAY_CHECKOUTS = new Table('play_checkouts', {
  key: ['id'],
  fixed: {
    /** The ID of the purchase. */
    id: text,
    cents: integer,
    state: oneOf(['open', 'paid', 'expired'] as const),
    expires_at_ms: integer,
  },
})

/** How far the watcher of a source of payments has looked. */
export const SALE_CURSORS = new Table('sale_cursors', {
  key: ['source'],
  fixed: {
    /** `stripe`, or `chain:<chain id>`; `chain:<chain id>:range` has how many blocks nodes answer at a time. */
    source: text,
    /** The number of the last block that was looked at, or the time of the last event, as the source counts. */
    position: text,
    /** The hash of that block; null if the source has no blocks. */
    block_hash: orNull(text),
    looked_at_ms: integer,
  },
})

/** How far the watcher of a source of payments has looked. */
export type SaleCursorRow = RowOf<typeof SALE_CURSORS>

/**
 * The addresses to which accounts pay on a chain, of a key that the gateway does not have. Each row is durable before
 * it is shown.
 */
export const DEPOSIT_ADDRESSES = new Table('deposit_addresses', {
  key: ['chain_id', 'address'],
  fixed: {
    chain_id: integer,
    /** In lower case. */
    address: text,
    /** An account gets another address once the operator has set another public key. */
    account_id: text,
    created_at_ms: integer,
  },
})

/** The rates of the tokens for payments. A row is written only while nodes agree on it. */
export const TOKEN_RATES = new Table('token_rates', {
  key: ['chain_id', 'token'],
  fixed: {
    chain_id: integer,
    /** The address of its contract, in lower case. */
    token: text,
  },
  moving: {
    /** Dollars for one token, times 10^8. */
    rate8: integer,
    /** The time that the price feed gives. */
    feed_at_ms: integer,
    read_at_ms: integer,
  },
})

/** Deposits in blocks that are not final: shown, and worth nothing yet. Each look replaces them. */
export const CONFIRMING_DEPOSITS = new Table('confirming_deposits', {
  key: ['chain_id', 'tx_hash', 'log_index'],
  fixed: {
    chain_id: integer,
    tx_hash: text,
    /** The number of its log in its block. */
    log_index: integer,
    account_id: text,
    /** The id of the method on sale. */
    method: text,
    block: integer,
    currency: text,
    units: wholeNumber,
    credit_micros: amount,
    /** When the latest look found it. */
    seen_at_ms: integer,
  },
})

/** The tables of the sale other than purchases. */
export const SALE_TABLES = [
  RECEIPT_NUMBERS,
  PLAY_CHECKOUTS,
  SALE_CURSORS,
  DEPOSIT_ADDRESSES,
  TOKEN_RATES,
  CONFIRMING_DEPOSITS,
] as const
