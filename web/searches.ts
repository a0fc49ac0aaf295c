import { DAY_MS } from '../src/vocabulary/clock.ts'
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

// The query parameters of the smaller screens. They are not beside the screens, because routes read addresses
// before a screen is loaded.

/** The query parameters of a screen that has none. */
export function readNothing(): Record<never, never> {
  return {}
}

/** The range of an address without one. */
export const DEFAULT_RANGE: DateRange = { kind: 'moving', range: '30d' }

/** A range in an address, and what it is compared with. */
export interface ComparedSearch extends RangeSearch {
  readonly compare?: Comparison
}

/** Reads a range and its comparison; invalid values are left out. */
export function readComparedSearch(search: Record<string, unknown>): ComparedSearch {
  const range = readDateRange(search)
  const compare = COMPARISONS.find((one) => one === search['compare'])
  return { ...(range === null ? {} : searchOf(range)), ...setFields({ compare }) }
}

/** The same query parameters with another range. By position, too: the comparison of an address without one; null: none. */
export function withRange<Search extends ComparedSearch>(
  { range: _, from: __, to: ___, compare: ____, ...rest }: Search,
  picked: { readonly range: DateRange; readonly compare: Comparison | null },
  usual: Comparison | null = null,
): Omit<Search, keyof ComparedSearch> & ComparedSearch {
  const { compare } = picked
  const compared = compare === null || compare === usual ? {} : { compare }
  return { ...rest, ...searchOf(picked.range), ...compared }
}

/** The query parameters of Overview. Default: 30 days, by model. */
interface OverviewSearch extends ComparedSearch {
  readonly by?: ChartSplit
}

const SPLITS = ['model', 'key', 'endpoint'] as const

/** Reads the query parameters of Overview; invalid values are left out. */
export function readOverviewSearch(search: Record<string, unknown>): OverviewSearch {
  const by = SPLITS.find((one) => one === search['by'])
  return { ...readComparedSearch(search), ...setFields({ by }) }
}

/** The measures, in the order of the menu. */
export const MEASURES = ['spend', 'requests', 'tokens', 'p50', 'p95'] as const

/** A measure of usage. */
export type Measure = (typeof MEASURES)[number]

/** The splits of usage: those of charts, and by tag, which has only a table. */
type UsageSplit = ChartSplit | 'tag'

/** The query parameters of Usage. Default: the spend of 30 days by model and day. */
export interface UsageSearch extends ComparedSearch {
  readonly by?: UsageSplit
  readonly measure?: Measure
  readonly step?: 'hour'
}

/** Reads the query parameters of Usage; invalid values are left out. */
export function readUsageSearch(search: Record<string, unknown>): UsageSearch {
  const by = ([...SPLITS, 'tag'] as const).find((one) => one === search['by'])
  const measure = MEASURES.find((one) => one === search['measure'])
  const step = search['step'] === 'hour' ? ('hour' as const) : undefined
  return { ...readComparedSearch(search), ...setFields({ by, measure, step }) }
}

const HOURS_UP_TO_MS = 7 * DAY_MS

/** Whether a chart of days can be by hour too: a month has too many of them. */
export function hasSteps(span: TimeSpan, by: UsageSplit): boolean {
  if (stepOf(span) !== 'day' || by === 'key' || by === 'tag') return false
  return span.toMs - span.fromMs <= HOURS_UP_TO_MS
}

/** The steps of a chart: hours if they were chosen and are possible. */
export function chartStep(
  span: TimeSpan,
  { by = 'model', step }: Pick<UsageSearch, 'by' | 'step'>,
): Usage['step'] {
  return step === 'hour' && hasSteps(span, by) ? 'hour' : stepOf(span)
}

/** The query parameters of Keys. */
export interface KeysSearch {
  /** A part of the name or prefix of the keys that are shown. */
  readonly find?: string
  /** Whether the form for a new key is open. */
  readonly create?: true
}

/** Reads the query parameters of Keys. */
export function readKeysSearch({ create, find }: Record<string, unknown>): KeysSearch {
  return setFields({ find: textOf(find), create: flagOf(create) })
}

/** The query parameters of Members. */
export interface MembersSearch {
  /** Whether the form for an invitation is open. */
  readonly invite?: true
}

/** Reads the query parameters of Members. */
export function readMembersSearch({ invite }: Record<string, unknown>): MembersSearch {
  return setFields({ invite: flagOf(invite) })
}

/** The query parameters of an account's credit. Default: the statement of 30 days. */
export interface CreditHistorySearch extends RangeSearch {
  /** In place of the statement. */
  readonly list?: 'top-ups' | 'entries'
  /** The purchase whose receipt is open. */
  readonly receipt?: string
}

/** Reads the query parameters of an account's credit. */
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

/** A form of Credit. */
export type CreditForm = (typeof CREDIT_FORMS)[number]

const CREDIT_FORMS = ['redeem', 'buy', 'billing'] as const

/** The query parameters of Credit, for members. */
interface CreditSearch extends CreditHistorySearch {
  /** The form that is open: for a code, for a purchase, or for the buyer on receipts. */
  readonly open?: CreditForm
  /** The purchase that a payment page has led back from. */
  readonly bought?: string
}

/** Reads the query parameters of Credit, for members. */
export function readCreditSearch(search: Record<string, unknown>): CreditSearch {
  const { open, bought } = search
  const form = CREDIT_FORMS.find((one) => one === open)
  return {
    ...readCreditHistorySearch(search),
    ...(form === undefined ? {} : { open: form }),
    ...(isPurchaseId(bought) ? { bought } : {}),
  }
}

function isPurchaseId(value: unknown): value is string {
  return typeof value === 'string' && /^pur_\w+$/.test(value)
}

/** The query parameters of Connect. */
interface ConnectSearch {
  /** The id of a client. */
  readonly client?: string
  readonly model?: string
}

/** Reads the query parameters of Connect. */
export function readConnectSearch({ client, model }: Record<string, unknown>): ConnectSearch {
  return setFields({ client: textOf(client), model: textOf(model) })
}

/** The query parameters of the Playground, which have no typed text. */
interface PlaygroundSearch {
  readonly model?: string
}

/** Reads the query parameters of the Playground. */
export function readPlaygroundSearch({ model }: Record<string, unknown>): PlaygroundSearch {
  return setFields({ model: textOf(model) })
}
