import { divCeil, MICROS_PER_CENT, type Micros, micros } from './money.ts'

/** How far a purchase of credit has come. */
export type PurchaseState = (typeof PURCHASE_STATES)[number]

/** Every state of a purchase. */
export const PURCHASE_STATES = [
  /** It can be paid, and is not. */
  'open',
  /** Its credit was added. Refunds and disputes remove credit, and the state stays. */
  'credited',
  /** It was closed unpaid. */
  'expired',
  /** Paid, but not as asked or above a ceiling: an admin decides. */
  'held',
  /** The payment is below the minimum. */
  'below_minimum',
  /** It was held, and an admin has decided against its credit. */
  'dismissed',
] as const

/** The states in which a purchase may still become credit; an account sees it as pending. */
export const PENDING_STATES = [
  'open',
  'held',
  'below_minimum',
] as const satisfies readonly PurchaseState[]

/** The effect of refunds and disputes on a payment. */
export type Reversal = (typeof REVERSALS)[number]

/** The effects that refunds and disputes have on a payment. */
export const REVERSALS = [
  /** Everything that was paid is refunded. */
  'refunded',
  /** A part of it is refunded. */
  'partly_refunded',
  /** A dispute of it is open. */
  'disputed',
  /** A dispute of it is lost, and none is open. */
  'dispute_lost',
  /** A dispute of it is won, and nothing is refunded. */
  'dispute_won',
] as const

/** The state of the disputes of a payment. */
export type Dispute = (typeof DISPUTES)[number]

/** The states of disputes, in the order in which one outranks another of the same payment. */
export const DISPUTES = [
  /** The bank has not decided: the payment is taken back for now. */
  'open',
  /** The bank has decided for the cardholder: the payment is gone. */
  'lost',
  /** The bank has decided for the seller, or the dispute was prevented. */
  'won',
] as const

/**
 * The effect of refunds and disputes on a purchase; null: none. A dispute that is open or lost outranks a refund of the
 * same payment, and a refund outranks a won dispute.
 */
export function reversalOf({
  creditMicros,
  reversedMicros,
  dispute,
}: {
  readonly creditMicros: Micros
  readonly reversedMicros: Micros
  readonly dispute: Dispute | null
}): Reversal | null {
  if (dispute === 'open') return 'disputed'
  if (dispute === 'lost') return 'dispute_lost'
  if (reversedMicros === 0) return dispute === 'won' ? 'dispute_won' : null
  return reversedMicros < creditMicros ? 'partly_refunded' : 'refunded'
}

/** Whether a dispute takes the payment back: it is open or lost. */
export function takesBack(dispute: Dispute | null): boolean {
  return dispute === 'open' || dispute === 'lost'
}

/** The cause of a change of a purchase's credit after it was added. */
export type ReversalCause = (typeof REVERSAL_CAUSES)[number]

/** The causes of such changes. */
export const REVERSAL_CAUSES = ['refund', 'refund_failed', 'dispute', 'dispute_won'] as const

/** The purchase of the reference of its entry, such as `pur_…` or `pur_…:2:dispute`. */
export function purchaseIdOf(reference: string): string {
  const [purchaseId = ''] = reference.split(':', 1)
  return purchaseId
}

/** The cause in the reference of a reversal; null: unknown. */
export function reversalCauseOf(reference: string): ReversalCause | null {
  const [, , cause] = reference.split(':')
  return REVERSAL_CAUSES.find((one) => one === cause) ?? null
}

/**
 * The reference of a reversal: `pur_…:2:dispute`, and `pur_…:2` where the cause is not known. By position: the purchase;
 * which of its reversals it is, counted from 1, and its cause.
 */
export function reversalReference(
  purchaseId: string,
  { place, cause }: { readonly place: number; readonly cause: ReversalCause | null },
): string {
  return [purchaseId, place, ...(cause === null ? [] : [cause])].join(':')
}

/** Every reference that a reversal can have. By position: as in {@link reversalReference}. */
export function reversalReferences(purchaseId: string, place: number): readonly string[] {
  return [null, ...REVERSAL_CAUSES].map((cause) => reversalReference(purchaseId, { place, cause }))
}

