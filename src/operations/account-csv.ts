import type { Kysely } from 'kysely'
import { type AccountPlace, lastRequestTimes, type listAccounts } from '../ledger/accounts.ts'
import { getCredits } from '../ledger/activity/activity.ts'
import type { Tables } from '../store/schema.ts'
import { csvLine, dollarsCell } from './csv.ts'
import { timeAnswer, timeOrNull } from './fields.ts'

const ROWS_AT_ONCE = 500

/** Reads a page of the accounts to list. */
export type ReadAccounts = (page: {
  readonly after: AccountPlace | null
  readonly limit: number
}) => ReturnType<typeof listAccounts>

/** Accounts as CSV, with amounts in exact dollars: each part is read when the one before was taken. */
export async function* accountCsv(
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
