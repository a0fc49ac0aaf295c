import { Readable } from 'node:stream'
import type { Kysely } from 'kysely'
import { z } from 'zod'
import {
  ACCOUNT_LIST_STATES,
  type AccountPlace,
  lastRequestTimes,
  listAccounts,
} from '../ledger/accounts.ts'
import { getCredits } from '../ledger/activity/activity.ts'
import type { Tables } from '../store/schema.ts'
import { readCharges } from '../usage/read-usage.ts'
import { lastDays } from '../vocabulary/date-range.ts'
import { accountCursor, accountPlace, accountSortField } from './account-order.ts'
import { accountAnswer, accountShape } from './accounts.ts'
import { csvLine, dollarsCell } from './csv.ts'
import {
  externalIdField,
  filterField,
  listAnswer,
  listShape,
  moneyField,
  pageQuery,
  timeAnswer,
  timeField,
  timeOrNull,
} from './fields.ts'
import { type OperationParts, operation } from './operation.ts'

const RECENT_DAYS = 30

/** All accounts, for admins. */
export function accountListOperations(parts: OperationParts) {
  const { store, clock } = parts
  return [
    operation({
      name: 'listAccounts',
      method: 'GET',
      scope: 'read',
      paths: { admin: '/v1/admin/accounts', operator: '/app/api/operator/accounts' },
      summary:
        'Accounts with their credit, newest first or by `sort`; JSON or CSV. CSV has all of them, with amounts in exact dollars.',
      query: pageQuery('accounts', {
        search: filterField
          .max(200, 'must be at most 200 characters')
          .optional()
          .describe('A part of a name, an email address or an ID.'),
        external_id: externalIdField
          .optional()
          .describe('The whole ID that another system knows the account by.'),
        state: z
          .enum(ACCOUNT_LIST_STATES)
          .optional()
          .describe('`in_debt`: its paid credit is below zero. Default: all.'),
        sort: accountSortField,
        format: z
          .enum(['json', 'csv'])
          .optional()
          .describe('Default: CSV where `accept` asks for `text/csv`, else JSON.'),
      }),
      answers: { 200: listShape(listedAccountShape) },
      async run({ reader, caller, query, acceptsCsv }) {
        const { limit, cursor, search, state, external_id: externalId, sort } = query
        const nowMs = clock.nowMs()
        const after = accountPlace(sort, cursor)
        const filter = { search, state, externalId }
        const read: ReadAccounts = (page) =>
          listAccounts(store.pages(reader), { ...filter, ...page, order: sort })
        if (query.format === 'csv' || (query.format === undefined && acceptsCsv)) {
          const rows = accountCsv(store.pages(reader), { read, nowMs })
          return { httpStatus: 200, body: Readable.from(rows) }
        }
        const page = await read({ after, limit })
        const accountIds = page.accounts.map(({ id }) => id)
        const credits = await getCredits(store.pages(reader), { accountIds, nowMs })
        const days = { accountIds, ...lastDays(RECENT_DAYS, { nowMs }) }
        const charges =
          caller.kind === 'operator' ? await readCharges(store.pages(reader), days) : null
        const times =
          charges === null ? null : await lastRequestTimes(store.pages(reader), accountIds)
        const answers = page.accounts.flatMap((account) => {
          const purses = credits.get(account.id)
          if (purses === undefined) return []
          const recent = charges?.get(account.id) ?? 0
          const lastAt = timeOrNull(times?.get(account.id) ?? null)
          const used = charges === null ? {} : { recent_charge: recent, last_request_at: lastAt }
          return [{ ...accountAnswer(account, purses, nowMs), ...used }]
        })
        return { httpStatus: 200, body: listAnswer(answers, accountCursor(sort, page.next)) }
      },
    }),
  ]
}

/** An account in a list of them. */
export const listedAccountShape = accountShape
  .extend({
    recent_charge: moneyField
      .optional()
      .describe('For operators: the charges of its requests of the last 30 days.'),
    last_request_at: timeField
      .nullable()
      .optional()
      .describe('For operators: when its newest request was opened; null: it has none.'),
  })
  .meta({ id: 'ListedAccount' })

const ROWS_AT_ONCE = 500

/** Reads a page of the accounts to list. */
type ReadAccounts = (page: {
  readonly after: AccountPlace | null
  readonly limit: number
}) => ReturnType<typeof listAccounts>

/** Accounts as CSV, with amounts in exact dollars: each part is read when the one before was taken. */
async function* accountCsv(
  db: Kysely<Tables>,
  { read, nowMs }: { readonly read: ReadAccounts; readonly nowMs: number },
): AsyncGenerator<string> {
  yield csvLine([
    ...['id', 'name', 'email', 'external_id', 'state', 'available', 'balance', 'held'],
    ...['free_available', 'last_request_at', 'created_at'],
  ])
  let after: AccountPlace | null = null
  do {
    const page: Awaited<ReturnType<ReadAccounts>> = await read({
      after,
      limit: ROWS_AT_ONCE,
    })
    const accountIds = page.accounts.map(({ id }) => id)
    const credits = await getCredits(db, { accountIds, nowMs })
    const times = await lastRequestTimes(db, accountIds)
    const lines = page.accounts.flatMap((account) => {
      const purses = credits.get(account.id)
      if (purses === undefined) return []
      const { backed, free } = purses
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
        timeOrNull(times.get(account.id) ?? null),
        timeAnswer(account.createdAtMs),
      ])
    })
    yield lines.join('')
    after = page.next
  } while (after !== null)
}