/** The truth about a purchase, as one look at its provider or chain found it. */
export type PurchaseFact =
  | {
      readonly kind: 'open'
      /** When it can no longer be paid; null: never. */
      readonly expiresAtMs: number | null
    }
  | { readonly kind: 'expired' }
  | {
      readonly kind: 'paid'
      /** All that was paid, in the smallest unit of a currency or token: cents, or a millionth of a USDC. */
      readonly paid: {
        /** Such as `usd` or `USDC`. */
        readonly currency: string
        readonly units: bigint
      }
      /** The tax in the payment, in the same units; absent: the provider reports none. */
      readonly taxUnits?: bigint
      /** All that refunds and disputes returned by now, of the units that were paid. */
      readonly reversedUnits: bigint
      /** The provider's name of the payment, by which it reports refunds and disputes; null: none. */
      readonly paymentRef: string | null
      /** Null: it was never disputed. */
      readonly dispute: Dispute | null
      readonly judgment: PaymentJudgment
    }

/** The credit that a payment buys, if it is not credited yet. */
export type PaymentJudgment =
  | { readonly kind: 'credit' }
  | {
      readonly kind: 'hold'
      /** Why an admin has to decide. */
      readonly reason: string
      /** The most credit that an approval adds; null: it can't be approved, such as a payment in another currency. */
      readonly worthMicros: Micros | null
    }
  | { readonly kind: 'below_minimum' }

/** How payments of a currency or token become credit. */
export interface ExchangeTerms {
  /** How many decimal places a unit is behind one of the currency: 2 for cents. */
  readonly decimals: number
  /** Dollars for one of the currency, times 10^8. Above one dollar it counts as one. */
  readonly rate8: bigint
  /** The gateway's part, in hundredths of a percent. */
  readonly feeBps: number
}

const MICROS_DECIMALS = 6n
/** The rate of a currency whose unit is a dollar; see {@link ExchangeTerms}. */
export const ONE_DOLLAR_8 = 100_000_000n
const ALL_BPS = 10_000n

/** A rate as it counts: at most a dollar. */
export function countedRate(rate8: bigint): bigint {
  return rate8 < ONE_DOLLAR_8 ? rate8 : ONE_DOLLAR_8
}

/**
 * The credit for so many units, rounded down to a micro-dollar; null if it is more than an account can
 * have. Throws RangeError for impossible units or terms.
 */
export function creditOf(units: bigint, terms: ExchangeTerms): Micros | null {
  if (units < 0n) throw new RangeError(`a payment is not negative: ${units}`)
  const { over, under } = creditPerUnit(terms)
  const credited = (units * over) / under
  return credited > BigInt(Number.MAX_SAFE_INTEGER) ? null : micros(Number(credited))
}

/** The fewest units that buy at least this credit. Throws RangeError for impossible terms. */
export function unitsFor(creditMicros: Micros, terms: ExchangeTerms): bigint {
  const { over, under } = creditPerUnit(terms)
  return divCeil(BigInt(creditMicros) * under, over)
}

/** The part of a payment that is neither credit nor tax; null: it was not in dollars, so that its rate is not known. */
export function feeOf({
  creditMicros,
  paid,
  taxUnits,
}: {
  readonly creditMicros: Micros
  readonly paid: { readonly paidCurrency: string; readonly paidUnits: bigint } | null
  readonly taxUnits: bigint | null
}): Micros | null {
  if (paid?.paidCurrency !== 'usd') return null
  const netCents = Number(paid.paidUnits - (taxUnits ?? 0n))
  return micros(Math.max(0, netCents * MICROS_PER_CENT - creditMicros))
}

/** The number of a receipt as a person reads it, with the UTC year in which its purchase was credited: `R-2026-0118`. */
export function receiptNumberText({
  receiptNumber,
  creditedAtMs,
}: {
  readonly receiptNumber: number
  readonly creditedAtMs: number
}): string {
  const year = new Date(creditedAtMs).getUTCFullYear()
  return `R-${year}-${String(receiptNumber).padStart(4, '0')}`
}

