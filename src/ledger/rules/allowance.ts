import type { AccountRow, ApiKeyRow } from '../../store/schema.ts'
import { isSameCalendar, type PeriodSpan, periodSpanAt } from '../../vocabulary/allowance.ts'
import {
  addMicros,
  type Micros,
  maxMicros,
  micros,
  subtractMicros,
  ZERO_MICROS,
} from '../../vocabulary/money.ts'
import type { PeriodCount, UnitOfWork } from '../work.ts'

/** A calendar with the amount of each period. */
type Allowance = NonNullable<AccountRow['allowance']>

type Period = NonNullable<AccountRow['period']>

/** An account or a key, as far as it has an allowance. */
type AllowedRow = Pick<AccountRow | ApiKeyRow, 'id' | 'allowance' | 'period'>

const NONE: readonly Uncounted[] = []

/** A period whose requests must be added up before a command is applied. */
export interface Uncounted {
  readonly owner: 'account' | 'apiKey'
  readonly id: string
  readonly span: PeriodSpan
}

/** The periods of the account and the key of a hold that no row has. */
export function uncountedByHold(
  work: UnitOfWork,
  { accountId, apiKeyId }: { readonly accountId: string; readonly apiKeyId: string },
  nowMs: number,
): readonly Uncounted[] {
  return [
    ...uncountedOf('account', work.accounts.get(accountId), nowMs),
    ...uncountedOf('apiKey', work.apiKeys.get(apiKeyId), nowMs),
  ]
}

function uncountedOf(
  owner: Uncounted['owner'],
  row: AllowedRow | undefined,
  nowMs: number,
): readonly Uncounted[] {
  if (row === undefined || row.allowance === null || row.period === null) return NONE
  if (isWithin(row.period, nowMs)) return NONE
  const span = periodSpanAt(row.allowance, nowMs)
  return span.startsAtMs >= row.period.periodUnusedFromMs ? NONE : [{ owner, id: row.id, span }]
}

/** The period of a new allowance, if no row has it. */
export function uncountedChange(
  owner: Uncounted['owner'],
  {
    row,
    to,
    nowMs,
  }: {
    readonly row: AllowedRow | undefined
    readonly to: Allowance | null | undefined
    readonly nowMs: number
  },
): readonly Uncounted[] {
  if (row === undefined || to === undefined || to === null) return NONE
  if (row.period !== null && isSameCalendar(row.allowance, to)) return NONE
  return [{ owner, id: row.id, span: periodSpanAt(to, nowMs) }]
}

/**
 * The period of a row whose allowance is set. With the calendar that it had, the period goes on; with another, it begins
 * with what was added up for it. Null takes the allowance away.
 */
export function periodUnder(
  work: UnitOfWork,
  {
    row,
    to,
    nowMs,
  }: { readonly row: AllowedRow; readonly to: Allowance | null; readonly nowMs: number },
): Period | null {
  if (to === null) return null
  if (row.period !== null && isSameCalendar(row.allowance, to)) return row.period
  return periodOf(periodSpanAt(to, nowMs), work.periodCount(row.id))
}

/** The period of a new row. */
export function firstPeriod(allowance: Allowance | null | undefined, nowMs: number): Period | null {
  return allowance == null ? null : periodOf(periodSpanAt(allowance, nowMs), undefined)
}

/**
 * The period that the moment lies in, with what counts in it: the row's, or the next one, in which no hold has opened.
 * After a clock was set back over the start of a period, what was added up for the one before. Null: no allowance.
 */
export function periodAt(
  row: AllowedRow,
  { work, nowMs }: { readonly work: UnitOfWork; readonly nowMs: number },
): Period | null {
  const { id, allowance, period } = row
  const known = knownPeriodAt(row, nowMs)
  if (known !== null || allowance === null || period === null) return known
  const counted = work.periodCount(id)
  if (counted === undefined) throw new Error(`the period of ${id} was not added up`)
  const next = periodOf(periodSpanAt(allowance, nowMs), counted)
  const unusedFromMs = Math.max(next.periodUnusedFromMs, period.periodUnusedFromMs)
  return { ...next, periodUnusedFromMs: unusedFromMs }
}

/** The same without a unit of work; null too where requests would have to be added up for it. */
export function knownPeriodAt(
  { allowance, period }: Omit<AllowedRow, 'id'>,
  nowMs: number,
): Period | null {
  if (allowance === null || period === null || isWithin(period, nowMs)) return period
  const span = periodSpanAt(allowance, nowMs)
  return span.startsAtMs >= period.periodUnusedFromMs ? periodOf(span, undefined) : null
}

/** The rest of an allowance in a period, never below zero; null: there is no allowance. */
export function allowanceLeft({ allowance, period }: Omit<AllowedRow, 'id'>): Micros | null {
  if (allowance === null || period === null) return null
  const usedMicros = addMicros(period.periodSpendMicros, period.periodHeldMicros)
  return maxMicros(ZERO_MICROS, subtractMicros(allowance.allowanceMicros, usedMicros))
}

/** A period after a request has changed; the same if its hold did not open in it. */
export function periodAfter<P extends Period | null>(
  period: P,
  change: {
    readonly openedAtMs: number
    readonly spendMicros: number
    readonly heldMicros: number
  },
): P | Period {
  if (period === null || !isWithin(period, change.openedAtMs)) return period
  return {
    ...period,
    periodSpendMicros: micros(period.periodSpendMicros + change.spendMicros),
    periodHeldMicros: micros(period.periodHeldMicros + change.heldMicros),
  }
}

/** Whether a moment is in the period. */
export function isWithin(
  period: Pick<Period, 'periodStartsAtMs' | 'periodEndsAtMs'>,
  atMs: number,
): boolean {
  return atMs >= period.periodStartsAtMs && atMs < period.periodEndsAtMs
}

function periodOf({ startsAtMs, endsAtMs }: PeriodSpan, count: PeriodCount | undefined): Period {
  return {
    periodStartsAtMs: startsAtMs,
    periodEndsAtMs: endsAtMs,
    periodUnusedFromMs: Math.max(endsAtMs, (count?.latestOpenedAtMs ?? 0) + 1),
    periodSpendMicros: count?.spendMicros ?? ZERO_MICROS,
    periodHeldMicros: count?.heldMicros ?? ZERO_MICROS,
  }
}
