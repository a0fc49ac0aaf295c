import type { Kysely } from 'kysely'
import { findPurchase } from '../ledger/purchases.ts'
import { PURCHASES, type PurchaseRow } from '../store/sale-tables.ts'
import type { Tables } from '../store/schema.ts'
import { type Micros, showMicros } from '../vocabulary/money.ts'
import {
  formatUnits,
  ONE_DOLLAR_8,
  type PurchaseFact,
  reversedCredit,
  unitsFor,
} from '../vocabulary/purchase.ts'
import { slicesOf } from '../vocabulary/slices.ts'
import type { CardMethod } from './card/card-method.ts'
import { PaymentUnavailable } from './card/provider.ts'
import { readDepositAddresses } from './deposit-rows.ts'
import type { DepositMethod } from './method.ts'

/** A payment of which the store says something else than its provider. */
interface PaymentDifference {
  readonly source: string
  readonly stored: string
  readonly found: string
}

/** The parts of a comparison of payments. */
interface CheckInput<Method> {
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
  /** Deposits in tokens that are no longer accepted: nodes are not asked about them. */
  readonly skipped: number
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
  return { checked, skipped: 0, differences }
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
  return reversedMicros === row.reversedMicros ? null : reversedText(reversedMicros)
}

function storedText(row: PurchaseRow | null): string {
  if (row === null) return 'no purchase'
  const paid = row.paid === null ? '' : `, paid ${row.paid.paidUnits} ${row.paid.paidCurrency}`
  return `${row.state}${paid}, ${reversedText(row.reversedMicros)}`
}

function reversedText(reversedMicros: Micros): string {
  return `${showMicros(reversedMicros)} refunded or disputed`
}

const ACCOUNTS_AT_ONCE = 100

/**
 * Finds deposits of a token that the store lacks: an account whose addresses have more of it than the sum of its
 * deposits. Swept tokens do not matter. Less than the minimum may be dust, which is no deposit. Rejects with
 * `PaymentUnavailable` where the nodes do not agree.
 */
export async function checkBalances({
  db,
  method,
}: Pick<CheckInput<DepositMethod>, 'db' | 'method'>): Promise<Checked> {
  const { chainId, minimumMicros, token } = method
  const { symbol, decimals } = token
  const least = unitsFor(minimumMicros, { decimals, rate8: ONE_DOLLAR_8, feeBps: 0 })
  const accountOf = await readDepositAddresses(db, chainId)
  const accounts = [...Map.groupBy(accountOf.keys(), (address) => accountOf.get(address) ?? '')]
  const differences: PaymentDifference[] = []
  for (const some of slicesOf(accounts, ACCOUNTS_AT_ONCE)) {
    const asked = some.flatMap(([, addresses]) => addresses)
    const balances = await method.balances(asked)
    const balanceOf = new Map(asked.map((address, index) => [address, balances[index] ?? 0n]))
    // Read later than the block that is asked for: it has at least the deposits of that block.
    const rows = await db
      .selectFrom('purchases')
      .select(['account_id', 'paid_units'])
      .where('method', '=', method.id)
      .where('source', 'like', `chain:${chainId}:%`)
      .where(
        'account_id',
        'in',
        some.map(([accountId]) => accountId),
      )
      .execute()
    for (const [accountId, addresses] of some) {
      const stored = sumOf(
        rows
          .filter((row) => row.account_id === accountId)
          .map((row) => BigInt(row.paid_units ?? 0)),
      )
      const found = sumOf(addresses.map((address) => balanceOf.get(address) ?? 0n))
      if (found - stored < least) continue
      const shown = (units: bigint) => `${formatUnits(units, decimals)} ${symbol}`
      differences.push({
        source: `${method.id} of ${accountId}`,
        stored: `deposits of ${shown(stored)}`,
        found: `a balance of ${shown(found)} at ${addresses.join(', ')}`,
      })
    }
  }
  return { checked: 0, skipped: 0, differences }
}

function sumOf(units: readonly bigint[]): bigint {
  return units.reduce((sum, each) => sum + each, 0n)
}

const ROWS_AT_ONCE = 200

/**
 * Compares the deposits that were found since a moment with the chain, by their receipts from each node. Changes
 * nothing. Rejects with `PaymentUnavailable` if the nodes do not agree. Any method of a chain has the deposits of all
 * tokens there.
 */
export async function checkDeposits({
  db,
  method,
  sinceMs,
  onChecked,
}: CheckInput<DepositMethod>): Promise<Checked> {
  const differences: PaymentDifference[] = []
  let checked = 0
  let skipped = 0
  for (let after = ''; ; ) {
    const rows = await PURCHASES.readAll(
      db
        .selectFrom('purchases')
        .selectAll()
        .where('id', '>', after)
        .where('source', 'like', `chain:${method.chainId}:%`)
        .where('created_at_ms', '>=', sinceMs)
        .orderBy('id')
        .limit(ROWS_AT_ONCE),
    )
    for (const row of rows) {
      const { source, state, paid } = row
      after = row.id
      const fact = await method.look(row).catch((cause: unknown) => {
        if (cause instanceof PaymentUnavailable && cause.lasting !== null) return null
        throw cause
      })
      if (fact === null) {
        skipped++
        continue
      }
      const units = fact.kind === 'paid' ? fact.paid.units : null
      if (units !== paid?.paidUnits) {
        const stored = `${state}, ${paid?.paidUnits} ${paid?.paidCurrency}`
        const found = units === null ? 'no such transfer' : `${units} ${paid?.paidCurrency}`
        differences.push({ source, stored, found })
      }
      onChecked(++checked)
    }
    if (rows.length < ROWS_AT_ONCE) return { checked, skipped, differences }
  }
}
