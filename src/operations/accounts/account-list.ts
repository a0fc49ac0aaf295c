import { Readable } from 'node:stream'
import type { Kysely } from 'kysely'
import { z } from 'zod'
import { ACCOUNT_LIST_STATES, type AccountPlace, lastRequestTimes } from '../../ledger/accounts.ts'
import { getCredits } from '../../ledger/activity/balance.ts'
import type { Tables } from '../../store/schema.ts'
import { readAccounts, type UsageFigures } from '../../usage/read-usage.ts'
import { csvLine, dollarsCell } from '../csv.ts'
import {
  externalIdField,
  filterField,
  formatField,
  listAnswer,
  listShape,
  momentField,
  moneyField,
  pageQuery,
  timeAnswer,
  timeField,
  timeOrNull,
} from '../fields.ts'
import { type OperationParts, operation } from '../operation.ts'
import { staffPaths } from '../paths.ts'
import { chartRange } from '../usage/usage.ts'
import {
  accountCursor,
  accountPages,
  accountPlace,
  accountSortField,
  type ListedAccounts,
  USAGE_SORTS,
} from './account-pages.ts'
import { accountAnswer, accountShape } from './accounts.ts'

const LIST_QUERY = pageQuery('accounts', {
  search: filterField
    .max(200, 'must be at most 200 characters')
    .optional()
    .describe('Text that the name, the email address or the ID of an account contains.'),
  external_id: externalIdField
    .optional()
    .describe('The ID of the account in another system, in full.'),
  state: z
    .enum(ACCOUNT_LIST_STATES)
    .optional()
    .describe(
      'The state of the accounts. `low_credit`: active accounts that had paid credit, whose paid credit is below their `low_balance` but not below zero; `in_debt`: the paid credit is below zero. Default: all.',
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
      'The end of the range of `charge` and `margin`, exclusive, moved forward to the end of its UTC day. Default: now. At most 400 days after `from`.',
    ),
  format: formatField,
})

/** All accounts, for admins. */
export function accountListOperations(parts: OperationParts) {
  const { store, clock } = parts
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
        const listed: ListedAccounts = { filter: { search, state, externalId }, order: sort, days }
        if (query.format === 'csv' || (query.format === undefined && acceptsCsv)) {
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
  })
  .meta({ id: 'ListedAccount' })

/** Undefined: it has no requests. */
function sumsAnswer(sums: Pick<UsageFigures, 'chargeMicros' | 'money'> | undefined) {
  return {
    charge: sums?.chargeMicros ?? 0,
    margin: sums === undefined ? 0 : sums.money.marginMicros,
  }
}

const ROWS_AT_ONCE = 500

/** Accounts as CSV, with amounts in exact dollars. Each part is read when the client has taken the one before. */
async function* accountCsv(
  db: Kysely<Tables>,
  { listed, nowMs }: { readonly listed: ListedAccounts; readonly nowMs: number },
): AsyncGenerator<string> {
  yield csvLine([
    ...['id', 'name', 'email', 'external_id', 'state', 'available', 'balance', 'held'],
    ...['free_available', 'charge', 'margin', 'last_request_at', 'created_at'],
  ])
  const readPage = accountPages(db, listed)
  let after: AccountPlace | null = null
  do {
    const page = await readPage({ after, limit: ROWS_AT_ONCE })
    const accountIds = page.accounts.map(({ id }) => id)
    const credits = await getCredits(db, { accountIds, nowMs })
    const sums = await readAccounts(db, { accountIds, ...listed.days })
    const times = await lastRequestTimes(db, accountIds)
    const lines = page.accounts.flatMap((account) => {
      const purses = credits.get(account.id)
      if (purses === undefined) return []
      const { backed, free } = purses
      const { charge, margin } = sumsAnswer(sums.get(account.id))
      return csvLine([
        account.id,
        account.name,
        account.email,
        account.externalId,
        account.disabled ? 'suspended' : 'active',
        dollarsCell(backed.availableMicros),
        dollarsCell(backed.balanceMicros),
        dollarsCell(backed.heldMicros + free.heldMicros),
        dollarsCell(free.availableMicros),
        dollarsCell(charge),
        margin === null ? null : dollarsCell(margin),
        timeOrNull(times.get(account.id) ?? null),
        timeAnswer(account.createdAtMs),
      ])
    })
    yield lines.join('')
    after = page.next
  } while (after !== null)
}
