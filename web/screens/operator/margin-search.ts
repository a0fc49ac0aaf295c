import {
  COMPARISONS,
  type DateRange,
  readDateRange,
  searchOf,
} from '../../../src/vocabulary/date-range.ts'

/** What usage of all accounts is grouped by, in the order of the menu. */
export const GROUPS = [
  { value: 'account', text: 'Account', plural: 'accounts' },
  { value: 'key', text: 'Key', plural: 'keys' },
  { value: 'model', text: 'Model', plural: 'models' },
  { value: 'endpoint', text: 'Endpoint', plural: 'endpoints' },
  { value: 'upstream', text: 'Upstream', plural: 'upstreams' },
  { value: 'tag', text: 'Tag', plural: 'tags' },
  { value: 'day', text: 'Day', plural: 'days' },
  { value: 'month', text: 'Month', plural: 'months' },
] as const

/** One of them. */
export type Group = (typeof GROUPS)[number]['value']

/** What the address of usage and margin says; what is left out is 30 days by account, compared with nothing. */
export interface MarginSearch {
  readonly by?: Group
  readonly range?: string
  readonly from?: string
  readonly to?: string
  readonly compare?: (typeof COMPARISONS)[number]
}

/** Reads it; what it can't mean is left out. */
export function readMarginSearch(search: Record<string, unknown>): MarginSearch {
  const by = GROUPS.find(({ value }) => value === search['by'])?.value
  const range = readDateRange(search)
  const compare = COMPARISONS.find((one) => one === search['compare'])
  return {
    ...(by === undefined ? {} : { by }),
    ...(range === null ? {} : searchOf(range)),
    ...(compare === undefined ? {} : { compare }),
  }
}

/** The range of an address. Default: 30 days. */
export function rangeOf(search: MarginSearch): DateRange {
  return readDateRange(search) ?? { kind: 'moving', range: '30d' }
}
