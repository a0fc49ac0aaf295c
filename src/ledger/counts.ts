import type { StoredRow } from '../store/table.ts'
import type { PeriodSpan } from '../vocabulary/allowance.ts'
import { firstIdOf, ID_AGE_MS_MAX } from '../vocabulary/ids.ts'
import { type Micros, micros } from '../vocabulary/money.ts'

/**
 * A figure that the store counts before the rule of a command needs it. Both engines count by this value alone: a new
 * figure is a value of this type, beside the rule that reads it.
 */
export interface Count<Counted> {
  /** The name of its statement, which no other statement of the ledger has. */
  readonly name: string
  /** The group of figures that a unit of work looks it up in, by the ID of its owner. */
  readonly of: string
  /** One row; `$1`, `$2` and so on are its parameters. */
  readonly text: string
  /** The parameters, in order. */
  values(ownerId: string, span: PeriodSpan): (string | number)[]
  /** Undefined: there is no row. */
  read(row: StoredRow | undefined): Counted
}

/** A figure of an owner and a span of time that must be counted before a command is applied. */
export interface Uncounted {
  readonly count: Count<unknown>
  /** The ID of the account or key. */
  readonly id: string
  readonly span: PeriodSpan
}

/** The sums of one owner's requests whose holds opened in a period, from their rows. */
export interface PeriodCount {
  readonly spendMicros: Micros
  readonly heldMicros: Micros
  /** When the latest hold opened since the period began, even after its end; null: none has. */
  readonly latestOpenedAtMs: number | null
}

/** The sums of a period, of an account's requests and of a key's. */
export const PERIODS = {
  account: periodCount('account_id'),
  apiKey: periodCount('api_key_id'),
} as const

/** Adds up the requests of an owner whose holds opened in a period, over the index of their IDs. */
function periodCount(ownerColumn: 'account_id' | 'api_key_id'): Count<PeriodCount> {
  const inPeriod = (figure: string): string =>
    `coalesce(sum(case when opened_at_ms < $4 then ${figure} else 0 end), 0)`
  return {
    name: `count_period_by_${ownerColumn}`,
    of: 'period',
    text: `select
      ${inPeriod('backed_charge_micros + free_charge_micros')} as spend,
      ${inPeriod('backed_held_micros + free_held_micros')} as held,
      max(opened_at_ms) as latest
    from all_requests where ${ownerColumn} = $1 and id >= $2 and opened_at_ms >= $3`,
    values(ownerId, { startsAtMs, endsAtMs }) {
      const fromId = firstIdOf({ prefix: 'req', timeMs: startsAtMs - ID_AGE_MS_MAX })
      return [ownerId, fromId, startsAtMs, endsAtMs]
    },
    read(row) {
      const latest = row?.['latest'] ?? null
      return {
        spendMicros: micros(Number(row?.['spend'] ?? 0)),
        heldMicros: micros(Number(row?.['held'] ?? 0)),
        latestOpenedAtMs: latest === null ? null : Number(latest),
      }
    },
  }
}
