import { setFields, textOf } from '../../format/address.ts'
import { type ComparedSearch, readComparedSearch } from '../../searches.ts'
import { type MarginOrder, readMarginOrder } from './margin-order.ts'

/** The groupings of the usage of all accounts, in the order of the menu. */
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

/** A grouping of the usage of all accounts. */
export type Group = (typeof GROUPS)[number]['value']

/** The query parameters of Usage and margin. Default: 30 days of all accounts by account, without a comparison. */
export interface MarginSearch extends ComparedSearch {
  readonly by?: Group
  /** Only this account. */
  readonly account?: string | undefined
  readonly sort?: MarginOrder
}

/** Reads the query parameters of Usage and margin; invalid values are left out. */
export function readMarginSearch(search: Record<string, unknown>): MarginSearch {
  const by = GROUPS.find(({ value }) => value === search['by'])?.value
  const sort = readMarginOrder(search['sort'])
  const account = textOf(search['account'])
  return { ...readComparedSearch(search), ...setFields({ by, account, sort }) }
}

/** The splits of the columns of Home. */
export const HOME_SPLITS = [
  { value: 'margin', text: 'Margin' },
  { value: 'account', text: 'Account' },
  { value: 'model', text: 'Model' },
  { value: 'upstream', text: 'Upstream' },
] as const

/** The query parameters of Home. Default: 30 days by margin, compared with the 30 days before. */
export interface HomeSearch extends ComparedSearch {
  readonly by?: (typeof HOME_SPLITS)[number]['value']
}

/** Reads the query parameters of Home; invalid values are left out. */
export function readHomeSearch(search: Record<string, unknown>): HomeSearch {
  const by = HOME_SPLITS.find(({ value }) => value === search['by'])?.value
  return { ...readComparedSearch(search), ...setFields({ by }) }
}
