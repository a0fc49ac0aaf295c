import type { Kysely } from 'kysely'
import { type AccountFilter, lastRequestTimes, listAccounts } from '../ledger/accounts.ts'
import { getCredits } from '../ledger/activity/activity.ts'
import type { Tables } from '../store/schema.ts'
import { csvLine, dollarsCell } from './csv.ts'
import { timeAnswer, timeOrNull } from './fields.ts'

const ROWS_AT_ONCE = 500

/** Accounts as CSV, newest first, with amounts in exact dollars: each part is read when the one before was taken. */
export async function* accountCsv(
  db: Kysely<Tables>,
  { filter, nowMs }: { readonly filter: AccountFilter; readonly nowMs: number },
): AsyncGenerator<string> {
  yield csvLine([
    ...['id', 'name', 'email', 'external_id', 'state', 'available', 'balance', 'held'],
    ...['free_available', 'last_request_at', 'created_at'],
  ])
  let cursor: string | null = null
  do {
    const page = await listAccounts(db, { ...filter, cursor, limit: ROWS_AT_ONCE })
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
    cursor = page.nextCursor
  } while (cursor !== null)
}
