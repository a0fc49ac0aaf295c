import { tokenText } from '../../../src/vocabulary/purchase.ts'
import type { Purchase } from '../../api/answers.ts'
import { CENT_MICROS, money } from '../../format/money.ts'

type Reversal = NonNullable<Purchase['reversal']>

interface StateWords {
  readonly word: string
  readonly tone: 'good' | 'wait' | 'bad' | 'info' | 'off'
}

const WORDS: Readonly<Partial<Record<string, StateWords>>> = {
  open: { word: 'Not paid yet', tone: 'info' },
  confirming: { word: 'Confirming', tone: 'info' },
  credited: { word: 'Credited', tone: 'good' },
  expired: { word: 'Expired', tone: 'off' },
  held: { word: 'Paid, being checked', tone: 'wait' },
  below_minimum: { word: 'Too small', tone: 'wait' },
  dismissed: { word: 'Dismissed', tone: 'off' },
}

/** A purchase's state as a word with its tone. */
export function purchaseWords({
  state,
  reversal,
}: {
  readonly state: string
  readonly reversal: Reversal | null
}): StateWords {
  if (state === 'credited' && reversal !== null) return REVERSAL_WORDS[reversal]
  return WORDS[state] ?? { word: state, tone: 'info' }
}

/** The next step of a pending purchase, by its state, for its account. */
export const NEXT_STEPS: Readonly<Partial<Record<string, string>>> = {
  open: 'It becomes credit as soon as it is paid.',
  confirming: 'It becomes credit once its block is final.',
  held: 'The operator is checking this payment. No action is needed.',
  below_minimum: 'It is below the minimum. The operator decides whether it is credited.',
}

/** An open purchase whose buyer has come back from its payment page. */
export const CHECKED = {
  word: 'Checking the payment',
  tone: 'info',
  step: 'A payment usually becomes credit within a minute. Do not pay again.',
} as const

/** The words of a purchase that was refunded or disputed. */
export const REVERSAL_WORDS: Readonly<Record<Reversal, StateWords>> = {
  refunded: { word: 'Refunded', tone: 'off' },
  partly_refunded: { word: 'Partly refunded', tone: 'off' },
  disputed: { word: 'Disputed', tone: 'bad' },
  dispute_lost: { word: 'Dispute lost', tone: 'off' },
  dispute_won: { word: 'Dispute won', tone: 'good' },
}

const CHAINS: Readonly<Partial<Record<number, string>>> = {
  1: 'Ethereum',
  10: 'Optimism',
  56: 'BNB Smart Chain',
  100: 'Gnosis',
  137: 'Polygon',
  8453: 'Base',
  42161: 'Arbitrum One',
  43114: 'Avalanche',
}

/** The name of a chain, by its id. */
export function chainName(chainId: number): string {
  return CHAINS[chainId] ?? `chain ${chainId}`
}

/** The name of a token on its chain: `USDC on Base`. */
export function tokenName(token: string, chainId: number): string {
  return `${token} on ${chainName(chainId)}`
}

type Payment = Pick<Purchase, 'method' | 'paid' | 'transaction'>

/** How a purchase is paid: `Card`, `USDC on Base`. */
export function methodName({ method, paid, transaction }: Payment): string {
  if (paid === null || transaction === null) return method === 'card' ? 'Card' : method
  return tokenName(paid.currency, transaction.chain_id)
}

/** The method after an amount: `by card`, `with USDC on Base`. */
export function byMethod(payment: Payment): string {
  return payment.method === 'card' ? 'by card' : `with ${methodName(payment)}`
}

/** The payment, in its currency: `$25.00`, `12.5 USDC`, and a refund `−$5.00`. */
export function paidText(paid: NonNullable<Purchase['paid']>): string {
  const { currency, units } = paid
  if (currency === 'usd') return money(Number(units) * CENT_MICROS)
  // A line is not broken between the sign and its amount.
  if (units.startsWith('-')) return `−\u2060${paidText({ ...paid, units: units.slice(1) })}`
  return tokenText(paid)
}
