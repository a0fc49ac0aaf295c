import type { Kysely } from 'kysely'
import { findPurchase } from '../ledger/purchases.ts'
import type { PurchaseRow } from '../store/sale-tables.ts'
import type { Tables } from '../store/schema.ts'
import { showMicros } from '../vocabulary/money.ts'
import { type PurchaseFact, reversedCredit } from '../vocabulary/purchase.ts'
import type { CardMethod } from './card/card-method.ts'

/** A payment of which the store says something else than its provider. */
export interface PaymentDifference {
  readonly source: string
  readonly stored: string
  readonly found: string
}

/** The parts of a comparison of payments. */
export interface CheckInput<Method> {
  readonly db: Kysely<Tables>
  readonly method: Method
  /** Payments that began earlier are left out. */
  readonly sinceMs: number
  /** Called with the number of payments so far. */
  readonly onChecked: (payments: number) => void
}

/** The result of a comparison. */
export interface Checked {
  readonly checked: number
  readonly differences: readonly PaymentDifference[]
}

/**
 * Compares the payments that this store began since a moment, as their provider has them, with the store. Changes
 * nothing. Rejects with `PaymentUnavailable`.
 */
export async function checkCards({
  db,
  method,
  sinceMs,
  onChecked,
}: CheckInput<CardMethod>): Promise<Checked> {
  const differences: PaymentDifference[] = []
  let checked = 0
  for await (const payment of method.provider.paymentsSince?.(sinceMs) ?? []) {
    const { source } = payment
    const row = await findPurchase(db, source)
    const fact = await (row === null ? method.lookAtUnknown(payment) : method.look(row))
    const found = row === null ? unknownText(fact) : differenceOf(row, fact)
    if (found !== null) differences.push({ source, stored: storedText(row), found })
    onChecked(++checked)
  }
  return { checked, differences }
}

function unknownText({ kind }: PurchaseFact): string | null {
  return kind === 'paid' ? 'paid' : null
}

/** The difference between a look and its purchase; null: they agree, or an admin decides. */
function differenceOf(row: PurchaseRow, fact: PurchaseFact): string | null {
  if (fact.kind !== 'paid') return row.paid === null ? null : `not paid: ${fact.kind}`
  if (row.state === 'open' || row.state === 'expired') return 'paid'
  if (row.state !== 'credited') return null
  const { creditMicros } = row
  const { paid, reversedUnits } = fact
  if (paid.units !== row.paid?.paidUnits || paid.currency !== row.paid.paidCurrency) {
    return `paid ${paid.units} ${paid.currency}`
  }
  const reversedMicros = reversedCredit({ creditMicros, paidUnits: paid.units, reversedUnits })
  return reversedMicros === row.reversedMicros ? null : `${showMicros(reversedMicros)} went back`
}

function storedText(row: PurchaseRow | null): string {
  if (row === null) return 'no purchase'
  const paid = row.paid === null ? '' : `, paid ${row.paid.paidUnits} ${row.paid.paidCurrency}`
  return `${row.state}${paid}, ${showMicros(row.reversedMicros)} went back`
}
