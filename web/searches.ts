import {
  COMPARISONS,
  type Comparison,
  type DateRange,
  type RangeSearch,
  readDateRange,
  searchOf,
  stepOf,
  type TimeSpan,
} from '../src/vocabulary/date-range.ts'
import type { Usage } from './api/answers.ts'
import type { ChartSplit } from './api/queries.ts'
import { flagOf, setFields, textOf } from './format/address.ts'

// The searches of the smaller screens' addresses, and how they are read. Routes read addresses before a
// screen is loaded.

/** The address of a screen that reads nothing of it. */
export function readNothing(): Record<never, never> {
  return {}
}

/** The range of an address that names none. */
export const DEFAULT_RANGE: DateRange = { kind: 'moving', range: '30d' }

/** A range in an address, and what it is compared with. */
export interface ComparedSearch extends RangeSearch {
  readonly compare?: Comparison
}

/** Reads it; what is no range or comparison is left out. */
export function readComparedSearch(search: Record<string, unknown>): ComparedSearch {
  const range = readDateRange(search)
  const compare = COMPARISONS.find((one) => one === search['compare'])
  return { ...(range === null ? {} : searchOf(range)), ...setFields({ compare }) }
}

/** An address with another range, and everything else that it had. */
export function withRange<Search extends ComparedSearch>(
  { range: _, from: __, to: ___, compare: ____, ...rest }: Search,
  picked: { readonly range: DateRange; readonly compare: Comparison | null },
): Omit<Search, keyof ComparedSearch> & ComparedSearch {
  const compare = picked.compare === null ? {} : { compare: picked.compare }
  return { ...rest, ...searchOf(picked.range), ...compare }
}

/** The search of the Overview's address. Default: 30 days, by model. */
export interface OverviewSearch extends ComparedSearch {
  readonly by?: ChartSplit
}

const SPLITS = ['model', 'key', 'endpoint'] as const

/** Reads it; what no range or split is called is left out. */
export function readOverviewSearch(search: Record<string, unknown>): OverviewSearch {
  const by = SPLITS.find((one) => one === search['by'])
  return { ...readComparedSearch(search), ...setFields({ by }) }
}

/** The measures, in the order of the menu. */
export const MEASURES = ['spend', 'requests', 'tokens', 'p50', 'p95'] as const

/** One of them. */
export type Measure = (typeof MEASURES)[number]

/** The splits of usage: those of charts, and by tag, in a table alone. */
export type UsageSplit = ChartSplit | 'tag'

/** The search of the usage's address. Default: the spend of 30 days by model and day. */
export interface UsageSearch extends ComparedSearch {
  readonly by?: UsageSplit
  readonly measure?: Measure
  readonly step?: 'hour'
}

/** Reads it; what it can't mean is left out. */
export function readUsageSearch(search: Record<string, unknown>): UsageSearch {
  const by = ([...SPLITS, 'tag'] as const).find((one) => one === search['by'])
  const measure = MEASURES.find((one) => one === search['measure'])
  const step = search['step'] === 'hour' ? ('hour' as const) : undefined
  return { ...readComparedSearch(search), ...setFields({ by, measure, step }) }
}

const HOURS_UP_TO_MS = 7 * 86_400_000

/** Whether a chart of days can be by hour too: a month has too many of them. */
export function hasSteps(span: TimeSpan, by: UsageSplit): boolean {
  if (stepOf(span) !== 'day' || by === 'key' || by === 'tag') return false
  return span.toMs - span.fromMs <= HOURS_UP_TO_MS
}

/** The steps of a chart: by hour where that was asked for and can be. */
export function chartStep(
  span: TimeSpan,
  { by = 'model', step }: Pick<UsageSearch, 'by' | 'step'>,
): Usage['step'] {
  return step === 'hour' && hasSteps(span, by) ? 'hour' : stepOf(span)
}

/** The search of the keys' address. */
export interface KeysSearch {
  /** A part of the name or prefix of the keys that are shown. */
  readonly find?: string
  /** Whether the form for a new key is open. */
  readonly create?: true
}

/** Reads it. */
export function readKeysSearch({ create, find }: Record<string, unknown>): KeysSearch {
  return setFields({ find: textOf(find), create: flagOf(create) })
}

/** The search of the members' address. */
export interface MembersSearch {
  /** Whether the form for an invitation is open. */
  readonly invite?: true
}

/** Reads it. */
export function readMembersSearch({ invite }: Record<string, unknown>): MembersSearch {
  return setFields({ invite: flagOf(invite) })
}

/** The address of an account's credit; without fields, the statement of 30 days. */
export interface CreditHistorySearch extends RangeSearch {
  /** In place of the statement. */
  readonly list?: 'top-ups' | 'entries'
  /** The purchase whose receipt is open. */
  readonly receipt?: string
}

/** Reads it. */
export function readCreditHistorySearch(search: Record<string, unknown>): CreditHistorySearch {
  const { list, receipt } = search
  const range = readDateRange(search)
  return {
    ...(range === null ? {} : searchOf(range)),
    // In 0.2.0 it was called purchases.
    ...(list === 'top-ups' || list === 'purchases' ? { list: 'top-ups' as const } : {}),
    ...(list === 'entries' ? { list } : {}),
    ...(isPurchaseId(receipt) ? { receipt } : {}),
  }
}

/** The address of the credit, for its customers. */
export interface CreditSearch extends CreditHistorySearch {
  /** Which form is open: that for a code, or that for a purchase. */
  readonly open?: 'redeem' | 'buy'
  /** The purchase that a payment page has led back from. */
  readonly bought?: string
}

/** Reads it. */
export function readCreditSearch(search: Record<string, unknown>): CreditSearch {
  const { open, bought } = search
  return {
    ...readCreditHistorySearch(search),
    ...(open === 'redeem' || open === 'buy' ? { open } : {}),
    ...(isPurchaseId(bought) ? { bought } : {}),
  }
}

function isPurchaseId(value: unknown): value is string {
  return typeof value === 'string' && /^pur_\w+$/.test(value)
}
