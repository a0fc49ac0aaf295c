import { Readable } from 'node:stream'
import type { Kysely } from 'kysely'
import { z } from 'zod'
import {
  ACCOUNT_LIST_STATES,
  ACCOUNT_SORTS,
  type AccountFilter,
  type AccountOrder,
  type AccountPlace,
  findAccountIds,
  getAccounts,
  lastRequestTimes,
  listAccounts,
} from '../../ledger/accounts.ts'
import { type AccountCredit, getCredits } from '../../ledger/activity/balance.ts'
import type { AccountRow, Tables } from '../../store/schema.ts'
import { FAILING_ACCOUNTS_MAX, FailingAccounts } from '../../usage/failing-accounts.ts'
import { readAccounts, readUsageGroups, type UsageFigures } from '../../usage/read-usage.ts'
import { RANGE_DAYS_MAX } from '../../vocabulary/date-range.ts'
import { invalidParameter } from '../../vocabulary/problem.ts'
import { type CsvColumns, csvPages, dollarsCell } from '../csv.ts'
import {
  errorCodeField,
  externalIdField,
  formatField,
  idCursor,
  isStorable,
  listAnswer,
  listShape,
  momentField,
  moneyField,
  pageQuery,
  searchField,
  timeAnswer,
  timeField,
  timeOrNull,
  wantsCsv,
} from '../fields.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { staffPaths } from '../paths.ts'
import { chartRange } from '../usage/usage.ts'
import { accountAnswer, accountShape } from './accounts.ts'

/** The sums of requests by which accounts can be sorted. */
const USAGE_SORTS = ['charged', 'margin'] as const

/** The order of a list of accounts: by a value of the account, or by the sums of its requests. */
type ListOrder = Omit<AccountOrder, 'sort'> & {
  readonly sort: AccountOrder['sort'] | (typeof USAGE_SORTS)[number]
}

const SORTS = [...ACCOUNT_SORTS, ...USAGE_SORTS] as const

/** `?sort=` of accounts: the name of a value, after a `-` for the greatest first. */
const accountSortField = z
  .enum(SORTS.flatMap((sort) => [sort, `-${sort}`] as const))
  .default('-created')
  .transform(orderOf)
  .describe(
    'The order; with `-` in front, the largest first. `charged` and `margin` cover the requests from `from` to `to`. Default: `-created`.',
  )

const LIST_QUERY = pageQuery('accounts', {
  search: searchField.describe(
    'Text that the name, the email address or the ID of an account contains.',
  ),
  external_id: externalIdField
    .optional()
    .describe('The ID of the account in another system, in full.'),
  state: z
    .enum([...ACCOUNT_LIST_STATES, 'failing'])
    .optional()
    .describe(
      `The state of the accounts. \`low_credit\`: active accounts that had paid credit, whose paid credit is below their \`low_balance\` but not below zero; \`in_debt\`: the paid credit is below zero. \`failing\`: active accounts of which at least 10 requests in the last 24 hours, and at least 10%, were refused or failed; the ${FAILING_ACCOUNTS_MAX} with the most, looked for among about 100 that failed last. Default: all.`,
    ),
  sort: accountSortField,
  from: momentField
    .optional()
    .describe(
      'The start of the range of `charge` and `margin`, moved back to the start of its UTC day. Default: 29 days before the last day.',
    ),
  to: momentField
    .optional()
    .describe(
      `The end of the range of \`charge\` and \`margin\`, exclusive, moved forward to the end of its UTC day. Default: now. At most ${RANGE_DAYS_MAX} days after \`from\`.`,
    ),
  format: formatField,
})

// One read answers all who ask for it: it goes on when the first of them leaves.
const FAILING_READER = { owner: 'failing accounts' }

/** All accounts, for admins. */
export function accountListOperations(parts: OperationParts) {
  const { store, clock } = parts
  const failingAccounts = new FailingAccounts()
  return [
    operation({
      name: 'listAccounts',
      method: 'GET',
      scope: 'read',
      paths: staffPaths('accounts'),
      summary:
        'Accounts with their credit, newest first or by `sort`; JSON or CSV. CSV has all of them, with amounts in exact dollars.',
      query: LIST_QUERY,
      answers: { 200: listShape(listedAccountShape) },
      async run({ reader, caller, query, acceptsCsv }) {
        const { limit, cursor, search, state, external_id: externalId, sort, from, to } = query
        const nowMs = clock.nowMs()
        const after = accountPlace(sort, cursor)
        const { fromMs, toMs } = chartRange({ from, to }, nowMs)
        const days = { fromMs, toMs }
        const failing =
          state === 'failing'
            ? await failingAccounts.read(store.searches(FAILING_READER), nowMs)
            : null
        const filter = { search, externalId, ...stateFilter(state, failing) }
        const listed: ListedAccounts = { filter, order: sort, days }
        if (wantsCsv(query.format, acceptsCsv)) {
          const rows = accountCsv(store.searches(reader), { listed, nowMs })
          return Readable.from(rows)
        }
        const isByUsage = USAGE_SORTS.some((each) => each === sort.sort)
        const db = isByUsage ? store.searches(reader) : store.pages(reader)
        const page = await accountPages(db, listed)({ after, limit })
        const accountIds = page.accounts.map(({ id }) => id)
        const credits = await getCredits(db, { accountIds, nowMs })
        const isOperator = caller.kind === 'operator'
        const hasSums = isOperator || isByUsage || from !== undefined || to !== undefined
        const sums = hasSums ? await readAccounts(db, { accountIds, ...days }) : null
        const times = isOperator ? await lastRequestTimes(db, accountIds) : null
        const answers = page.accounts.flatMap((account) => {
          const purses = credits.get(account.id)
          if (purses === undefined) return []
          const lastAt = timeOrNull(times?.get(account.id) ?? null)
          return {
            ...accountAnswer(account, purses, nowMs),
            ...(sums === null ? {} : sumsAnswer(sums.get(account.id))),
            ...(times === null ? {} : { last_request_at: lastAt }),
            ...(failing === null ? {} : { failing: failing.get(account.id) }),
          }
        })
        return listAnswer(answers, accountCursor(sort, page.next))
      },
    }),
  ]
}

