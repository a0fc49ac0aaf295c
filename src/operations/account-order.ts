import { z } from 'zod'
import { ACCOUNT_SORTS, type AccountPlace } from '../ledger/accounts.ts'
import { Problem } from '../vocabulary/problem.ts'
import { type ListOrder, USAGE_SORTS } from './account-pages.ts'
import { idCursor, isStorable } from './fields.ts'

const SORTS = [...ACCOUNT_SORTS, ...USAGE_SORTS] as const

/** `?sort=` of accounts: the name of a value, behind a `-` for the greatest first. */
export const accountSortField = z
  .enum(SORTS.flatMap((sort) => [sort, `-${sort}`] as const))
  .default('-created')
  .transform(orderOf)
  .describe(
    'The order; with `-`, the greatest first. `charged` and `margin` are of the requests from `from` to `to`. Default `-created`.',
  )

function orderOf(text: string): ListOrder {
  const isDescending = text.startsWith('-')
  const name = isDescending ? text.slice(1) : text
  return { sort: SORTS.find((each) => each === name) ?? 'created', isDescending }
}

/** The cursor of the page behind a place; null: there is none. By age it is that of an id. */
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

/** The place of a cursor that was read; throws Problem `invalid_parameter` where it is of another order. */
export function accountPlace({ sort }: ListOrder, text: string | undefined): AccountPlace | null {
  if (text === undefined) return null
  const isByAge = sort === 'created'
  const [, hex, accountId = ''] = /^([0-9a-f]{2,})_(acct_\w+)$/.exec(text) ?? []
  if (hex === undefined && isByAge) return { id: text, value: null }
  const [name, value] = hexValue.safeParse(hex).data ?? []
  const isOfOrder = name === sort && !isByAge && (typeof value === 'string') === (sort === 'name')
  if (isOfOrder && value !== undefined) return { id: accountId, value }
  throw new Problem('invalid_parameter', {
    message: '`cursor` must be the `next_cursor` of a page with this `sort`.',
    param: 'cursor',
  })
}
