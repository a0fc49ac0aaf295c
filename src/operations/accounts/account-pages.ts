import type { Kysely } from 'kysely'
import { z } from 'zod'
import {
  ACCOUNT_SORTS,
  type AccountFilter,
  type AccountOrder,
  type AccountPlace,
  findAccountIds,
  getAccounts,
  listAccounts,
} from '../../ledger/accounts.ts'
import type { AccountRow, Tables } from '../../store/schema.ts'
import { readUsageGroups, type UsageFigures } from '../../usage/read-usage.ts'
import { invalidParameter } from '../../vocabulary/problem.ts'
import { idCursor, isStorable } from '../fields.ts'

/** The sums of requests by which accounts can be sorted. */
export const USAGE_SORTS = ['charged', 'margin'] as const

/** The order of a list of accounts: by a value of the account, or by the sums of its requests. */
type ListOrder = Omit<AccountOrder, 'sort'> & {
  readonly sort: AccountOrder['sort'] | (typeof USAGE_SORTS)[number]
}

const SORTS = [...ACCOUNT_SORTS, ...USAGE_SORTS] as const

/** `?sort=` of accounts: the name of a value, after a `-` for the greatest first. */
export const accountSortField = z
  .enum(SORTS.flatMap((sort) => [sort, `-${sort}`] as const))
  .default('-created')
  .transform(orderOf)
  .describe(
    'The order; with `-` in front, the largest first. `charged` and `margin` cover the requests from `from` to `to`. Default: `-created`.',
  )

function orderOf(text: string): ListOrder {
  const isDescending = text.startsWith('-')
  const name = isDescending ? text.slice(1) : text
  return { sort: SORTS.find((each) => each === name) ?? 'created', isDescending }
}

/** The cursor of the page after a place; null: there is none. For a list by age it is the cursor of an id. */
export function accountCursor({ sort }: ListOrder, next: AccountPlace | null): string | null {
  if (next === null || sort === 'created') return idCursor('accounts', next?.id ?? null)
  const value = Buffer.from(JSON.stringify([sort, next.value])).toString('hex')
  return idCursor('accounts', `${value}_${next.id}`)
}

/** The name of an order and a value, as JSON in hexadecimal. */
const hexValue = z
  .string()
  .transform((hex, checked) => {
    try {
      return JSON.parse(Buffer.from(hex, 'hex').toString())
    } catch {
      checked.addIssue({ code: 'custom', message: 'must be JSON in hexadecimal' })
      return z.NEVER
    }
  })
  .pipe(z.tuple([z.enum(SORTS), z.union([z.int(), z.string().refine(isStorable)])]))

/** The place that a cursor names. Throws Problem `invalid_parameter` if the cursor is of another order. */
export function accountPlace({ sort }: ListOrder, text: string | undefined): AccountPlace | null {
  if (text === undefined) return null
  const isByAge = sort === 'created'
  const [, hex, accountId = ''] = /^([0-9a-f]{2,})_(acct_\w+)$/.exec(text) ?? []
  if (hex === undefined && isByAge) return { id: text, value: null }
  const [name, value] = hexValue.safeParse(hex).data ?? []
  const fitsOrder = name === sort && !isByAge && (typeof value === 'string') === (sort === 'name')
  if (fitsOrder && value !== undefined) return { id: accountId, value }
  throw invalidParameter('cursor', '`cursor` must be the `next_cursor` of a page with this `sort`.')
}

/** The filter and the order of a list of accounts. */
export interface ListedAccounts {
  readonly filter: AccountFilter
  readonly order: ListOrder
  /** The whole UTC days whose requests count. */
  readonly days: { readonly fromMs: number; readonly toMs: number }
}

/** Reads the page after a place, null for the first, and the place of its last account; null if no page follows. */
type ReadAccountPage = (page: {
  readonly after: AccountPlace | null
  readonly limit: number
}) => Promise<{ readonly accounts: readonly AccountRow[]; readonly next: AccountPlace | null }>

/** Lists accounts in any order. Sums of requests are read once for all pages. */
export function accountPages(
  db: Kysely<Tables>,
  { filter, order: { sort, isDescending }, days }: ListedAccounts,
): ReadAccountPage {
  if (sort !== 'charged' && sort !== 'margin') {
    const order = { sort, isDescending }
    return (page) => listAccounts(db, { ...filter, ...page, order })
  }
  const sortOnce = once(() => sortByUsage(db, { filter, order: { sort, isDescending }, days }))
  return async ({ after, limit }) => {
    const sorted = await sortOnce()
    const compare = comparePlaces(isDescending)
    const following = after === null ? 0 : sorted.findIndex((place) => compare(place, after) > 0)
    const from = following === -1 ? sorted.length : following
    const places = sorted.slice(from, from + limit)
    const ids = places.map(({ id }) => id)
    return {
      accounts: await getAccounts(db, ids),
      next: from + limit < sorted.length ? (places.at(-1) ?? null) : null,
    }
  }
}

/** The places of all accounts that match. */
async function sortByUsage(
  db: Kysely<Tables>,
  { filter, order: { sort, isDescending }, days }: ListedAccounts,
): Promise<readonly AccountPlace[]> {
  const ids = await findAccountIds(db, filter)
  const all = { ...days, accountId: null, by: 'account', step: 'day', columns: 'money' } as const
  const groups = await readUsageGroups(db, all)
  const sumOf = ({ chargeMicros, money }: UsageFigures) =>
    sort === 'charged' ? chargeMicros : money.marginMicros
  return sortPlaces(ids, {
    values: new Map(groups.map(({ id, totals }) => [id, sumOf(totals)])),
    isDescending,
  })
}

/**
 * Accounts by their values, 0 without one, and by age if values are equal. Unknown values, which are null, are last in
 * both directions.
 */
export function sortPlaces(
  accountIds: readonly string[],
  {
    values,
    isDescending,
  }: { readonly values: ReadonlyMap<string, number | null>; readonly isDescending: boolean },
): readonly AccountPlace[] {
  const unknown = isDescending ? Number.MIN_SAFE_INTEGER : Number.MAX_SAFE_INTEGER
  const places = accountIds.map((id) => {
    const value = values.get(id)
    return { id, value: value === null ? unknown : (value ?? 0) }
  })
  return places.toSorted(comparePlaces(isDescending))
}

function comparePlaces(isDescending: boolean) {
  return (one: AccountPlace, other: AccountPlace): number => {
    const ascending =
      Number(one.value) - Number(other.value) ||
      (one.id === other.id ? 0 : one.id < other.id ? -1 : 1)
    return isDescending ? -ascending : ascending
  }
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}
