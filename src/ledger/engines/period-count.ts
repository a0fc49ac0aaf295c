import type { StoredRow } from '../../store/table.ts'
import type { PeriodSpan } from '../../vocabulary/allowance.ts'
import { assertNever } from '../../vocabulary/assert-never.ts'
import { firstIdOf, ID_AGE_MS_MAX } from '../../vocabulary/ids.ts'
import { micros } from '../../vocabulary/money.ts'
import type { Uncounted } from '../rules/limits.ts'
import type { PeriodCount, UnitOfWork } from '../work.ts'

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

/** Counts the keys of an account, and those that were made since a moment, each over its own index. */
export const KEY_COUNT_TEXT = `select
    (select count(*) from api_keys where account_id = $1 and deleted_at_ms is null) as present,
    (select count(*) from api_keys where account_id = $1 and created_at_ms > $2) as made`

/** Counts the purchases by card of an account that were begun since a moment and can be paid at another. */
export const OPEN_PURCHASES_TEXT = `select count(*) as open from purchases
    where state = 'open' and account_id = $1 and created_at_ms > $2 and expires_at_ms > $3
      and price_units is not null`

/** The values of a statement that counts: of this file's texts. */
export function countValues({ owner, id, span }: Uncounted): (string | number)[] {
  switch (owner) {
    case 'keys':
      return [id, span.startsAtMs]
    case 'openPurchases':
      return [id, span.startsAtMs, span.endsAtMs]
    case 'account':
    case 'apiKey':
      return periodCountValues(id, span)
    default:
      return assertNever(owner)
  }
}

/** Loads what a statement has counted. By position: the unit of work, what was counted, the row of the answer. */
export function loadCount(work: UnitOfWork, { owner, id }: Uncounted, row: StoredRow | undefined) {
  if (owner === 'keys') {
    work.loadKeyCount(id, { present: Number(row?.['present']), made: Number(row?.['made']) })
  } else if (owner === 'openPurchases') work.loadOpenPurchases(id, Number(row?.['open']))
  else work.loadPeriodCount(id, readPeriodCount(row))
}

/** The owner, an id that sorts before those of all requests of the period, the period's start and its end. */
function periodCountValues(
  ownerId: string,
  { startsAtMs, endsAtMs }: PeriodSpan,
): [string, string, number, number] {
  const fromId = firstIdOf({ prefix: 'req', timeMs: startsAtMs - ID_AGE_MS_MAX })
  return [ownerId, fromId, startsAtMs, endsAtMs]
}

/** Reads the row of a statement that adds up a period; undefined: no request is in the period. */
function readPeriodCount(row: StoredRow | undefined): PeriodCount {
  const latest = row?.['latest'] ?? null
  return {
    spendMicros: micros(Number(row?.['spend'] ?? 0)),
    heldMicros: micros(Number(row?.['held'] ?? 0)),
    latestOpenedAtMs: latest === null ? null : Number(latest),
  }
}
