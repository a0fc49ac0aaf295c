import type { StoredRow } from '../../store/table.ts'
import type { PeriodSpan } from '../../vocabulary/allowance.ts'
import { firstIdOf, ID_AGE_MS_MAX } from '../../vocabulary/ids.ts'
import { micros } from '../../vocabulary/money.ts'
import type { PeriodCount } from '../work.ts'

/**
 * Adds up the requests of an owner whose holds opened in a period, over the index of their ids. Its parameters are
 * {@link periodCountValues}; SQLite writes them with `?` in place of `$`.
 */
export function periodCountText(ownerColumn: 'account_id' | 'api_key_id'): string {
  const inPeriod = (figure: string): string =>
    `coalesce(sum(case when opened_at_ms < $4 then ${figure} else 0 end), 0)`
  return `select
      ${inPeriod('backed_charge_micros + free_charge_micros')} as spend,
      ${inPeriod('backed_held_micros + free_held_micros')} as held,
      max(opened_at_ms) as latest
    from all_requests where ${ownerColumn} = $1 and id >= $2 and opened_at_ms >= $3`
}

/** The owner, an id that sorts before those of all requests of the period, the period's start and its end. */
export function periodCountValues(
  ownerId: string,
  { startsAtMs, endsAtMs }: PeriodSpan,
): [string, string, number, number] {
  const fromId = firstIdOf({ prefix: 'req', timeMs: startsAtMs - ID_AGE_MS_MAX })
  return [ownerId, fromId, startsAtMs, endsAtMs]
}

/** Reads the row of a statement that adds up a period; undefined: no request is in the period. */
export function readPeriodCount(row: StoredRow | undefined): PeriodCount {
  const latest = row?.['latest'] ?? null
  return {
    spendMicros: micros(Number(row?.['spend'] ?? 0)),
    heldMicros: micros(Number(row?.['held'] ?? 0)),
    latestOpenedAtMs: latest === null ? null : Number(latest),
  }
}
