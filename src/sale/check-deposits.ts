import { PURCHASES } from '../store/sale-tables.ts'
import type { Checked, CheckInput, PaymentDifference } from './check-cards.ts'
import type { DepositMethod } from './method.ts'

const ROWS_AT_ONCE = 200

/**
 * Compares the deposits that were found since a moment with the chain, by their receipts from each node. Changes
 * nothing. Rejects with `PaymentUnavailable` where the nodes do not agree. Any method of a chain has the deposits of all
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
  for (let after = ''; ; ) {
    const rows = await db
      .selectFrom('purchases')
      .selectAll()
      .where('id', '>', after)
      .where('source', 'like', `chain:${method.chainId}:%`)
      .where('created_at_ms', '>=', sinceMs)
      .orderBy('id')
      .limit(ROWS_AT_ONCE)
      .execute()
    for (const row of rows.map((each) => PURCHASES.read(each))) {
      const { source, state, paid } = row
      const fact = await method.look(row)
      const units = fact.kind === 'paid' ? fact.paid.units : null
      if (units !== paid?.paidUnits) {
        const stored = `${state}, ${paid?.paidUnits} ${paid?.paidCurrency}`
        const found = units === null ? 'no such transfer' : `${units} ${paid?.paidCurrency}`
        differences.push({ source, stored, found })
      }
      after = row.id
      onChecked(++checked)
    }
    if (rows.length < ROWS_AT_ONCE) return { checked, differences }
  }
}
