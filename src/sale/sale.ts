import type { Kysely } from 'kysely'
import type { Ledger } from '../ledger/ledger.ts'
import type { OperatorAction } from '../ledger/operator-actions.ts'
import { findPurchase, listOpen } from '../ledger/purchases.ts'
import type { PurchaseRow } from '../store/sale-tables.ts'
import type { Tables } from '../store/schema.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import type { Clock } from '../vocabulary/clock.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import { type Micros, micros } from '../vocabulary/money.ts'
import { type ExchangeTerms, type PurchaseFact, unitsFor } from '../vocabulary/purchase.ts'
import type { CardFact, CardProvider } from './card/provider.ts'

/** How credit is sold by card. */
export const CARD_OFFER = {
  id: 'card',
  currency: 'usd',
  minimumMicros: micros(5_000_000),
  maximumMicros: micros(500_000_000),
  terms: { decimals: 2, rate8: 100_000_000n, feeBps: 0 } satisfies ExchangeTerms,
} as const

/** So many payments an account may have open; beginnings at several gateways at once may add some. */
const OPEN_PURCHASES_MAX = 5

// A look that changed something is followed by another, so that the last one is newer than every change.
const LOOKS_MAX = 10

/** A purchase after its provider was looked at. */
interface Looked {
  readonly purchase: PurchaseRow
  /** Whether the look has changed it. */
  readonly isChanged: boolean
}

/** A purchase that has begun, or when the account may begin the next. */
type Begun =
  | { readonly kind: 'begun'; readonly purchase: PurchaseRow; readonly url: string }
  | { readonly kind: 'tooManyOpen'; readonly nextAtMs: number }
  | { readonly kind: 'unknownAccount' }

interface SaleInput {
  readonly card: CardProvider
  readonly db: Kysely<Tables>
  readonly ledger: Pick<Ledger, 'postPurchase'>
  readonly ids: IdSource
  readonly clock: Clock
  /** Called when the credit of an account has changed. */
  readonly onCreditChanged: (accountId: string) => Promise<void>
}

/** The sale of credit: begins payments, and looks at them. */
export class Sale {
  readonly #input: SaleInput
  /** The latest beginning of each account, so that those of one account follow each other. */
  readonly #beginnings = new Map<string, Promise<unknown>>()

  constructor(input: SaleInput) {
    this.#input = input
  }

  /** Begins a purchase by card. Its row is durable before anybody sees its page. */
  async begin(asked: {
    readonly accountId: string
    readonly creditMicros: Micros
  }): Promise<Begun> {
    const { accountId } = asked
    const earlier = this.#beginnings.get(accountId) ?? Promise.resolve()
    const beginning = earlier.then(() => this.#begin(asked))
    const settled = beginning.catch(() => {})
    this.#beginnings.set(accountId, settled)
    try {
      return await beginning
    } finally {
      if (this.#beginnings.get(accountId) === settled) this.#beginnings.delete(accountId)
    }
  }

  async #begin({ accountId, creditMicros }: Parameters<Sale['begin']>[0]): Promise<Begun> {
    const { card, db, ledger, ids, clock } = this.#input
    const nowMs = clock.nowMs()
    const expiries = (await listOpen(db, accountId)).flatMap(({ expiresAtMs }) =>
      expiresAtMs !== null && expiresAtMs > nowMs ? [expiresAtMs] : [],
    )
    if (expiries.length >= OPEN_PURCHASES_MAX) {
      return { kind: 'tooManyOpen', nextAtMs: Math.min(...expiries) }
    }
    const purchaseId = ids.next('pur')
    const cents = unitsFor(creditMicros, CARD_OFFER.terms)
    const { source, url, expiresAtMs } = await card.begin({ purchaseId, cents })
    const verdict = await ledger.postPurchase({
      id: purchaseId,
      accountId,
      method: CARD_OFFER.id,
      source,
      creditMicros,
      seenReversals: 0,
      fact: { kind: 'open', expiresAtMs },
      approved: false,
    })
    switch (verdict.kind) {
      case 'posted':
      case 'unchanged':
        return { kind: 'begun', purchase: verdict.purchase, url }
      case 'unknownAccount':
        return verdict
      case 'stale':
      case 'conflict':
        throw new Error(`the provider has named a new payment as an earlier one: ${source}`)
      default:
        return assertNever(verdict)
    }
  }

  /**
   * Looks at a purchase until nothing changes any more. Null: no provider here has it. Throws where the provider
   * contradicts what was credited; nothing is changed then.
   */
  look(source: string): Promise<Looked | null> {
    return this.#look(source, null)
  }

  /** As `look`, and credits what is paid of a purchase that is held or below the minimum. */
  approve(source: string, by: OperatorAction | null): Promise<Looked | null> {
    return this.#look(source, { by })
  }

  async #look(
    source: string,
    approval: { readonly by: OperatorAction | null } | null,
  ): Promise<Looked | null> {
    const { card, db, ledger, onCreditChanged } = this.#input
    if (!card.has(source)) return null
    let isChanged = false
    for (let looks = 1; looks <= LOOKS_MAX; looks++) {
      // Read before the look, so that a reversal which is posted meanwhile makes this one stale.
      const row = await findPurchase(db, source)
      if (row === null) return null
      const fact = purchaseFactOf(await card.look(source), row)
      // Decided once: what a later look finds is posted as any other.
      const decision = isChanged ? null : approval
      const verdict = await ledger.postPurchase(
        { ...row, seenReversals: row.reversals, fact, approved: decision !== null },
        decision?.by ?? null,
      )
      switch (verdict.kind) {
        case 'posted':
          isChanged = true
          if (verdict.purchase.state === 'credited') await onCreditChanged(row.accountId)
          break
        case 'stale':
          break
        case 'unchanged':
          return { purchase: verdict.purchase, isChanged }
        case 'conflict':
        case 'unknownAccount':
          throw new Error(`a look at ${source} contradicts its purchase`)
        default:
          return assertNever(verdict)
      }
    }
    throw new Error(`${source} changed at each of ${LOOKS_MAX} looks`)
  }
}

/** What the totals of a payment mean for a purchase: only what was paid as asked becomes credit by itself. */
function purchaseFactOf(fact: CardFact, row: PurchaseRow): PurchaseFact {
  switch (fact.kind) {
    case 'open':
      return { kind: 'open', expiresAtMs: row.expiresAtMs }
    case 'expired':
      return { kind: 'expired' }
    case 'paid': {
      const { currency, units } = fact.paid
      const cents = unitsFor(row.creditMicros, CARD_OFFER.terms)
      if (currency === CARD_OFFER.currency && units === cents) {
        return { ...fact, judgment: { kind: 'credit' } }
      }
      const reason = `asked for ${cents} ${CARD_OFFER.currency}, paid ${units} ${currency} (smallest units)`
      return { ...fact, judgment: { kind: 'hold', reason } }
    }
    default:
      return assertNever(fact)
  }
}
