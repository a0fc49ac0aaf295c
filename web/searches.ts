import type { Usage } from './api/answers.ts'
import { CHART_DAYS, type ChartRange, type ChartSplit } from './api/queries.ts'

// What the addresses of the smaller screens say, and how they are read. Routes read addresses before a
// screen is loaded.

/** The address of a screen that reads nothing of it. */
export function readNothing(): Record<never, never> {
  return {}
}

/** What the address of the Overview says; what is left out is 30 days, by model. */
export interface OverviewSearch {
  readonly range?: ChartRange
  readonly by?: ChartSplit
}

const SPLITS = ['model', 'key', 'endpoint'] as const

/** Reads it; what no range or split is called is left out. */
export function readOverviewSearch({ range, by }: Record<string, unknown>): OverviewSearch {
  const isRange = typeof range === 'string' && Object.hasOwn(CHART_DAYS, range)
  const split = SPLITS.find((one) => one === by)
  return {
    ...(isRange ? { range: range as ChartRange } : {}),
    ...(split === undefined ? {} : { by: split }),
  }
}

/** What can be measured, in the order of the menu. */
export const MEASURES = ['spend', 'requests', 'tokens', 'p50', 'p95'] as const

/** One of them. */
export type Measure = (typeof MEASURES)[number]

/** What usage is split by: as a chart, or by tag in a table alone. */
export type UsageSplit = ChartSplit | 'tag'

/** What the address of the usage says; what is left out is the spend of 30 days by model and day. */
export interface UsageSearch {
  readonly range?: ChartRange
  readonly by?: UsageSplit
  readonly measure?: Measure
  readonly step?: 'hour'
}

/** Reads it; what it can't mean is left out. */
export function readUsageSearch(search: Record<string, unknown>): UsageSearch {
  const { range, step } = search
  const isRange = typeof range === 'string' && Object.hasOwn(CHART_DAYS, range)
  const by = ([...SPLITS, 'tag'] as const).find((one) => one === search['by'])
  const measure = MEASURES.find((one) => one === search['measure'])
  return {
    ...(isRange ? { range: range as ChartRange } : {}),
    ...(by === undefined ? {} : { by }),
    ...(measure === undefined ? {} : { measure }),
    ...(step === 'hour' ? { step } : {}),
  }
}

/** Whether a chart can be by day and by hour: a day is shown by hour, and a month has too many of them. */
export function hasSteps({ range, by }: Required<Pick<UsageSearch, 'range' | 'by'>>): boolean {
  return range === '7d' && by !== 'key' && by !== 'tag'
}

/** The steps of a chart: by hour where that was asked for and can be. */
export function stepOf({ range = '30d', by = 'model', step }: UsageSearch): Usage['step'] {
  if (range === '24h') return 'hour'
  return hasSteps({ range, by }) && step === 'hour' ? 'hour' : 'day'
}

/** What the address of the keys says. */
export interface KeysSearch {
  /** Whether the form for a new key is open. */
  readonly create?: true
}

/** Reads it. */
export function readKeysSearch({ create }: Record<string, unknown>): KeysSearch {
  return create === 'true' || create === true ? { create: true } : {}
}

/** What the address of the credit says. */
export interface CreditSearch {
  /** Purchases alone. */
  readonly list?: 'purchases'
  /** Which form is open: that for a code, or that for a purchase. */
  readonly open?: 'redeem' | 'buy'
  /** The purchase whose receipt is open. */
  readonly receipt?: string
  /** The purchase that a payment page has led back from. */
  readonly bought?: string
}

/** Reads it. */
export function readCreditSearch(search: Record<string, unknown>): CreditSearch {
  const { list, open, receipt, bought } = search
  return {
    ...(list === 'purchases' ? { list } : {}),
    ...(open === 'redeem' || open === 'buy' ? { open } : {}),
    ...(isPurchaseId(receipt) ? { receipt } : {}),
    ...(isPurchaseId(bought) ? { bought } : {}),
  }
}

function isPurchaseId(value: unknown): value is string {
  return typeof value === 'string' && /^pur_\w+$/.test(value)
}
