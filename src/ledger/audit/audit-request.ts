import type { Entry, RequestRow } from '../../store/schema.ts'
import { chargeForCost, parseDecimal } from '../../vocabulary/money.ts'
import type { Difference } from './difference.ts'

/** Recomputes a request's charge from its entries and from its cost, and its hold from its state. */
export function auditRequest(row: RequestRow, entries: readonly Entry[]): readonly Difference[] {
  const differences: Difference[] = []
  const expect = (what: string, figure: Omit<Difference, 'what' | 'id'>): void => {
    if (figure.stored !== figure.recomputed) {
      differences.push({ what: `requests.${what}`, id: row.id, ...figure })
    }
  }
  let backedMicros = 0
  let freeMicros = 0
  let writtenOffMicros = 0
  for (const entry of entries) {
    if (entry.kind === 'write_off') writtenOffMicros += entry.amountMicros
    else if (entry.purse === 'backed') backedMicros -= entry.amountMicros
    else freeMicros -= entry.amountMicros
    expect('account_id', { stored: row.accountId, recomputed: entry.accountId })
    expect('api_key_id', { stored: row.apiKeyId, recomputed: entry.apiKeyId })
  }
  expect('backed_charge_micros', { stored: row.backedChargeMicros, recomputed: backedMicros })
  expect('free_charge_micros', { stored: row.freeChargeMicros, recomputed: freeMicros })
  expect('written_off_micros', { stored: row.writtenOffMicros, recomputed: writtenOffMicros })

  const charge = row.backedChargeMicros + row.freeChargeMicros
  expect('charge', { stored: charge, recomputed: chargeOf(row, charge) })
  const [backedHeld, freeHeld] = heldOf(row)
  expect('backed_held_micros', { stored: row.backedHeldMicros, recomputed: backedHeld })
  expect('free_held_micros', { stored: row.freeHeldMicros, recomputed: freeHeld })
  return differences
}

/** What the charge must be; an estimate that stands is what it is. */
function chargeOf(row: RequestRow, chargeMicros: number): number | null {
  switch (row.state) {
    case 'open':
    case 'unresolved':
    case 'released':
      return 0
    case 'provisional':
    case 'final': {
      if (row.costUsd === null) return chargeMicros
      const cost = parseDecimal(row.costUsd)
      return cost === null ? null : chargeForCost(cost)
    }
  }
}

function heldOf(row: RequestRow): readonly [backedMicros: number, freeMicros: number] {
  switch (row.state) {
    case 'open':
    case 'unresolved':
      return [row.backedGrantedMicros, row.freeGrantedMicros]
    case 'provisional':
      if (row.costUsd !== null) return [0, 0]
      return [
        Math.max(0, row.backedGrantedMicros - row.backedChargeMicros),
        Math.max(0, row.freeGrantedMicros - row.freeChargeMicros),
      ]
    case 'final':
    case 'released':
      return [0, 0]
  }
}