/** Units as a person writes the currency: `10.00` for 1000 cents. */
export function formatUnits(units: bigint, decimals: number): string {
  if (decimals === 0) return String(units)
  const digits = String(units).padStart(decimals + 1, '0')
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

// On the chains below.
const USUAL_DECIMALS: Readonly<Partial<Record<string, number>>> = {
  usd: 2,
  USDC: 6,
  USDT: 6,
  EURC: 6,
  PYUSD: 6,
  DAI: 18,
}

/** The decimal places of tokens on sale, by the IDs of their methods. */
export type TokenDecimals = ReadonlyMap<string, number>

/** How many decimal places a currency has; null: not known. */
export function usualDecimals(currency: string): number | null {
  return USUAL_DECIMALS[currency] ?? null
}

// Not `bsc`: USDC and USDT have 18 decimals there. Not a chain without a name: its tokens are not known.
const USUAL_CHAIN = /^(?:ethereum|optimism|gnosis|polygon|base|arbitrum|avalanche)-/

/**
 * How many decimal places a currency has in payments by a method; null: not known, for example of a token of BNB Smart
 * Chain that is no longer on sale.
 */
export function decimalsOf(
  { method, currency }: { readonly method: string; readonly currency: string },
  tokens: TokenDecimals,
): number | null {
  const known = tokens.get(method)
  if (known !== undefined) return known
  return currency === 'usd' || USUAL_CHAIN.test(method) ? usualDecimals(currency) : null
}

/** An amount of a currency, in its smallest unit. */
export interface PaidUnits {
  readonly currency: string
  readonly units: string
  /** How many decimal places the currency has; null: not known. */
  readonly decimals: number | null
}

/** A payment in a token, not below zero: `12.50 USDC`, and `3 units of XYZ` if its decimals are not known. */
export function tokenText({ currency, units, decimals }: PaidUnits): string {
  if (decimals === null) return `${units} units of ${currency}`
  if (decimals === 0) return `${units} ${currency}`
  const digits = units.padStart(decimals + 1, '0')
  const fraction = digits.slice(-decimals).replace(/0+$/, '').padEnd(2, '0')
  return `${digits.slice(0, -decimals)}.${fraction} ${currency}`
}

/** Micro-dollars of credit for one unit, as an exact fraction above zero. */
function creditPerUnit({ decimals, rate8, feeBps }: ExchangeTerms): {
  readonly over: bigint
  readonly under: bigint
} {
  const rest = ALL_BPS - BigInt(feeBps)
  if (rate8 <= 0n || rest <= 0n || rest > ALL_BPS) {
    throw new RangeError(`no payment becomes credit at a rate of ${rate8} and a fee of ${feeBps}`)
  }
  const counted = countedRate(rate8)
  return {
    over: 10n ** MICROS_DECIMALS * counted * rest,
    under: 10n ** BigInt(decimals) * ONE_DOLLAR_8 * ALL_BPS,
  }
}

/**
 * The part of a purchase's credit that goes with the units that went back: in proportion, rounded up to a
 * micro-dollar; all of it once all units are back. Throws RangeError for impossible totals.
 */
export function reversedCredit({
  creditMicros,
  paidUnits,
  reversedUnits,
}: {
  readonly creditMicros: Micros
  readonly paidUnits: bigint
  readonly reversedUnits: bigint
}): Micros {
  if (paidUnits <= 0n || reversedUnits < 0n) {
    throw new RangeError(`${reversedUnits} of ${paidUnits} units cannot go back`)
  }
  if (reversedUnits >= paidUnits) return creditMicros
  return micros(Number(divCeil(BigInt(creditMicros) * reversedUnits, paidUnits)))
}

/**
 * The units of a payment that belong to a removed part of its credit, rounded down. If a unit buys at least a
 * micro-dollar, this is the exact inverse of `reversedCredit`.
 */
export function reversedUnits({
  creditMicros,
  paidUnits,
  reversedMicros,
}: {
  readonly creditMicros: Micros
  readonly paidUnits: bigint
  readonly reversedMicros: Micros
}): bigint {
  return (BigInt(reversedMicros) * paidUnits) / BigInt(creditMicros)
}
