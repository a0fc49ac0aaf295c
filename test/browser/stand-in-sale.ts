import type { Entry, Purchase } from '../../web/api/answers.ts'
import type { Answer } from '../../web/api/calls.ts'
import type { ListedPurchase } from '../../web/api/operator.ts'
import type { Receipt, SaleMethod } from '../../web/api/sale.ts'
import { entry } from './stand-in-credit.ts'
import { ago, HELIX } from './stand-in-data.ts'
import { ACCOUNTS } from './stand-in-operator.ts'

/** The offers of the busy account's gateway, and the purchases. */

/** By card, and with tokens on a chain. */
export const METHODS: readonly SaleMethod[] = [
  {
    id: 'card',
    kind: 'card',
    currency: 'usd',
    minimum: 5_000_000,
    maximum: 500_000_000,
    fee_bps: 0,
    available: true,
  },
  {
    id: 'base-usdc',
    kind: 'deposit',
    chain_id: 8453,
    token: 'USDC',
    token_address: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    decimals: 6,
    confirm: 'finalized',
    minimum: 1_000_000,
    fee_bps: 0,
    available: true,
  },
]

/** `GET /v1/credit`. */
export const OFFERS = { object: 'credit_sale', methods: METHODS }

/** `GET /v1/credit/quote`, of $25. */
export const QUOTE: Answer<'getCreditQuote', 'anyone'> = {
  object: 'credit_quote',
  method: 'card',
  credit: 25_000_000,
  pay: { currency: 'usd', amount: '25.00', units: '2500' },
  rate: '1',
  fee_bps: 0,
  as_of: ago(1_000),
  binding: false,
}

const ADDRESS = '0x9C4e2a7bD15F0c83a6E1c2B7f5D840dA9b13E6f2'

/** The address of the account. */
export const DEPOSIT = {
  deposit: {
    address: ADDRESS,
    chain_id: 8453,
    token: 'USDC',
    token_address: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    minimum: 1_000_000,
    uri: `ethereum:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913@8453/transfer?address=${ADDRESS}`,
  },
} satisfies Answer<'createPurchase', 'member'>

/** The id of a purchase that was credited. */
export const BOUGHT_ID = 'pur_01kbh0c7x5qv3m9t2r8w6e0003'

function purchase(place: number, fields: Partial<Purchase>): Purchase {
  return {
    id: `pur_01kbh0c7x5qv3m9t2r8w6e000${place}`,
    object: 'purchase',
    method: 'card',
    state: 'open',
    credit: 50_000_000,
    reversal: null,
    reversed: 0,
    paid: null,
    transaction: null,
    created_at: ago(600_000),
    credited_at: null,
    ...fields,
  }
}

const CREDITED = {
  state: 'credited',
  credit: 25_000_000,
  paid: { currency: 'usd', units: '2500', decimals: 2 },
  created_at: ago(30 * 86_400_000),
  credited_at: ago(30 * 86_400_000),
} as const satisfies Partial<Purchase>

/** The entries of its owner's purchases. */
export const PURCHASES: readonly Entry[] = [
  entry(12, { amount: 150_000_000, reference: 'invoice-1042' }),
  entry(4, {
    kind: 'purchase',
    amount: 25_000_000,
    reference: BOUGHT_ID,
    created_at: ago(30 * 86_400_000),
  }),
  entry(3, {
    kind: 'activation',
    amount: 25_000_000,
    reference: 'code_01kbh0c7x5qv3m9t2r8w6e0003',
    created_at: ago(40 * 86_400_000),
  }),
]

/** Purchases that may still become credit. */
export const PENDING: readonly Purchase[] = [
  purchase(4, {}),
  purchase(5, {
    state: 'held',
    credit: 900_000_000,
    paid: { currency: 'usd', units: '90000', decimals: 2 },
    created_at: ago(7_200_000),
  }),
]

/** A page to pay on. */
export function begunAt(url: string): Answer<'createPurchase', 'member'> {
  return { purchase: purchase(6, { credit: 25_000_000 }), url, expires_at: ago(-1_800_000) }
}

/** The receipt of the credited purchase. */
export const RECEIPT: Receipt = {
  object: 'receipt',
  number: 'R-2026-0118',
  fee: 1_250_000,
  tax: { currency: 'usd', units: '499', decimals: 2 },
  reference: 'pi_3Qm7x2Kf8',
  purchase: purchase(3, { ...CREDITED, paid: { currency: 'usd', units: '3124', decimals: 2 } }),
  reversals: [],
  seller: { name: 'Tidewater Compute GmbH', tax_id: 'DE 318 204 517' },
  account: { id: HELIX.id, name: HELIX.name, email: HELIX.email },
  buyer: {
    name: 'Helix Lab GmbH',
    address: 'Kai 3, 20457 Hamburg, Germany',
    tax_id: 'DE 811 907 301',
    email: HELIX.email,
  },
}

/** The billing details of the account. */
export const BILLING: Answer<'getBilling', 'member'> = {
  object: 'billing',
  billing: { name: 'Helix Lab GmbH', address: RECEIPT.buyer.address, tax_id: null },
}

/** `RECEIPT` after a refund of $10. */
export const REFUNDED_RECEIPT: Receipt = {
  ...RECEIPT,
  purchase: { ...RECEIPT.purchase, reversal: 'partly_refunded', reversed: 8_002_561 },
  reversals: [
    {
      amount: -8_002_561,
      paid: { currency: 'usd', units: '-1000', decimals: 2 },
      cause: 'refund',
      created_at: ago(20 * 86_400_000),
    },
  ],
}

function held(place: number, fields: Partial<ListedPurchase>): ListedPurchase {
  return {
    ...purchase(place, { state: 'held', paid: { currency: 'usd', units: '90000', decimals: 2 } }),
    account_id: HELIX.id,
    account_name: HELIX.name,
    source: `stripe:cs_live_b1xT${place}`,
    payment_ref: `pi_3Qm7x2Kf${place}`,
    note: null,
    expires_at: null,
    receipt_number: null,
    ...fields,
  }
}

const DEPOSIT_HASH = `0x${'5f21c08e0b7d94c6'.repeat(4)}`

/** Purchases that operators decide about, newest first. */
export const HELD: readonly ListedPurchase[] = [
  held(5, {
    credit: 900_000_000,
    paid: { currency: 'usd', units: '89000', decimals: 2 },
    created_at: ago(7_200_000),
    note: 'asked for $900.00, paid $890.00',
  }),
  held(7, {
    method: 'base-usdc',
    state: 'below_minimum',
    credit: 400_000,
    paid: { currency: 'USDC', units: '400000', decimals: 6 },
    account_id: ACCOUNTS[1]?.id ?? '',
    account_name: ACCOUNTS[1]?.name ?? '',
    source: `chain:8453:${DEPOSIT_HASH}:3`,
    transaction: { chain_id: 8453, hash: DEPOSIT_HASH },
    payment_ref: null,
    created_at: ago(86_400_000),
  }),
]

/** Refunded and disputed purchases, newest first: one of them is on hold. */
export const REVERSED: readonly ListedPurchase[] = [
  held(9, { credit: 900_000_000, reversal: 'disputed', note: 'asked for $900.00, paid $890.00' }),
  held(8, {
    ...CREDITED,
    credit: 100_000_000,
    paid: { currency: 'usd', units: '10000', decimals: 2 },
    reversal: 'disputed',
    reversed: 100_000_000,
  }),
  held(3, { ...CREDITED, reversal: 'partly_refunded', reversed: 8_002_561 }),
  held(2, { ...CREDITED, reversal: 'refunded', reversed: 25_000_000 }),
]
