import { type ComparedSearch, readComparedSearch } from '../../searches.ts'

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
export interface MarginSearch extends ComparedSearch {
  readonly by?: Group
}

/** Reads it; what it can't mean is left out. */
export function readMarginSearch(search: Record<string, unknown>): MarginSearch {
  const by = GROUPS.find(({ value }) => value === search['by'])?.value
  return { ...readComparedSearch(search), ...(by === undefined ? {} : { by }) }
}

/** What the columns of Home are split by. */
export const HOME_SPLITS = [
  { value: 'margin', text: 'Margin' },
  { value: 'account', text: 'Account' },
  { value: 'model', text: 'Model' },
  { value: 'upstream', text: 'Upstream' },
] as const

/** What the address of Home says; what is left out is 30 days by margin, compared with the 30 days before. */
export interface HomeSearch extends ComparedSearch {
  readonly by?: (typeof HOME_SPLITS)[number]['value']
}

/** Reads it; what it can't mean is left out. */
export function readHomeSearch(search: Record<string, unknown>): HomeSearch {
  const by = HOME_SPLITS.find(({ value }) => value === search['by'])?.value
  return { ...readComparedSearch(search), ...(by === undefined ? {} : { by }) }
}