/** An account in a list. */
export const listedAccountShape = accountShape
  .extend({
    charge: moneyField
      .optional()
      .describe(
        'The charges of its requests in the range, in micro-dollars. Only if `from`, `to` or a sort by charge or margin is given.',
      ),
    margin: moneyField
      .nullable()
      .optional()
      .describe(
        'The paid charge of these requests less the provider cost, in micro-dollars; null: a cost is not known.',
      ),
    last_request_at: timeField
      .nullable()
      .optional()
      .describe(
        'For operators: when the newest request of the account was opened; null: it has none.',
      ),
    failing: z
      .object({
        requests: z.int().describe('The number of its requests, refused ones included.'),
        refused: z.int().describe('The number that were refused before they were forwarded.'),
        failed: z.int().describe('The number that were forwarded and ended with an error.'),
        code: errorCodeField
          .nullable()
          .describe('The most frequent error code of both; null: it is not known.'),
      })
      .optional()
      .describe(
        'Why the account is in a list with the state `failing`: figures of the last 24 hours. Absent otherwise.',
      ),
  })
  .meta({ id: 'ListedAccount' })

/** By position: the state of the query, and the accounts that fail if it is `failing`. */
function stateFilter(
  state: AccountFilter['state'] | 'failing',
  failing: ReadonlyMap<string, unknown> | null,
): Pick<AccountFilter, 'state' | 'ids'> {
  return state === 'failing' ? { state: 'active', ids: [...(failing?.keys() ?? [])] } : { state }
}

/** Undefined: it has no requests. */
function sumsAnswer(sums: Pick<UsageFigures, 'chargeMicros' | 'money'> | undefined) {
  return {
    charge: sums?.chargeMicros ?? 0,
    margin: sums === undefined ? 0 : sums.money.marginMicros,
  }
}

const CSV_PAGE_ACCOUNTS = 500

/** A row of the list as CSV. */
interface AccountLine extends ReturnType<typeof sumsAnswer> {
  readonly account: AccountRow
  readonly purses: AccountCredit
  /** Null: it has no requests. */
  readonly lastRequestAtMs: number | null
}

// Amounts are dollars, exact to the micro-dollar.
const CSV_COLUMNS: CsvColumns<AccountLine> = {
  id: ({ account }) => account.id,
  name: ({ account }) => account.name,
  email: ({ account }) => account.email,
  external_id: ({ account }) => account.externalId,
  state: ({ account }) => (account.disabled ? 'suspended' : 'active'),
  available: ({ purses }) => dollarsCell(purses.backed.availableMicros),
  balance: ({ purses }) => dollarsCell(purses.backed.balanceMicros),
  held: ({ purses }) => dollarsCell(purses.backed.heldMicros + purses.free.heldMicros),
  free_available: ({ purses }) => dollarsCell(purses.free.availableMicros),
  charge: ({ charge }) => dollarsCell(charge),
  margin: ({ margin }) => (margin === null ? null : dollarsCell(margin)),
  last_request_at: ({ lastRequestAtMs }) => timeOrNull(lastRequestAtMs),
  created_at: ({ account }) => timeAnswer(account.createdAtMs),
}

/** Accounts as CSV. */
function accountCsv(
  db: Kysely<Tables>,
  { listed, nowMs }: { readonly listed: ListedAccounts; readonly nowMs: number },
): AsyncGenerator<string> {
  const readPage = accountPages(db, listed)
  return csvPages(CSV_COLUMNS, async (after: AccountPlace | null) => {
    const { accounts, next } = await readPage({ after, limit: CSV_PAGE_ACCOUNTS })
    const accountIds = accounts.map(({ id }) => id)
    const credits = await getCredits(db, { accountIds, nowMs })
    const sums = await readAccounts(db, { accountIds, ...listed.days })
    const times = await lastRequestTimes(db, accountIds)
    const rows = accounts.flatMap((account): AccountLine[] => {
      const purses = credits.get(account.id)
      if (purses === undefined) return []
      const lastRequestAtMs = times.get(account.id) ?? null
      return [{ account, purses, ...sumsAnswer(sums.get(account.id)), lastRequestAtMs }]
    })
    return { rows, next }
  })
}

function orderOf(text: string): ListOrder {
  const isDescending = text.startsWith('-')
  const name = isDescending ? text.slice(1) : text
  return { sort: SORTS.find((each) => each === name) ?? 'created', isDescending }
}

/** The cursor of the page after a place; null: there is none. For a list by age it is the cursor of an id. */
function accountCursor({ sort }: ListOrder, next: AccountPlace | null): string | null {
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
function accountPlace({ sort }: ListOrder, text: string | undefined): AccountPlace | null {
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
interface ListedAccounts {
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
function accountPages(
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
