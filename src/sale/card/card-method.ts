import type { PurchaseRow } from '../../store/sale-tables.ts'
import { assertNever } from '../../vocabulary/assert-never.ts'
import { type Micros, micros } from '../../vocabulary/money.ts'
import {
  type ExchangeTerms,
  formatUnits,
  ONE_DOLLAR_8,
  type PurchaseFact,
  unitsFor,
} from '../../vocabulary/purchase.ts'
import type { CardFact, CardPayment, CardProvider } from './provider.ts'

const CURRENCY = 'usd'

/** A provider, and the bounds of one purchase. */
export interface CardMethodInput {
  readonly provider: CardProvider
  readonly minimumMicros: Micros
  readonly maximumMicros: Micros
  /** The gateway's part, in hundredths of a percent: it is added to the price. */
  readonly feeBps: number
}

/** The sale of credit by card: an amount is asked for, and paid on a page of a provider. */
export class CardMethod {
  readonly kind = 'card'
  readonly id = 'card'
  readonly currency = CURRENCY
  readonly minimumMicros: Micros
  readonly maximumMicros: Micros
  readonly terms: ExchangeTerms
  readonly provider: CardProvider

  constructor({ provider, minimumMicros, maximumMicros, feeBps }: CardMethodInput) {
    this.minimumMicros = minimumMicros
    this.maximumMicros = maximumMicros
    this.terms = { decimals: 2, rate8: ONE_DOLLAR_8, feeBps }
    this.provider = provider
  }

  get feeBps(): number {
    return this.terms.feeBps
  }

  /** Whether its provider has the payment of a source. */
  has(source: string): boolean {
    return source.startsWith(`${this.provider.name}:`)
  }

  /** Makes a page to pay on. Rejects with `PaymentUnavailable`. */
  async begin(asked: {
    readonly purchaseId: string
    readonly accountId: string
    readonly creditMicros: Micros
  }) {
    const cents = unitsFor(asked.creditMicros, this.terms)
    return { ...(await this.provider.begin({ ...asked, cents })), priceUnits: cents }
  }

  /** The present state of a purchase at its provider. Rejects with `PaymentUnavailable`. */
  async look(row: PurchaseRow): Promise<PurchaseFact> {
    return factOf(asRecorded(await this.provider.look(row), row), row)
  }

  /** Looks at a payment without a row in the store: once it is paid, an admin decides. */
  async lookAtUnknown({
    purchaseId: id,
    source,
    creditMicros,
  }: CardPayment): Promise<PurchaseFact> {
    const fact = await this.provider.look({ id, source })
    if (fact.kind !== 'paid') return { kind: 'expired' }
    const { netUnits: _, doubt, ...paid } = fact
    const reason = doubt === null ? UNKNOWN : `${UNKNOWN}; ${doubt}`
    return { ...paid, judgment: { kind: 'hold', reason, worthMicros: creditMicros } }
  }
}

const UNKNOWN =
  'the store had no record of this payment when it was found: perhaps a backup was restored'

/**
 * Version 0.2.0 recorded each payment in the currency of its price, also where the charge was in another one: what was
 * credited so has to stay the same payment, or no refund of it would remove credit.
 */
function asRecorded(fact: CardFact, { state, paid }: PurchaseRow): CardFact {
  if (fact.kind !== 'paid' || state !== 'credited' || paid?.paidCurrency !== CURRENCY) return fact
  return { ...fact, paid: { ...fact.paid, currency: CURRENCY } }
}

/** Judges a purchase by the totals of its payment: only a payment as asked becomes credit automatically. */
function factOf(fact: CardFact, row: PurchaseRow): PurchaseFact {
  switch (fact.kind) {
    case 'open':
      return { kind: 'open', expiresAtMs: row.expiresAtMs }
    case 'expired':
      return { kind: 'expired' }
    case 'paid': {
      const { netUnits, doubt, ...paid } = fact
      const { currency, units } = paid.paid
      const asked = row.priceUnits
      if (doubt === null && currency === CURRENCY && netUnits === asked) {
        return { ...paid, judgment: { kind: 'credit' } }
      }
      const isUsd = currency === CURRENCY
      const paidText = isUsd ? usdText(units) : `${units} in the smallest unit of ${currency}`
      const askedText = asked === null ? 'an unknown price' : usdText(asked)
      const netText = isUsd && netUnits !== units ? `, ${usdText(netUnits)} of it for credit` : ''
      const reason = doubt ?? `asked for ${askedText}, paid ${paidText}${netText}`
      const worthMicros = isUsd ? worthOf({ ...row, netUnits }) : null
      return { ...paid, judgment: { kind: 'hold', reason, worthMicros } }
    }
    default:
      return assertNever(fact)
  }
}

/** The credit in proportion to the paid part of the price, at most all of it; null: nothing was asked or paid. */
function worthOf({
  creditMicros,
  priceUnits,
  netUnits,
}: Pick<PurchaseRow, 'creditMicros' | 'priceUnits'> & {
  readonly netUnits: bigint
}): Micros | null {
  if (priceUnits === null || priceUnits <= 0n || netUnits <= 0n) return null
  if (netUnits >= priceUnits) return creditMicros
  return micros(Number((BigInt(creditMicros) * netUnits) / priceUnits))
}

/** `$25.00`, from cents. */
function usdText(cents: bigint): string {
  return `$${formatUnits(cents, 2)}`
}
